/** Runs the commands of `docs/integrator.md` in their order, from an empty folder to three instances. */
import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join, relative } from 'node:path'
import t, { type Test } from 'tap'
import { blocksIn, blocksRunBy, commandsOf } from './fixtures/document-blocks.ts'
import { environment, runTypedCommands, serveCommand } from './fixtures/typed-commands.ts'

const root = join(import.meta.dirname, '..')
const page = 'docs/integrator.md'
const blocks = blocksRunBy(relative(root, import.meta.filename))
const examples = t.testdir()
const shop = join(examples, 'shop')
const database = `plinth_guide_${process.pid}`

/** Returns the block that begins with a command. */
function blockOf(t: Test, beginning: string) {
  const block = blocks.find(({ text }) => text.startsWith(beginning))
  if (block === undefined) throw new Error(`${page} has no block that begins with "${beginning}"`)
  t.comment(commandsOf(block).join('; '))
  return { text: block.text, commands: commandsOf(block) }
}

async function succeeds(t: Test, command: string, cwd = shop): Promise<string> {
  const { code, output } = await runTypedCommands(command, { cwd })
  t.equal(code, 0, code === 0 ? command : `${command}\n${output}`)
  return output
}

/** Checks that the page shows a file exactly as the program has created it. */
function assertShown(t: Test, file: string, folder: string): void {
  const block = blocksIn(page).find((block) => block.file === file)
  t.equal(block?.text.replace(`// ${file}\n`, ''), readFileSync(join(folder, file), 'utf8'), file)
}

const responds = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })

t.test('create a product, and start it', async (t) => {
  const [, create = '', , start = '', ...others] = blockOf(t, 'cd examples').commands
  t.equal(others.length, 0)
  await succeeds(t, create, examples)
  assertShown(t, 'plinth.config.ts', shop)
  t.same(await (await serveCommand(t, start, { cwd: shop })).stop(), [0, null])
})

t.test('add a plugin, and request its route', async (t) => {
  const { text, commands } = blockOf(t, 'npx plinth create plugin notes')
  const [create = '', doctor = '', start = '', request = '', ...others] = commands
  t.equal(others.length, 0)
  await succeeds(t, create)
  await succeeds(t, doctor)
  for (const file of ['src/plugin.ts', 'src/change-sets.ts']) assertShown(t, file, join(shop, 'plugins/notes'))
  const { url, stop } = await serveCommand(t, start, { cwd: shop })
  const response = await succeeds(t, request.replace('curl localhost:8080', `curl -s ${url}`))
  t.equal(response, /# (\{.+)$/m.exec(text)?.[1])
  t.same(await stop(), [0, null])
})

t.test('inspect plugins and values', async (t) => {
  for (const command of blockOf(t, 'npx plinth plugins list').commands) await succeeds(t, command)
  for (const command of blockOf(t, 'npx plinth config list').commands) await succeeds(t, command)
})

t.test('test the product', async (t) => {
  const [command = ''] = blockOf(t, 'node --test').commands
  const test = blocksIn(page).find(({ file }) => file === 'test/notes.test.ts')
  writeFileSync(join(shop, 'test/notes.test.ts'), test?.text ?? '')
  t.match(await succeeds(t, command), /\bpass 1\b/)
})

const hasServers = (await responds(5432)) && (await responds(6379))

t.test('a database server, and several instances', { skip: !hasServers && 'no PostgreSQL or no Redis' }, async (t) => {
  t.teardown(() => runTypedCommands(`dropdb --if-exists --force -h 127.0.0.1 -U postgres ${database}`, { cwd: shop }))
  const migration = blockOf(t, 'createdb').text.replaceAll(/\bshop\b/g, database)
  const output = await succeeds(t, migration.replace('--status', '--status || test $? = 1'))
  t.match(output, 'Applied ')
  const [variable = '', ...starts] = blockOf(t, 'export PLATFORM_CACHE_ENABLED').commands
  const exported = [...`${migration} ${variable}`.matchAll(/(PLATFORM_\w+)=(\S+)/g)].map(([, name, value]) => [
    name,
    value,
  ])
  t.equal(exported.length, 5)
  const env = { ...environment, ...Object.fromEntries(exported) }
  const instances = []
  for (const start of starts) instances.push(await serveCommand(t, start, { cwd: shop, env }))
  t.equal(instances.length, 3, 'three instances serve at the same time')
  for (const { stop } of instances) t.same(await stop(), [0, null])
})

t.test('every block was run', async (t) => {
  const all = blocksIn(page).filter(({ language }) => language === 'sh')
  t.comment(`${blocks.length} of ${all.length} blocks of commands; test/published.proof.ts runs the other`)
  t.equal(blocks.length, 7)
  t.equal(all.length, 8)
})
