/**
 * Tests the commands of `docs/operations/backup.md`: they back up a running product and restore it in another
 * directory.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { programEnvironment } from '@plinth/dev/testing'
import { createDatabase, everyDialect, type TestDialect } from '@plinth/dev/testing/database'
import { environmentName } from '@plinth/kernel/host'
import t, { type Test } from 'tap'
import { blocksIn } from '../fixtures/document-blocks.ts'
import { runProgram, startProcess } from '../fixtures/product-process.ts'

const root = join(import.meta.dirname, '..', '..')
const page = 'docs/operations/backup.md'
const self = relative(root, import.meta.filename)
const administrator = { username: 'root', password: 'Correct-horse-7' }
const secret = 'correct-battery-staple'
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

/** Product file of a product that stores a secret in the database. Its route returns a hash of the decrypted secret. */
const productFile = `
import { createHash } from 'node:crypto'
import { http, Type } from '@plinth/http'
import { definePlugin, defineProduct, key } from '@plinth/kernel'
import { operations } from '@plinth/presets/operations'
import { platform } from '@plinth/presets/platform'
const shop = definePlugin({
  id: 'shop', version: '1.0.0', kernel: '^1.0.0', requires: { http },
  config: {
    'platform.shop.token': key.string({ title: { en: 'Token', 'zh-CN': '令牌' }, default: '', sensitive: true, reload: 'live' }),
  },
  setup({ config, services }) {
    services.http.route({
      method: 'GET', path: '/api/v1/shop/token', summary: 'Hash of the token', access: 'public',
      response: Type.Object({ hash: Type.String() }),
      handler: () => ({ hash: createHash('sha256').update(config.get('platform.shop.token')).digest('hex') }),
    })
  },
})
export default defineProduct({ name: 'shop', plugins: [...platform, ...operations, shop] })
`

const headingOf: Readonly<Record<TestDialect, string>> = {
  sqlite: 'SQLite',
  postgresql: 'PostgreSQL',
  mariadb: 'MariaDB and MySQL',
}
const users: Readonly<Record<TestDialect, string>> = { sqlite: '', postgresql: 'postgres', mariadb: 'root' }
/** Other tests run `plinth backup` and the commands for containers and services. */
const others = ['Set up', 'Make backups', 'Test and restore', 'Containers and services']
const blocks = blocksIn(page).filter(({ heading }) => !others.includes(heading))

/**
 * Returns the two blocks of commands below a heading: first the commands for the backup, then those for the restore.
 */
function commandsBelow(heading: string): readonly [string, string] {
  const [backup, restore, ...others] = blocks.filter((block) => block.heading === heading)
  if (backup === undefined || restore === undefined || others.length > 0) throw new Error(`${heading}: not two blocks`)
  return [backup.text, restore.text]
}

t.test('this test runs all commands of the page', async (t) => {
  const headings = new Set(blocks.map(({ heading }) => heading))
  t.same(headings, new Set(['By hand', ...Object.values(headingOf), 'Files and keys']))
  for (const { test } of blocks) t.equal(test, self)
})

/** Runs commands of the backup page with the database of the test. */
function runIn(
  t: Test,
  directory: string,
  commands: string,
  { name = '', dialect }: { name?: string; dialect: TestDialect },
) {
  const adapted = commands
    .replaceAll('--host=db.internal', '--host=127.0.0.1')
    .replaceAll(/--user(name)?=shop/g, `--user$1=${users[dialect]}`)
    .replaceAll(/(?<![\w/])shop(?![.\w])/g, name)
  const env = { ...programEnvironment(), PATH: `${join(root, 'node_modules', '.bin')}:${process.env['PATH']}` }
  const { status, stdout, stderr } = spawnSync('bash', ['-euc', adapted], { cwd: directory, env, encoding: 'utf8' })
  t.equal(status, 0, `${adapted}${stdout}${stderr}`)
  return stdout
}

interface Envelope {
  readonly code: string
  readonly message: string
  readonly data: Record<string, unknown> | null
}

async function call(url: string, path: string, token = '', body?: object): Promise<Record<string, unknown>> {
  const authorization = token === '' ? {} : { authorization: `Bearer ${token}` }
  const sent = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
  const headers = { 'content-type': 'application/json', ...authorization }
  const response = await fetch(`${url}/api/v1/${path}`, { ...sent, headers })
  const { code, message, data } = (await response.json()) as Envelope
  if (code !== '200') throw new Error(`${path}: ${code} ${message}`)
  return data ?? {}
}

const signIn = async (url: string) => String((await call(url, 'auth/login', '', administrator))['accessToken'])

for (const { dialect, skip } of everyDialect) {
  t.test(`a running product on ${dialect} is backed up and restored`, { skip, timeout: 600_000 }, async (t) => {
    const db = await createDatabase(dialect)
    t.teardown(() => db.drop())
    const name = String(db.config['platform.database.name'] ?? '')
    const folder = t.testdir({
      first: { 'plinth.config.ts': productFile },
      second: { 'plinth.config.ts': productFile },
    })
    const [first, second] = [join(folder, 'first'), join(folder, 'second')]
    const variables = dialect === 'sqlite' ? [] : Object.entries(db.config)
    const lines = variables.map(([key, value]) => `${environmentName(key)}=${value}\n`)
    writeFileSync(join(first, '.env'), `PLATFORM_SITE_NAME=Backed up\n${lines.join('')}`)

    const product = join(first, 'plinth.config.ts')
    const create = ['admin', 'create', '--username', administrator.username, '--password-stdin']
    for (const words of [['migrate'], create])
      t.match(await runProgram([...words, '--product', product], administrator.password), { code: 0 })
    const original = await startProcess(t, product, {})
    const token = await signIn(original.url)
    const store = (value: string) => ({
      changes: [{ key: 'platform.shop.token', action: 'set', value }],
      reason: 'test',
    })
    await call(original.url, 'admin/system-config/changes', token, store(secret))
    mkdirSync(join(first, 'data/storage/local'), { recursive: true })
    writeFileSync(join(first, 'data/storage/local/file.txt'), 'a file')

    const [preparation] = blocks.filter(({ heading }) => heading === 'By hand')
    const [backUp, restore] = commandsBelow(headingOf[dialect])
    const [backUpFiles, restoreFiles] = commandsBelow('Files and keys')
    for (const commands of [preparation?.text ?? '', backUp, backUpFiles]) runIn(t, first, commands, { name, dialect })
    await call(original.url, 'admin/system-config/changes', token, store('changed after the backup'))
    t.same(await original.end('SIGTERM'), [0, null])

    cpSync(join(first, 'backup'), join(second, 'backup'), { recursive: true })
    runIn(t, second, restore, { name, dialect })
    t.match(runIn(t, second, restoreFiles, { name, dialect }), /database/, 'doctor finds no problem')
    t.match(readFileSync(join(second, '.env'), 'utf8'), /Backed up/)
    t.equal(readFileSync(join(second, 'data/storage/local/file.txt'), 'utf8'), 'a file')
    t.equal(existsSync(join(second, 'data/plinth.sqlite')), dialect === 'sqlite')

    const restored = await startProcess(t, join(second, 'plinth.config.ts'), {})
    t.ok(await signIn(restored.url), 'the administrator can sign in')
    t.same(await call(restored.url, 'shop/token'), { hash: sha256(secret) }, 'the secret of the backup is decrypted')
  })
}
