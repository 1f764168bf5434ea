import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import databasePlugin, { database } from '@plinth/database'
import { assertMembers, freePort, rejectsWith, startForTest, until } from '@plinth/dev/testing'
import { everyDialect, runOnServer, runOnServerAs, skipServer, type TestServer } from '@plinth/dev/testing/database'
import { defineProduct, healthCheck, type JsonValue } from '@plinth/kernel'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { type ConnectionSettings, connectionErrorOf } from '../src/connections/connection-failure.ts'
import { numberPlaceholders, StatementCache } from '../src/rows/bound-parameters.ts'
import { onEachDatabase, productOn, serverDialects, startOn, type TestDatabase } from './fixtures/databases.ts'

const secret = 'S3cret-of-the-test'

/** Collects the texts of an error and of all its causes. */
function textsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const members = Object.entries(error).map(([name, value]) => `${name}=${String(value)}`)
  return [error.message, error.stack, ...members, textsOf(error.cause)].join('\n')
}

const startWith = (config: Readonly<Record<string, JsonValue>>) =>
  startForTest(defineProduct({ name: 'test', plugins: [databasePlugin], config }))

async function assertRejected(t: Test, config: Readonly<Record<string, JsonValue>>, code: string, message: RegExp) {
  const failure = await startWith(config).then(
    (running) => running.stop('should not have started').then(() => undefined),
    (error: unknown) => error as Error,
  )
  t.match(failure, { code: /^PLINTH_START_FAILED$/, message, cause: { code } }, code)
  t.notMatch(textsOf(failure), secret, 'no secret in it')
}

onEachDatabase(t, 'K-018 K-019 starts, is healthy, and closes everything on stop', async (t, db) => {
  const running = await startForTest(productOn(db))
  const service = running.service(database)
  const products = { sqlite: 'SQLite', postgresql: 'PostgreSQL', mysql: 'MySQL', mariadb: 'MariaDB' }
  t.match(await service.server(), { product: products[db.dialect], version: /^\d+\.\d+/ })
  t.equal(service.dialect, db.dialect)
  const early = service.fork()
  const check = running.contributions(healthCheck).get('database')
  await check?.(new AbortController().signal)
  await Promise.all(Array.from({ length: 8 }, () => service.query('select 1 as one')))
  await running.stop('test')
  await t.rejects(Promise.resolve(check?.(new AbortController().signal)), 'unhealthy after the stop')
  for (const use of [
    () => service.query('select 1'),
    () => service.transactional(async () => 1),
    () => early.execute('select 1'),
  ]) {
    await rejectsWith(t, use() as Promise<unknown>, { code: 'PLINTH_DATABASE_CLOSED' }, 'nothing opens it again')
  }
  await noOpenSessions(t, db)
})

/** Waits until another client sees no open connection to the database. */
async function noOpenSessions(t: Test, db: TestDatabase): Promise<void> {
  if (db.settings.type === 'sqlite') return void t.notOk(existsSync(`${db.settings.file}-wal`))
  const observer = await startForTest(productOn(db))
  const service = observer.service(database)
  const query =
    db.dialect === 'postgresql'
      ? 'select count(*) as sessions from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()'
      : 'select count(*) as sessions from information_schema.processlist where db = database() and id <> connection_id()'
  try {
    const sessions = async () => Number((await service.query<{ sessions: unknown }>(query))[0]?.sessions)
    // A server notices a closed client with a delay.
    await until(async () => (await sessions()) === 0, 'all connections are closed')
  } finally {
    await observer.stop('test ended')
  }
}

t.test(
  'K-019 by default the database is a file in the product directory, which is created with its directory',
  async (t) => {
    const root = t.testdir()
    const product = { ...defineProduct({ name: 'test', plugins: [databasePlugin] }), root }
    const running = await startForTest(product)
    t.ok(existsSync(join(root, 'data', 'plinth.sqlite')))
    await running.stop('again')
    const again = await startForTest(product)
    assertMembers(t, await again.service(database).migrationStatus(), { pending: [], applied: { length: 2 } })
    await again.stop('test ended')
  },
)

onEachDatabase(t, 'a start logs the database that it uses, without credentials', async (t, db) => {
  const start = async () => {
    const lines: { msg: string; type?: string; place?: string }[] = []
    const logger = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) })
    const running = await startForTest(productOn(db), { logger })
    await running.stop('test ended')
    return lines.flatMap(({ msg, type, place }) => (type === undefined ? [] : [[msg, type, place]]))
  }
  const { settings } = db
  const place = settings.type === 'sqlite' ? settings.file : `${settings.host}:${settings.port}/${settings.name}`
  const isFile = db.dialect === 'sqlite'
  t.strictSame(await start(), [[isFile ? 'database: a new file was created' : 'database', db.dialect, place]])
  t.strictSame(await start(), [['database', db.dialect, place]], 'the second time it is there')
})

