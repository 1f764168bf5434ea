import { randomBytes } from 'node:crypto'
import { chmod, mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import databasePlugin, { type Database, database } from '@plinth/database'
import { startForTest } from '@plinth/dev/testing'
import {
  createDatabase,
  onDatabase,
  runOnServer,
  serversUnderTest,
  type TestDatabase,
} from '@plinth/dev/testing/database'
import { skipRedis } from '@plinth/dev/testing/shared-store'
import { type Clock, defineProduct, type JsonValue, systemClock } from '@plinth/kernel'
import sharedStorePlugin, { redisProbe } from '@plinth/shared-store'
import t, { type Test } from 'tap'
import type { PreflightContext } from '../src/preflight/context.ts'
import { runPreflight } from '../src/preflight/preflight-run.ts'
import { realProbes } from '../src/preflight/probes.ts'

async function connect(t: Test, db: TestDatabase, config: Record<string, JsonValue> = {}): Promise<Database> {
  const settings = { ...db.config, 'platform.database.migrate-at-start': false, ...config }
  const product = defineProduct({ name: 'test', plugins: [databasePlugin], config: settings })
  const running = await startForTest(product, { roles: ['cli'] })
  t.teardown(() => running.stop('test ended'))
  return running.service(database)
}

/** A real clock without deadlines, because the host may be busy. */
const clock: Clock = {
  ...systemClock,
  sleep: (_, signal) => new Promise((resolve) => signal?.addEventListener('abort', () => resolve())),
}

const contextOf = (root: string, db: Database | undefined): PreflightContext => ({
  clock,
  mayWrite: true,
  nodeRange: '>=24',
  directories: {
    run: root,
    storage: join(root, 'data/storage'),
    public: join(root, 'files/public'),
    log: join(root, 'log'),
  },
  envFile: { path: join(root, '.env'), examplePath: join(root, '.env.example'), needed: ['DB_PASSWORD'] },
  database: db,
  cache: { isEnabled: false },
  storage: undefined,
  policy: { isProduction: false, requireHttps: false, isHttps: false, allowLite: true },
  listener: { host: '127.0.0.1', port: 0 },
})

const findings = async (context: PreflightContext) =>
  Object.fromEntries(
    (await runPreflight(context)).map(({ code, message }) => [code, message.key.split('.').at(-1) ?? '']),
  )

const tableQuery = {
  sqlite: `select name from sqlite_master where type = 'table'`,
  postgresql: `select table_name as name from information_schema.tables where table_schema = current_schema()`,
  mysql: 'select table_name as name from information_schema.tables where table_schema = database()',
  mariadb: 'select table_name as name from information_schema.tables where table_schema = database()',
} as const

onDatabase(t, 'I-103 I-106 I-108 a real database, unchanged by the check', async (t, db) => {
  const service = await connect(t, db)
  const found = await findings(contextOf(t.testdir(), service))
  t.match(found, { 'database-connection': 'passed', 'database-privileges': 'passed', 'migration-state': 'empty' })
  t.equal(found['database-clock'], db.dialect === 'sqlite' ? undefined : 'passed')
  t.same(await service.query(tableQuery[service.dialect]), [])
  t.ok(Math.abs((await realProbes.databaseTime(service)) - Date.now()) < 3_600_000, 'milliseconds since the epoch')
})

for (const { dialect, skip } of serversUnderTest) {
  t.test(`I-103 a user without a required right (${dialect})`, { skip, timeout: 600_000 }, async (t) => {
    const db = await createDatabase(dialect)
    t.teardown(() => db.drop())
    const user = `plinth_${randomBytes(6).toString('hex')}`
    const name = String(db.config['platform.database.name'])
    const asUser = { 'platform.database.username': user, 'platform.database.password': 'Pl1nth-probe' }
    const found = async () => findings(contextOf(t.testdir(), await connect(t, db, asUser)))
    if (dialect === 'postgresql') {
      await runOnServer(dialect, `create role ${user} login password 'Pl1nth-probe'`)
      t.teardown(() => runOnServer(dialect, `drop role ${user}`))
      t.match(await found(), { 'database-connection': 'passed', 'database-privileges': 'create' })
      return
    }
    await runOnServer(dialect, `create user ${user}@'%' identified by 'Pl1nth-probe'`)
    t.teardown(() => runOnServer(dialect, `drop user ${user}@'%'`))
    const rights = {
      select: 'create',
      create: 'alter',
      index: 'alter',
      alter: 'write',
      insert: 'write',
      update: 'write',
      delete: 'drop',
      drop: 'passed',
    }
    for (const [right, finding] of Object.entries(rights)) {
      await runOnServer(dialect, `grant ${right} on ${name}.* to ${user}@'%'`)
      t.match(await found(), { 'database-connection': 'passed', 'database-privileges': finding })
    }
  })

  t.test(`I-103 a database that disappears (${dialect})`, { skip, timeout: 600_000 }, async (t) => {
    const db = await createDatabase(dialect)
    const service = await connect(t, db)
    await service.ping(AbortSignal.timeout(60_000))
    await db.drop()
    const found = await findings(contextOf(t.testdir(), service))
    // MariaDB connects even if the database is gone, and fails at the first table.
    const expected = dialect === 'postgresql' ? [/unknown|unreachable/, undefined] : ['passed', 'create']
    t.match([found['database-connection'], found['database-privileges']], expected)
  })
}

t.test('I-102 real directories and files', async (t) => {
  const root = t.testdir()
  const storage = join(root, 'data/storage')
  await writeFile(join(root, '.env.example'), 'DB_PASSWORD=\n')
  t.match(await findings(contextOf(root, undefined)), {
    'directory-run': 'passed',
    'directory-storage': 'creatable',
    'directory-public': 'creatable',
    'directory-log': 'creatable',
    'disk-space': /passed|low/,
    'env-file': 'creatable',
    'env-example': 'passed',
    'database-connection': 'none',
  })
  t.same(await readdir(root), ['.env.example'], 'nothing was made')

  await mkdir(join(root, 'data'))
  await writeFile(storage, 'a file')
  await mkdir(join(root, 'files/public'), { recursive: true })
  await writeFile(join(root, 'log'), 'a file')
  await writeFile(join(root, '.env'), 'A=1\n')
  await chmod(join(root, '.env'), 0o644)
  await rm(join(root, '.env.example'))
  t.match(await findings(contextOf(root, undefined)), {
    'directory-storage': 'unwritable',
    'directory-public': 'passed',
    'directory-log': 'unwritable',
    'env-file': 'readable',
    'env-example': 'missing',
  })

  await rm(storage)
  await mkdir(storage)
  await writeFile(join(root, '.env'), Buffer.from([0xff]))
  await writeFile(join(root, '.env.example'), 'OTHER=\n')
  t.match(await findings(contextOf(root, undefined)), {
    'directory-storage': 'passed',
    'env-file': 'malformed',
    'env-example': 'incomplete',
  })
  t.same(await readdir(storage), [], 'the probe is gone')
  t.same(await readdir(join(root, 'files/public')), [], 'there too')
  await rm(join(root, 'files'), { recursive: true })
  await writeFile(join(root, 'files'), 'a file')
  await rm(join(root, 'log'))
  await mkdir(join(root, 'log'))
  t.match(await findings(contextOf(root, undefined)), { 'directory-public': 'unwritable', 'directory-log': 'passed' })

  await rm(join(root, '.env'))
  await symlink('missing/.env', join(root, '.env'))
  t.match(await findings(contextOf(root, undefined)), { 'env-file': 'unwritable' })
  await rm(join(root, '.env'))
  await mkdir(join(root, '.env'))
  t.match(await findings(contextOf(root, undefined)), { 'env-file': 'unwritable' })
})

t.test(
  'I-102 a directory without rights',
  { skip: process.getuid?.() === 0 && 'root may write everywhere' },
  async (t) => {
    const root = t.testdir({ data: {} })
    await chmod(join(root, 'data'), 0o555)
    t.match(await findings(contextOf(root, undefined)), { 'directory-storage': 'unwritable' })
    await chmod(join(root, 'data'), 0o755)
  },
)

t.test('I-104 a real Redis: its time, and its response time', { skip: skipRedis }, async (t) => {
  const db = await createDatabase('sqlite')
  const product = defineProduct({ name: 'test', plugins: [databasePlugin, sharedStorePlugin], config: db.config })
  const running = await startForTest(product)
  t.teardown(async () => {
    await running.stop('test ended')
    await db.drop()
  })
  const serverTime = (signal: AbortSignal) => running.service(redisProbe).time(undefined, signal)
  const items = await runPreflight({ ...contextOf(t.testdir(), undefined), cache: { isEnabled: true, serverTime } })
  const { status, message } = items.find(({ code }) => code === 'cache-connection') ?? {}
  t.equal(status, 'passed')
  t.match(message?.params, { time: /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/, elapsed: Number })
  t.ok(Number(message?.params['elapsed']) > 0)
})

t.test('I-101 this process', async (t) => {
  const found = await findings(contextOf(t.testdir(), undefined))
  t.match(found, { 'node-version': 'passed', icu: 'passed', clock: 'passed' })
  t.ok(realProbes.runtime().heapLimit > 2 ** 20)
})
