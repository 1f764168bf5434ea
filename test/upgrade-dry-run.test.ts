/** Tests that `plinth upgrade --dry-run` lists all steps of an upgrade and changes neither the database nor a file. */
import { createHash } from 'node:crypto'
import { globSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import databasePlugin, { database } from '@plinth/database'
import { programEnvironment, startForTest } from '@plinth/dev/testing'
import { onDatabase, type TestDatabase } from '@plinth/dev/testing/database'
import httpPlugin, { http, Type } from '@plinth/http'
import { definePlugin, defineProduct, type KeyDeclarations, key, type Product } from '@plinth/kernel'
import { type ChangeSet, defineChangeSet } from '@plinth/migrations'
import systemConfig, { configCentre } from '@plinth/system-config'
import t, { type Test } from 'tap'
import { snapshotOf } from '../dev/src/verify/database-snapshot.ts'
import { runProgram } from '../kernel/src/cli/program.ts'

const title = (text: string) => ({ en: text, 'zh-CN': text })
const number = (deprecated?: { readonly since: string; readonly replacement?: string }) =>
  key.integer({ title: title('Size'), default: 1, reload: 'live', ...(deprecated === undefined ? {} : { deprecated }) })
const table = (id: string, name: string) =>
  defineChangeSet({
    id,
    up: ({ schema, type }) => [schema.createTable(name).addColumn('id', type.id, (c) => c.primaryKey())],
  })
type Deprecated = { readonly since: string; readonly replacement: string; readonly migration?: string }
type Routes = Readonly<Record<string, Deprecated | undefined>>

interface Version {
  readonly version: string
  readonly config: KeyDeclarations
  readonly migrations: readonly ChangeSet[]
  readonly routes: Routes
}

const acme = ({ routes, config, ...members }: Version) =>
  definePlugin({
    id: 'acme',
    kernel: '^1.0.0',
    requires: { database, http },
    ...members,
    config,
    setup({ services }) {
      for (const [path, deprecated] of Object.entries(routes)) {
        services.http.route({
          method: 'GET',
          path,
          summary: 'Items',
          access: 'public',
          response: Type.Object({}),
          handler: () => ({}),
          ...(deprecated === undefined ? {} : { deprecated }),
        })
      }
    },
  })

const items = table('0001-create-item', 'acme_item')
const first: Version = {
  version: '1.0.0',
  config: {
    'platform.acme.size': number(),
    'platform.acme.weight': number(),
    'platform.acme.colour': number(),
    'platform.acme.shape': number(),
    'platform.acme.age': number(),
    'platform.acme.place': key.string({ title: title('Place'), default: '', reload: 'live' }),
  },
  migrations: [items],
  routes: { '/api/v1/acme/items': undefined, '/api/v1/acme/old': undefined },
}
const second: Version = {
  version: '1.1.0',
  config: {
    'platform.acme.length': number(),
    'platform.acme.mass': number(),
    'platform.acme.size': number({ since: '1.1.0', replacement: 'platform.acme.length' }),
    'platform.acme.weight': number({ since: '1.1.0', replacement: 'platform.acme.mass' }),
    'platform.acme.age': number({ since: '1.1.0' }),
    'platform.acme.place': key.string({ title: title('Place'), default: '', scope: 'process' }),
  },
  migrations: [items, table('0002-create-part', 'acme_part')],
  routes: {
    '/api/v1/acme/items': { since: '1.1.0', replacement: 'GET /api/v2/acme/items', migration: 'Pages begin at 1.' },
    '/api/v2/acme/items': undefined,
  },
}
/** A version like the first one, but its change set, which the test has executed before, was edited afterwards. */
const edited: Version = { ...first, migrations: [table('0001-create-item', 'acme_thing')] }

const productOf = (version: Version, config: Product['config'] = {}) =>
  defineProduct({ name: 'shop', plugins: [databasePlugin, httpPlugin, systemConfig, acme(version)], config })

/** Values of configuration keys. The product files of this test import the products with these values. */
const used = { 'platform.acme.size': 3, 'platform.acme.age': 2 }
export const products = {
  first: productOf(first, used),
  second: productOf(second, used),
  edited: productOf(edited, used),
}

/** Returns a function that runs a command line on the product of a version, in a folder with a settings file. */
function commandOn({ directory, config }: TestDatabase) {
  const folder = join(directory, 'product')
  mkdirSync(folder, { recursive: true })
  const set = Object.entries(config).flatMap(([name, value]) => ['--set', `${name}=${value}`])
  for (const name of Object.keys(products)) {
    const source = `import { products } from ${JSON.stringify(import.meta.url)}\nexport default products.${name}\n`
    writeFileSync(join(folder, `${name}.config.js`), source)
  }
  writeFileSync(join(folder, '.env'), 'PLATFORM_ACME_COLOUR=4\n')
  return async (name: keyof typeof products, ...words: string[]) => {
    let [stdout, stderr] = ['', '']
    const code = await runProgram(['--product', join(folder, `${name}.config.js`), ...set, ...words], {
      stdout: { write: (text) => (stdout += text) },
      stderr: { write: (text) => (stderr += text) },
      environment: programEnvironment(),
      directory: folder,
    })
    return { code, stdout, stderr }
  }
}

/** Returns a digest of each file, and the content of all tables with their columns. */
async function stateOf(t: Test, { directory, config, dialect }: TestDatabase) {
  const files = globSync('**/*', { cwd: directory, withFileTypes: true }).filter((entry) => entry.isFile())
  const paths = files.map(({ parentPath, name }) => join(parentPath, name)).sort()
  const digest = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex')
  const digests = paths.map((path) => [path, digest(path)])
  if (dialect === 'sqlite') return { digests }
  const reader = defineProduct({ name: 'reader', plugins: [databasePlugin], config })
  const running = await startForTest(reader, { roles: ['cli'] })
  try {
    const tables = await snapshotOf(running)
    const schema = dialect === 'postgresql' ? 'current_schema()' : 'database()'
    const columns = await running
      .service(database)
      .query(`select table_name as t, column_name as c from information_schema.columns where table_schema = ${schema}`)
    t.ok(tables.size > 3)
    return { digests, tables: [...tables].map(([name, rows]) => [name, [...rows].sort()]), columns }
  } finally {
    await running.stop('read')
  }
}

/** Migrates the first version, stores values of two keys, and locks the manifest. */
async function installFirst(db: TestDatabase) {
  const plinth = commandOn(db)
  const set = Object.fromEntries(Object.entries(db.config).map(([name, value]) => [name, String(value)]))
  const running = await startForTest(products.first, { set: { ...set, 'platform.http.port': '0' } })
  const values = { 'platform.acme.weight': 5, 'platform.acme.shape': 5, 'platform.acme.place': 'files' }
  const changes = Object.entries(values).map(([name, value]) => ({ key: name, action: 'set' as const, value }))
  await running.service(configCentre).save(changes, { actor: { name: 'test' } })
  await running.stop('installed')
  return plinth
}

const noReplacement = 'is deprecated since 1.1.0. Use another way; the key has no replacement.'
const noKey = 'is stored, but no loaded plugin declares it. It stays stored and has no effect.'
const unknownKey =
  'is not a key of any loaded plugin. Correct the name, delete the entry, or load the plugin that declares the key. `plinth config list` shows all keys.'
/** Steps from the first to the second version. A step with `!` requires an action of the operator. */
const expectedSteps = [
  'version changed acme 1.0.0 -> 1.1.0',
  '! manifest added acme keys: platform.acme.length',
  '! manifest added acme keys: platform.acme.mass',
  'manifest removed acme keys: platform.acme.colour',
  'manifest removed acme keys: platform.acme.shape',
  '! manifest added acme change-sets: 0002-create-part',
  '! manifest added acme routes: GET /api/v2/acme/items public',
  'manifest removed acme routes: GET /api/v1/acme/old public',
  'change-sets pending acme 0002-create-part',
  '! routes removed acme GET /api/v1/acme/old',
  'routes deprecated acme GET /api/v1/acme/items is deprecated since 1.1.0; use GET /api/v2/acme/items. Pages begin at 1.',
  'key renamed acme second.config.js: Key "platform.acme.size" is deprecated since 1.1.0. Use platform.acme.length.',
  `key deprecated acme second.config.js: Key "platform.acme.age" ${noReplacement}`,
  `! key removed acme .env:1: "PLATFORM_ACME_COLOUR" ${unknownKey}`,
  'key renamed acme stored value of platform.acme.weight: Key "platform.acme.weight" is deprecated since 1.1.0. Use platform.acme.mass.',
  `! key ignored acme stored value of platform.acme.place: The value of "platform.acme.place" is set per process, so the stored value is ignored: set it in a file, in the environment or with --set. Correct the value. \`plinth config explain platform.acme.place\` shows the rule and all sources.`,
  `key removed acme stored value of platform.acme.shape: "platform.acme.shape" ${noKey}`,
]

interface Step {
  readonly subject: string
  readonly change: string
  readonly plugin: string
  readonly entry: string
  readonly isBlocking: boolean
}

onDatabase(t, 'C-002 upgrade --dry-run lists all steps of an upgrade and writes nothing', async (t, db) => {
  const plinth = await installFirst(db)
  t.equal((await plinth('first', 'plugins', 'lock')).code, 0)
  const unchanged = await plinth('first', 'upgrade', '--dry-run', '--json')
  t.strictSame(JSON.parse(unchanged.stdout), { steps: [], blocking: 0, isLocked: true }, unchanged.stderr)
  t.equal(unchanged.code, 0)

  const before = await stateOf(t, db)
  const { code, stdout } = await plinth('second', 'upgrade', '--dry-run', '--json')
  const report: { readonly steps: readonly Step[]; readonly blocking: number } = JSON.parse(stdout)
  const lines = report.steps.map(
    ({ subject, change, plugin, entry, isBlocking }) =>
      `${isBlocking ? '! ' : ''}${subject} ${change} ${plugin} ${entry.replaceAll(db.directory, '')}`,
  )
  t.strictSame(
    lines.map((line) => line.replace(/, version \d+, by test at [^:]+:\d+:[\d.]+Z/, '')),
    expectedSteps,
  )
  t.equal(report.blocking, expectedSteps.filter((line) => line.startsWith('! ')).length)
  t.equal(code, 1)
  const text = await plinth('second', 'upgrade', '--dry-run')
  t.equal(text.code, 1)
  t.match(text.stdout, /^ACTION +SUBJECT +CHANGE +PLUGIN +ENTRY\n +version +changed +acme +1\.0\.0 -> 1\.1\.0\n/)
  t.strictSame(await stateOf(t, db), before)

  renameSync(join(db.directory, 'product/plinth.lock.json'), join(db.directory, 'product/kept.json'))
  const unlocked = await plinth('second', 'upgrade', '--dry-run', '--json')
  const kinds = JSON.parse(unlocked.stdout).steps.map(({ subject, change }: Step) => `${subject} ${change}`)
  t.strictSame(kinds, [
    'change-sets pending',
    'routes deprecated',
    'key renamed',
    'key deprecated',
    'key removed',
    'key renamed',
    'key ignored',
    'key removed',
  ])
  renameSync(join(db.directory, 'product/kept.json'), join(db.directory, 'product/plinth.lock.json'))

  const broken = await plinth('edited', 'upgrade', '--dry-run', '--json')
  t.equal(broken.code, 1)
  const changed = { subject: 'change-sets', change: 'changed', plugin: 'acme', entry: '0001-create-item' }
  t.strictSame(JSON.parse(broken.stdout).steps, [{ ...changed, isBlocking: true }])
  t.strictSame(await stateOf(t, db), before)
})

t.test('upgrade needs --dry-run and a product whose other values are valid', async (t) => {
  const directory = t.testdir({})
  const plinth = commandOn({ directory, config: {}, dialect: 'sqlite' } as unknown as TestDatabase)
  const failure = async (...words: string[]) => {
    const { code, stdout } = await plinth('first', 'upgrade', '--json', ...words)
    return [code, JSON.parse(stdout).error.code]
  }
  t.strictSame(await failure(), [2, 'PLINTH_CLI_USAGE'])
  const { code, stdout, stderr } = await plinth('first', 'upgrade', '--dry-run', '--json')
  t.strictSame([code, JSON.parse(stdout).isLocked, /plinth\.lock\.json/.test(stderr)], [0, false, true], stderr)
  t.equal((await plinth('first', 'plugins', 'lock')).code, 0)
  t.strictSame(await failure('--dry-run', '--set', 'platform.acme.age=old'), [3, 'PLINTH_START_REFUSED'])
  t.strictSame(globSync('**/*.sqlite*', { cwd: directory }), [], 'no database was created')
})