t.test('a connection that fails is one clear error without secrets', async (t) => {
  const closedPort = await freePort()
  const silent = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => silent.once('listening', resolve))
  t.teardown(() => silent.close())
  const { port: silentPort } = silent.address() as { port: number }
  for (const type of ['postgresql', 'mariadb', 'mysql'] as const) {
    const config = {
      'platform.database.type': type,
      'platform.database.password': secret,
      'platform.database.connect-timeout': '200ms',
    }
    const unreachable = 'PLINTH_DATABASE_UNREACHABLE'
    await assertRejected(
      t,
      { ...config, 'platform.database.port': closedPort },
      unreachable,
      new RegExp(`127.0.0.1:${closedPort}/plinth`),
    )
    await assertRejected(t, { ...config, 'platform.database.port': silentPort }, unreachable, /Cannot connect/)
    await assertRejected(
      t,
      { ...config, 'platform.database.host': '::1', 'platform.database.port': closedPort },
      unreachable,
      new RegExp(`at \\[::1\\]:${closedPort}/plinth: [^.]`),
    )
    await assertRejected(
      t,
      { ...config, 'platform.database.host': 'no-such-host.invalid' },
      unreachable,
      /no-such-host/,
    )
  }
  const file = join(
    t.testdir({ 'note.txt': 'this is no database, but long enough to have a header'.repeat(20) }),
    'note.txt',
  )
  const sqlite = { 'platform.database.sqlite.file': file }
  await assertRejected(t, sqlite, 'PLINTH_DATABASE_FILE', /note\.txt cannot be used: file is not a database/)
  await assertRejected(t, { 'platform.database.sqlite.file': join(file, 'below') }, 'PLINTH_DATABASE_FILE', /below/)
})

const rejections = async (t: Test, db: TestDatabase) => {
  if (db.settings.type === 'sqlite') throw new Error('SQLite has none of them')
  const missing = {
    ...db.config,
    'platform.database.name': 'plinth_no_such_database',
    'platform.database.password': secret,
  }
  // MariaDB with an empty root password rejects the wrong password before it checks the name of the database.
  const expected = db.dialect === 'postgresql' ? 'PLINTH_DATABASE_UNKNOWN' : 'PLINTH_DATABASE_ACCESS_DENIED'
  await assertRejected(t, missing, expected, /127\.0\.0\.1/)
  await assertRejected(
    t,
    { ...missing, 'platform.database.password': '' },
    'PLINTH_DATABASE_UNKNOWN',
    /plinth_no_such_database/,
  )
  await assertRejected(
    t,
    { ...db.config, 'platform.database.username': 'plinth_nobody' },
    'PLINTH_DATABASE_ACCESS_DENIED',
    /plinth_nobody/,
  )

  const { service } = await startOn(t, db)
  t.match(await service.probe(db.settings), { product: /./ }, 'the probe connects')
  await rejectsWith(t, service.probe({ ...db.settings, name: 'plinth_no_such_database' }), {
    code: 'PLINTH_DATABASE_UNKNOWN',
  })
  await rejectsWith(t, service.probe({ type: 'sqlite', file: join(import.meta.filename, 'below') }), {
    code: 'PLINTH_DATABASE_FILE',
  })
  const user = `u${randomBytes(6).toString('hex')}`
  const [account, creation, right] =
    db.dialect === 'mariadb'
      ? [`${user}@'%'`, 'create user', `grant select on ${db.settings.name}.* to ${user}@'%'`]
      : [user, 'create role', `alter role ${user} login`]
  await runOnServer(db.dialect as TestServer, `${creation} ${account}`, right)
  t.teardown(() => runOnServer(db.dialect as TestServer, `drop ${creation.slice('create '.length)} ${account}`))
  await rejectsWith(t, service.probe({ ...db.settings, username: user }), {
    code: 'PLINTH_DATABASE_RIGHTS',
    message:
      db.dialect === 'mariadb' ? /is not allowed to create tables/ : /is not allowed to read, .* schema_changelog/,
  })
  assertMembers(t, await service.query('select 1 as one'), [{ one: 1 }], 'a failed probe leaves the service as it was')
}
onEachDatabase(t, 'a wrong name, user or transport is reported clearly', rejections, serverDialects)

for (const server of ['postgresql', 'mariadb'] as const) {
  const skip = everyDialect.find(({ dialect }) => dialect === server)?.skip ?? false
  t.test(`a ${server} that rejects connections is not reported as missing`, { skip }, async (t) => {
    t.equal(await skipServer(server), false)
    await rejectsWith(t, runOnServerAs(server, 'nobody_of_that_name', ['select 1']), { message: /nobody_of_that_name/ })
  })
}

