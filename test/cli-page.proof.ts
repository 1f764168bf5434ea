/**
 * Tests the page of the command line: it must list every command, and its examples must run on a product with the
 * plugins of the quickstart.
 */
import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runProgram } from '../kernel/src/cli/program.ts'
import { cliExamples } from '../scripts/cli-examples.ts'
import { cliPage, commandsOfProduct } from '../scripts/cli-page.ts'
import { blocksIn, blocksRunBy, commandsOf } from './fixtures/document-blocks.ts'
import { environment, runTypedCommands, serveCommand } from './fixtures/typed-commands.ts'

const root = join(import.meta.dirname, '..')
const password = 'Correct-horse-7'
const product = `
import { defineProduct } from '@plinth/kernel'
import { commerce } from '@plinth/presets/commerce'
import { notifications } from '@plinth/presets/notifications'
import { operations } from '@plinth/presets/operations'
import { platform } from '@plinth/presets/platform'
import quickstartCleanup from '@plinth/quickstart-cleanup'
export default defineProduct({
  name: 'shop', plugins: [...platform, ...operations, ...notifications, ...commerce, quickstartCleanup],
})
`
const exampleSettings = readFileSync(join(root, 'examples/quickstart/.env.example'), 'utf8')
const answers = `site: { name: Acme }\nadministrator: { username: root, password: ${password} }\n`
const files = t.testdir({
  shop: { 'plinth.config.ts': product, 'password.txt': `${password}\n` },
  // The installer writes `.env` from this file.
  new: { 'plinth.config.ts': product, 'answers.yaml': answers, '.env.example': exampleSettings },
})
const commands = await commandsOfProduct(root)

t.test('the page is generated and describes every command with its options', async (t) => {
  const page = readFileSync(join(root, 'docs/cli.md'), 'utf8')
  t.equal(page, await cliPage(root, 'en'), 'npm run generate')
  t.ok(commands.length > 35)
  for (const { path, options, usage } of commands.slice(1)) {
    t.match(page, new RegExp(`^#+ ${path}$`, 'm'))
    for (const { flags } of options) t.ok(page.includes(`| \`${flags.replaceAll('|', '\\|')}\` | `), `${path} ${flags}`)
    if (path in cliExamples) t.ok(page.includes(`\n${usage}\n`), usage)
  }
  t.same(
    Object.keys(cliExamples).filter((path) => !commands.some((command) => command.path === path)),
    [],
    'each example belongs to a command',
  )
})

/** Runs a command line in this process, or in a shell if it uses features of a shell. */
async function run(line: string, folder: string): Promise<{ readonly code: number; readonly output: string }> {
  const cwd = join(files, folder)
  if (/^\w+=|[<>(|]/.test(line)) return runTypedCommands(line, { cwd, env: { ...environment, PASSWORD: password } })
  const [, ...words] = [...line.matchAll(/"([^"]*)"|\S+/g)].map(([word, quoted]) => quoted ?? word)
  let output = ''
  const stream = { write: (text: string) => (output += text) }
  // The options can contain paths that are relative to the working directory of the process.
  process.chdir(cwd)
  const code = await runProgram(words, { stdout: stream, stderr: stream, environment: {}, directory: cwd })
  return { code, output }
}

t.test('each command has help', async (t) => {
  for (const { path, usage } of commands) {
    const { code, output } = await run(`${path} --help`, 'shop')
    t.equal(code, 0, path)
    t.equal(output.split('\n', 1)[0], `Usage: ${usage}`)
  }
  t.comment(`${commands.length} commands`)
})

const blocks = blocksRunBy('test/cli-page.proof.ts')

t.test('the page shows each example', async (t) => {
  const shown = blocksIn('docs/cli.md').flatMap(({ language, text }) => (language === 'sh' ? [text.trim()] : []))
  t.same(shown.toSorted(), Object.values(cliExamples).toSorted())
})

t.test('each example runs, and the commands of other pages', { timeout: 600_000 }, async (t) => {
  for (const preparation of ['plinth plugins lock', 'plinth migrate']) t.equal((await run(preparation, 'shop')).code, 0)
  const { output: created } = await run(
    'plinth admin create --username ann --password-stdin --json < password.txt',
    'shop',
  )
  const [, user = ''] = /"id": (\d+)/.exec(created) ?? []
  const lines = new Set(
    blocks.flatMap((block) => commandsOf(block)).map((command) => command.replace('npx ', '').replace('4711', user)),
  )
  let products = 0
  for (const line of lines) {
    if (/^plinth (?:start|dev) /.test(line)) {
      const { stop } = await serveCommand(t, line, { cwd: join(files, 'shop') })
      t.same(await stop(), [0, null], line)
      continue
    }
    // A product can be installed only once, so each command gets a new folder.
    const folder = line.includes('plinth install ') ? `new-${++products}` : 'shop'
    if (folder !== 'shop') cpSync(join(files, 'new'), join(files, folder), { recursive: true })
    const { code, output } = await run(line, folder)
    t.equal(code, 0, code === 0 ? line : `${line}\n${output}`)
  }
  t.comment(`${lines.size} commands of ${blocks.length} blocks`)
})
