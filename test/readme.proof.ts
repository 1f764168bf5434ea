/** Tests each command and each block of code in the READMEs of the repository, of `create-plinth` and of the client. */
import { execFile, spawn } from 'node:child_process'
import { cpSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { assertMembers, freePort, programEnvironment, watchProcess } from '@plinth/dev/testing'
import t, { type Test } from 'tap'
import { blocksIn, commandsOf } from './fixtures/document-blocks.ts'
import { checkPagerChannel } from './fixtures/readme-channel.ts'

const execute = promisify(execFile)
const root = join(import.meta.dirname, '..')
const programs = join(root, 'node_modules/.bin')
const files = t.testdir({ install: { 'answers.yaml': '' }, product: {} })
const password = 'Correct-horse-7'
const tests = { published: 'test/published.proof.ts' } as const

/** Environment of a product with its own data. Its settings override the files of this checkout. */
async function environmentIn(name: string): Promise<NodeJS.ProcessEnv> {
  const data = join(files, name, 'data')
  return programEnvironment({
    PATH: `${programs}:${process.env['PATH']}`,
    NODE_OPTIONS: '',
    PLATFORM_HTTP_PORT: String(await freePort()),
    PLATFORM_DATABASE_SQLITE_FILE: join(data, 'plinth.sqlite'),
    PLATFORM_SYSTEM_CONFIG_MASTER_KEY_FILE: join(data, 'master.key'),
    PLATFORM_STORAGE_ROOT: join(data, 'storage'),
    PLATFORM_INSTALL_CONFIG_FILE: join(data, '.env'),
  })
}

interface Place {
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
}

async function bash(text: string, { cwd, env }: Place): Promise<string> {
  const running = execute('bash', ['-euc', text], { cwd, env, maxBuffer: 64 * 1024 * 1024 })
  running.child.stdin?.end()
  return (await running).stdout
}

/** Starts a program that runs until the test ends. */
async function serve(t: Pick<Test, 'teardown'>, command: string, { cwd, env }: Place): Promise<string> {
  const child = spawn('bash', ['-c', `exec ${command}`], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  t.teardown(() => process.kill(-(child.pid ?? 0), 'SIGKILL'))
  const url = `http://127.0.0.1:${env['PLATFORM_HTTP_PORT']}`
  const watched = watchProcess(t, child)
  await watched.until(
    () =>
      fetch(`${url}/health/ready`).then(
        ({ ok }) => ok,
        () => false,
      ),
    `${command} serves`,
  )
  await watched.until(() => watched.output().includes(`:${env['PLATFORM_HTTP_PORT']}`), 'it prints its address')
  return url
}

/** Checks of the blocks by the beginning of a block. Each block has exactly one check. */
type Checks = Readonly<Record<string, (t: Test, commands: readonly string[], text: string) => unknown>>

const quickstart = { cwd: root, env: await environmentIn('quickstart') }
const product = { cwd: join(files, 'product'), env: await environmentIn('product') }

/** Check of commands that another test runs, because they need the packed packages. */
const runElsewhere = (t: Test, commands: readonly string[]) => {
  const typed = ['docs/integrator.md'].flatMap((page) => blocksIn(page).flatMap(commandsOf))
  for (const command of commands) t.ok(typed.includes(command), `${command} is run by ${tests.published}`)
}

const checks: Readonly<Record<string, Checks>> = {
  'README.md': {
    'npm start': async (test, [command = '']) => {
      // The product that this command starts runs until the end of the file, because the next commands use it.
      const changedAt = (file: string) => statSync(join(root, file)).mtimeMs
      const isInstalled = changedAt('node_modules/.package-lock.json') >= changedAt('package-lock.json')
      if (!isInstalled) throw new Error('package-lock.json is newer than node_modules: run npm ci')
      const url = await serve(t, command, quickstart)
      const page = await fetch(url, { headers: { accept: 'text/html' } })
      test.match(page.url, '/install', 'the first page is the installer')
    },
    'npx plinth install': async (t, [command = '']) => {
      const answers = `site: { name: Acme }\nadministrator: { username: root, password: ${password} }\n`
      writeFileSync(join(files, 'install/answers.yaml'), answers)
      const env = await environmentIn('install')
      const place = { cwd: join(files, 'install'), env }
      cpSync(join(root, 'examples/quickstart/.env.example'), join(files, 'install/data/.env.example'))
      const output = await bash(command.replace('examples/', `${root}/examples/`), place)
      t.match(output, 'The product is installed.')
    },
    'npx plinth admin create': async (t, [create = '', ...send]) => {
      // `script` gives the command a terminal, in which the command asks for the password.
      const terminal = spawn('script', ['-qec', create, '/dev/null'], {
        ...quickstart,
        stdio: ['pipe', 'pipe', 'pipe'],
      })
      const watched = watchProcess(t, terminal)
      await watched.until(() => /password/i.test(watched.output()), 'it asks')
      terminal.stdin.write(`${password}\n${password}\n`)
      t.same(await watched.ended(), [0, null], watched.output())
      const port = quickstart.env['PLATFORM_HTTP_PORT']
      const typed = send
        .join('\n')
        .replaceAll('localhost:3000', `localhost:${port}`)
        .replace('<the password>', password)
      const { code, data } = JSON.parse(await bash(typed, quickstart))
      t.equal(code, '200')
      assertMembers(t, data, [
        { channel: 'log', success: true },
        { channel: 'memory', success: true },
      ])
    },
    'npm create plinth': runElsewhere,
    '// plinth.config.ts': async (t, _, text) => {
      writeFileSync(join(product.cwd, 'plinth.config.ts'), text)
      await serve(t, 'plinth start --set platform.http.port=$PLATFORM_HTTP_PORT', product)
    },
    'import { definePlugin': (t, _, text) => checkPagerChannel(t, join(files, 'product'), text),
    'config-schema/': (t, _, text) => {
      const folders = [...text.matchAll(/^([\w-]+)\/ /gm)].map(([, folder = '']) => folder)
      t.ok(folders.length > 8)
      for (const folder of folders) t.ok(existsSync(join(root, folder)), `${folder}/`)
    },
  },
  'create-plinth/README.md': { 'npm create plinth': runElsewhere },
  'client/README.md': {
    'import { createApiClient': (_, __, text) => writeFileSync(join(product.cwd, 'client.ts'), text),
    'npx plinth openapi': async (t, [generate = '', install = '']) => {
      await bash(generate, product)
      t.match(readFileSync(join(product.cwd, 'src/client/index.ts'), 'utf8'), 'createApiClient')
      const library = install.replace('npm install ', '')
      const { dependencies } = JSON.parse(readFileSync(join(root, 'client/package.json'), 'utf8'))
      t.ok(library in dependencies, 'the generated client imports it, as @plinth/client does')
    },
  },
}

let [checked, total, commands] = [0, 0, 0]
for (const [page, ofPage] of Object.entries(checks)) {
  for (const block of blocksIn(page)) {
    total++
    const [beginning, check] = Object.entries(ofPage).find(([start]) => block.text.startsWith(start)) ?? []
    const typed = block.language === 'sh' ? commandsOf(block) : []
    t.test(`${page}: ${beginning ?? `no check for ${block.text}`}`, { timeout: 600_000 }, async (t) => {
      if (!t.ok(check) || check === undefined) return
      await check(t, typed, block.text)
      checked++
      commands += typed.length
    })
  }
}

/** Commands in the text of README.md that this test does not run, each with the reason. */
const others: Readonly<Record<string, string>> = {
  'npm test': 'runs this test',
  'npm run bench': 'takes minutes; bench/ has its own tests',
  'npm run docs': 'test/site/site.proof.ts builds the site, and two builds would share a directory',
  'plinth create product': 'names the command; the next entry is the whole command',
  'npx plinth create product shop': 'docs/integrator.md has it; test/create.proof.ts runs it',
  'npm create plinth': 'needs a registry with the packages; test/integrator-guide.proof.ts runs it',
  'npx plinth create channel acme-chat': 'docs/third-party.md has it; test/create.proof.ts runs it',
  'plinth start': 'runs in the check of the product file',
}

t.test('README.md: commands in its text run on the product of the README', async (t) => {
  const text = readFileSync(join(root, 'README.md'), 'utf8')
  const inline = new Set([...text.matchAll(/`((?:npx )?(?:plinth|npm) [^`]+)`/g)].map(([, command = '']) => command))
  for (const command of Object.keys(others)) t.ok(inline.has(command), command)
  const inspecting = [...inline].filter((command) => !(command in others))
  t.ok(inspecting.length > 5)
  for (const command of inspecting) {
    const typed = command.replace('<name>', 'notification')
    // `migrate --status` ends with code 1 while change sets are pending.
    if (typed.startsWith('plinth ')) JSON.parse(await bash(`${typed} --json || test $? = 1`, product))
    else t.match(await bash(typed, product), typed.startsWith('npm run proof ') ? /^kills /m : 'Usage: plinth')
    commands++
  }
})

t.test('the code in the READMEs compiles', async (t) => {
  // The compiler needs these files, because they declare the ids of operations and the types of a library.
  const sources = ['operations.gen.ts', '*.d.ts'].map((file) => join(root, 'plugins/*/src', file))
  const options = { extends: join(root, 'tsconfig.base.json'), compilerOptions: { noEmit: true } }
  const config = JSON.stringify({
    ...options,
    files: ['plinth.config.ts', 'pager.ts', 'client.ts'],
    include: sources,
  })
  writeFileSync(join(product.cwd, 'tsconfig.json'), config)
  // The compiler runs without NODE_OPTIONS. Otherwise tap would load itself into the process, and the compiler could
  // not start.
  await t.resolves(execute('env', ['-u', 'NODE_OPTIONS', join(programs, 'tsc'), '-p', product.cwd]))
})

t.test('everything was checked', async (t) => {
  t.equal(checked, total)
  t.comment(`${checked} of ${total} blocks, with ${commands} commands`)
})
