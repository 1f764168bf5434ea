import { spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { stripVTControlCharacters } from 'node:util'
import { assertMembers, programEnvironment, waitForProcessEnd } from '@plinth/dev/testing'
import t from 'tap'
import { runProgram } from '../src/cli/program.ts'
import { formatTable } from '../src/cli/table.ts'

const shop = join(import.meta.dirname, 'fixtures', 'shop.config.ts')
const program = join(import.meta.dirname, '..', 'bin', 'plinth.js')
const environment = { PLATFORM_SHOP_PASSWORD: 'Pass "word" 1' }

/** Runs a command line in this process. Standard output is a terminal with this number of columns. */
async function onTerminal(columns: number | undefined, words: readonly string[], directory = import.meta.dirname) {
  let [stdout, stderr] = ['', '']
  const isTTY = columns !== undefined
  const code = await runProgram(words, {
    stdout: { write: (text) => (stdout += text), isTTY, columns },
    stderr: { write: (text) => (stderr += text), isTTY },
    environment,
    directory,
  })
  return { code, stdout, stderr }
}
const maxWidth = (text: string) => Math.max(...text.split('\n').map(({ length }) => length))

t.test('a table fits the terminal and loses nothing', async (t) => {
  const rows = [
    ['KEY', 'VALUE', 'FROM'],
    ['platform.shop.password', '******', 'environment variable PLATFORM_SHOP_PASSWORD'],
    ['platform.shop.open', 'true', ''],
  ]
  t.equal(formatTable(rows, 40), formatTable(rows, 40).trimEnd())
  t.ok(maxWidth(formatTable(rows, 40)) <= 40, formatTable(rows, 40))
  const lost = rows.flat().find((cell) => {
    const found = formatTable(rows, 40).replaceAll(/\s/g, '')
    return cell.split(/\s|\./).some((part) => part.length < 8 && !found.includes(part))
  })
  t.equal(lost, undefined)
  t.equal(formatTable(rows).split('\n').length, rows.length, 'without a limit each row has one line')
  const long = 'platform.approval.purge.auto-startup'
  const keys = Array.from({ length: 9 }, () => [long, 'default'])
  const folded = ['-', 'one unusually long value of one key']
  const text = formatTable([['KEY', 'FROM'], ...keys, folded], long.length + 12)
  t.equal(text.split('\n').filter((line) => line.startsWith(long)).length, keys.length, 'few long cells fold, not many')
})

for (const width of [80, 120]) {
  t.test(`config list, plugins list and doctor fit ${width} columns`, async (t) => {
    for (const words of [['config', 'list'], ['plugins', 'list'], ['doctor']]) {
      const { stdout } = await onTerminal(width, ['--product', shop, ...words])
      const tree = stdout.split('\n\n')[0] ?? ''
      t.ok(maxWidth(tree) <= width, `${words.join(' ')}: ${maxWidth(tree)}`)
    }
  })
}

t.test('the product file is found in parent directories, and a terminal shows the files that are used', async (t) => {
  const directory = t.testdir({
    'plinth.config.ts':
      "import { defineProduct } from '@plinth/kernel'\nexport default defineProduct({ name: 'a', plugins: [] })",
    '.env': 'PLATFORM_LOG_LEVEL=warn\n',
    below: { further: {} },
  })
  const folder = join(directory, 'below', 'further')
  const words = ['config', 'get', 'platform.log.level']
  t.match(await onTerminal(80, words, folder), {
    code: 0,
    stdout: 'warn\n',
    stderr: 'Product: ../../plinth.config.ts. Settings file: ../../.env.\n',
  })
  const { stderr } = await onTerminal(80, [...words, '--settings-file', 'other.env'], folder)
  t.match(stderr, /^Product: \.\.\/\.\.\/plinth\.config\.ts\. Settings file: none \(other\.env\)\.\n/)
  t.match(await onTerminal(undefined, words, folder), { code: 0, stdout: 'warn\n', stderr: /^$/ })
  t.match((await onTerminal(80, [...words, '--json'], folder)).stderr, /^$/)
})

t.test('help shows global options for each command, is JSON with --json, and reports a missing product', async (t) => {
  t.match((await onTerminal(80, ['--product', shop, 'config', 'get', '--help'])).stdout, '--settings-file <file>')
  const { code, stdout } = await onTerminal(80, ['--product', shop, 'help', '--json'])
  t.equal(code, 0)
  const { commands } = JSON.parse(stdout)
  assertMembers(
    t,
    commands.map(({ name }: { name: string }) => name),
    'start dev config plugins upgrade doctor create completion greet orders wait patrol'.split(' '),
    'the commands of the kernel, then those of plugins',
  )
  t.match(JSON.parse((await onTerminal(80, ['--version', '--json'])).stdout), { version: /^\d/ })
  const missing = await onTerminal(80, ['--product', 'missing.config.ts', 'help'])
  t.match(missing.stdout, /routes, openapi and migrate, belong to plugins[\s\S]*missing\.config\.ts/)
})

t.test('completion knows every command and option', async (t) => {
  const script = async (shell: string) => (await onTerminal(80, ['--product', shop, 'completion', shell])).stdout
  const bash = await script('bash')
  const complete = (line: string) => {
    const words = line.split(' ')
    const list = words.map((word) => `'${word}'`).join(' ')
    const run = `${bash}\nCOMP_WORDS=(${list}); COMP_CWORD=${words.length - 1}; _plinth; echo "\${COMPREPLY[@]}"`
    return spawnSync('bash', ['-c', run], { encoding: 'utf8' }).stdout.trim()
  }
  t.equal(complete('plinth do'), 'doctor')
  t.equal(complete('plinth --json config ex'), 'explain')
  t.equal(complete('plinth config list --mod'), '--modified')
  t.match(await script('zsh'), /#compdef plinth[\s\S]*'doctor:check plan/)
  t.match(await script('fish'), /complete -c plinth -n 'test \(__plinth_path\) = "config"' -f -a 'explain'/)
  t.match(await onTerminal(80, ['--product', shop, 'completion', 'tcsh']), { code: 2, stderr: 'bash, zsh, fish' })
})

t.test('colours follow FORCE_COLOR, NO_COLOR and the terminal', async (t) => {
  const output = async (variables: Record<string, string>) => {
    const child = spawn(process.execPath, [program, '--product', shop, 'plugins', 'list'], {
      env: programEnvironment({ ...environment, ...variables }),
    })
    return (await waitForProcessEnd(child)).stdout
  }
  const plain = await output({})
  t.equal(plain, stripVTControlCharacters(plain))
  const coloured = await output({ FORCE_COLOR: '1' })
  t.not(coloured, plain)
  t.equal(stripVTControlCharacters(coloured), plain)
})

t.test('a real terminal of 80 columns gets a folded table', { skip: !existsSync('/usr/bin/script') }, async (t) => {
  const line = `stty cols 80; '${process.execPath}' '${program}' --product '${shop}' config list`
  const child = spawn('script', ['-qfec', line, '/dev/null'], {
    env: programEnvironment({ ...environment, TERM: 'xterm' }),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const { stdout } = await waitForProcessEnd(child)
  t.match(stdout, '\u001b[1mKEY')
  const lines = stripVTControlCharacters(stdout).replaceAll('\r', '').split('\n')
  t.ok(Math.max(...lines.filter((text) => !text.startsWith('Product: ')).map(({ length }) => length)) <= 80)
})

t.test('a program that reads the output slowly gets all of it', async (t) => {
  const size = 1_000_000
  const directory = t.testdir({
    'plinth.config.js': `
      import { definePlugin, defineProduct } from '@plinth/kernel'
      const run = (_, { output }) => output.result({}, 'x'.repeat(${size}))
      const flood = definePlugin({ id: 'flood', version: '1.0.0', kernel: '^1.0.0', commands: [{ name: 'flood', summary: 'x', run }] })
      export default defineProduct({ name: 'flood', plugins: [flood] })`,
  })
  const child = spawn(process.execPath, [program, 'flood'], { cwd: directory, env: programEnvironment() })
  t.teardown(() => child.kill('SIGKILL'))
  // Longer than the program waits for open resources of plugins.
  await setTimeout(2000)
  const chunks = await child.stdout.toArray()
  t.equal(Buffer.concat(chunks).length, size + 1)
})