t.test('a server is reported as missing only if no server listens', async (t) => {
  const port = await freePort()
  t.equal(await skipServer('postgresql', { port }), `no postgresql on 127.0.0.1:${port}`)
})

t.test('the error codes of the drivers are distinguished', async (t) => {
  const settings: ConnectionSettings = {
    type: 'postgresql',
    host: 'db.example',
    port: 5432,
    name: 'shop',
    username: 'clerk',
    password: secret,
    tls: 'off',
    poolSize: 2,
    connectTimeoutMs: 1,
    queryTimeoutMs: 1,
    transactionTimeoutMs: 1,
    preparedStatements: true,
  }
  for (const [code, expected] of [
    ['28P01', 'PLINTH_DATABASE_ACCESS_DENIED'],
    ['3D000', 'PLINTH_DATABASE_UNKNOWN'],
    ['EHOSTUNREACH', 'PLINTH_DATABASE_UNREACHABLE'],
    ['ER_BAD_DB_ERROR', 'PLINTH_DATABASE_UNKNOWN'],
    ['53300', 'PLINTH_DATABASE_TOO_MANY_CONNECTIONS'],
    ['XX000', 'PLINTH_DATABASE_FAILED'],
  ] as const) {
    const failure = connectionErrorOf(settings, Object.assign(new Error('said so'), { code }))
    t.equal(failure.code, expected)
    t.ok(failure.fix.length > 10)
  }
})

onEachDatabase(t, 'K-016 a session uses UTC, binds parameters, and reuses prepared statements', async (t, db) => {
  const { service } = await startOn(t, db)
  const update = 'update database_id_node set holder = ? where node = ? and holder <> ?'
  await service.transactional(async () => {
    for (let i = 0; i < 20; i++) t.equal(await service.execute(update, [`o'${i}?`, 0, '?']), 1)
    t.same(await service.query(`select holder, '?' as mark from database_id_node where node = ?`, [0]), [
      { holder: `o'19?`, mark: '?' },
    ])
    const settingsQuery = {
      sqlite:
        'select (select journal_mode from pragma_journal_mode) as a, (select foreign_keys from pragma_foreign_keys) as b',
      postgresql: `select count(*) as a, sum(generic_plans + custom_plans) as b from pg_prepared_statements where statement like 'update database_id_node%'`,
      mysql: '',
      mariadb: 'select @@session.time_zone as a, @@session.tx_isolation as b',
    }[service.dialect]
    const expected = {
      sqlite: { a: 'wal', b: 1 },
      postgresql: { a: 1, b: '20' },
      mysql: {},
      mariadb: { a: '+00:00', b: 'READ-COMMITTED' },
    }[service.dialect]
    t.same(await service.query(settingsQuery), [expected])
  })
  if (service.dialect === 'mariadb') {
    await service.transactional(async () => {
      const executed = async () =>
        Number((await service.query<{ Value: string }>(`show session status like 'Com_stmt_execute'`))[0]?.Value)
      const prepared = async () =>
        Number((await service.query<{ Value: string }>(`show session status like 'Com_stmt_prepare'`))[0]?.Value)
      const before = [await executed(), await prepared()]
      for (let i = 0; i < 10; i++) await service.execute(update, [`again ${i}`, 0, '?'])
      const after = [await executed(), await prepared()]
      t.equal((after[0] ?? 0) - (before[0] ?? 0), 10)
      t.ok((after[1] ?? 0) - (before[1] ?? 0) <= 1)
    })
  }
  t.same(
    await service
      .query('select holder from database_id_node where node = ? limit ?', [0, 1])
      .then((rows) => rows.length),
    1,
  )
})

t.test('placeholders and the statement cache', async (t) => {
  t.equal(
    numberPlaceholders(`update a set b = ?, c = '?''?' where "d?" = ? and e = ?`),
    `update a set b = $1, c = '?''?' where "d?" = $2 and e = $3`,
  )
  const made: string[] = []
  const cache = new StatementCache<string>(2)
  for (const text of ['a', 'b', 'a', 'c', 'a', 'b']) {
    cache.get(text, (key) => {
      made.push(key)
      return key
    })
  }
  t.same(made, ['a', 'b', 'c', 'b'], 'the one used longest ago is forgotten')
})

t.test('only the driver of the configured database is loaded', async (t) => {
  const directory = t.testdir()
  const script = join(import.meta.dirname, 'fixtures', 'loaded-drivers.ts')
  const { stdout } = await promisify(execFile)(process.execPath, [script, join(directory, 'a.sqlite')])
  t.same(JSON.parse(stdout), ['better-sqlite3'])
})
