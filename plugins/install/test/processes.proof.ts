/** Tests the real program: a restart on another database, a kill at each step, and two concurrent processes. */
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import databasePlugin, { database } from '@plinth/database'
import { assertMembers, startForTest } from '@plinth/dev/testing'
import { createDatabase, everyDialect, serversUnderTest } from '@plinth/dev/testing/database'
import { defineProduct, type JsonValue } from '@plinth/kernel'
import t from 'tap'
import { command, productRoot, serve } from './fixtures/processes.ts'
import { databaseFormFor, databaseWithPassword, formFor, secrets } from './fixtures/product.ts'

const embedded = { type: 'h2', host: '', port: null, database: '', username: '', password: '' }
const form = formFor({ dialect: 'sqlite', config: {}, directory: '', drop: async () => {} })

/** Connects to a database with a separate minimal product, and passes a query function to `look`. */
async function lookInto<T>(
  config: Readonly<Record<string, JsonValue>>,
  look: (query: (sql: string) => Promise<unknown[]>) => Promise<T>,
) {
  const product = defineProduct({
    name: 'look',
    plugins: [databasePlugin],
    config: { ...config, 'platform.database.migrate-at-start': false },
  })
  const running = await startForTest(product, { roles: ['cli'] })
  try {
    return await look((sql) => running.service(database).query(sql))
  } finally {
    await running.stop('done')
  }
}
const sqliteOf = (root: string) => ({ 'platform.database.sqlite.file': join(root, 'data/plinth.sqlite') })

const administrators = (config: Readonly<Record<string, JsonValue>>) =>
  lookInto(config, async (query) => (await query('select id from iam_user')).length)

for (const { dialect, skip } of serversUnderTest) {
  t.test(`D23 I-135 sqlite to ${dialect}, with the restart in the middle`, { skip, timeout: 600_000 }, async (t) => {
    const target = await databaseWithPassword(t, dialect, secrets.database)
    const root = productRoot(t)
    const product = await serve(t, root)
    const body = { ...form, database: target }
    // A server that trusts its own host accepts any password, but the user must exist.
    const wrong = dialect === 'mariadb' ? { password: 'Wr0ng-word' } : { username: 'nobody_here' }
    const rejected = await product.call('POST', '/api/v1/install/execute', {
      ...body,
      database: { ...target, ...wrong },
    })
    t.match(rejected.data, { passed: false, configWritten: false, restartRequired: false, message: /config-write/ })
    t.notOk(existsSync(join(root, '.env')))
    const first = await product.call('POST', '/api/v1/install/execute', body)
    t.match(first.data, { passed: true, restartRequired: true, administratorReady: false, locked: false })
    await product.started(2)
    t.match((await product.call('GET', '/api/v1/install/status')).data, { installed: false, installAllowed: true })
    // The row of the session stayed in the old database, but the installation file contains the session.
    const done = await product.call('POST', `/api/v1/install/sessions/${first.data.sessionId}/retry`, body)
    t.match(
      done.data,
      { passed: true, restartRequired: false, administratorReady: true, locked: true },
      done.data.message,
    )
    t.match((await product.call('GET', '/api/v1/install/status')).data, { installed: true, installAllowed: false })
    const login = { username: 'founder', password: secrets.administrator }
    const { data } = await product.call('POST', '/api/v1/auth/login', login)
    const headers = { authorization: `Bearer ${data.accessToken}` }
    const diagnostics = await product.call('GET', '/api/v1/admin/install/diagnostics', undefined, headers)
    const connection = diagnostics.data.preflight.checks.find(
      ({ code }: { code: string }) => code === 'database-connection',
    )
    t.match(connection, { status: /^passed$/, message: dialect === 'mariadb' ? /MariaDB/ : /PostgreSQL/ }, 'I-103')
    const env = parseEnv(readFileSync(join(root, '.env'), 'utf8'))
    t.match(env, { PLATFORM_DATABASE_TYPE: dialect, PLATFORM_DATABASE_PASSWORD: secrets.database })
    t.equal(await administrators(sqliteOf(root)), 0, 'nobody was made in the old database')
    const stored = await lookInto(sqliteOf(root), (query) => query('select config_key from sys_config'))
    t.same(stored, [], 'and nothing stored there')
    product.child.kill('SIGTERM')
    t.same(await product.ended(), [0, null])
    t.notMatch(product.output(), secrets.database)
    t.notMatch(product.output(), secrets.administrator)
  })
}

t.test('an external supervisor sees the exit code', { timeout: 600_000 }, async (t) => {
  const root = productRoot(t)
  const product = await serve(t, root, ['--no-supervisor'])
  const other = { ...form, database: { ...embedded, database: 'other' } }
  t.match((await product.call('POST', '/api/v1/install/execute', other)).data, { passed: true, restartRequired: true })
  t.same(await product.ended(), [75, null])
  const again = await serve(t, root, ['--no-supervisor'])
  t.match((await again.call('POST', '/api/v1/install/execute', other)).data, { passed: true, locked: true })
  t.equal(await administrators({ 'platform.database.sqlite.file': join(root, 'data/other.sqlite') }), 1)
  t.ok(existsSync(join(root, 'data/plinth.sqlite')))
})

const killPoints = [
  ...[
    'security-entry',
    'environment-preflight',
    'config-validation',
    'config-write',
    'database-migration',
    'table-readiness',
    'base-identity',
    'administrator',
    'install-lock',
  ].map((step) => ({ call: 'appendFile', holds: `"stepCode":"${step}"`, when: 'after' }) as const),
  { call: 'rename', holds: '/.env', when: 'before' },
  { call: 'rename', holds: '/.env', when: 'after' },
  { call: 'rename', holds: 'installed.json', when: 'before' },
] as const

t.test(
  'killed at each step, started and run again: installed, with one administrator',
  { timeout: 900_000 },
  async (t) => {
    const answers = {
      PLINTH_INSTALL_SITE_NAME: 'Acme',
      PLINTH_INSTALL_SITE_DEFAULT_LOCALE: 'zh-CN',
      PLINTH_INSTALL_ADMINISTRATOR_USERNAME: 'founder',
      PLINTH_INSTALL_ADMINISTRATOR_PASSWORD: secrets.administrator,
    }
    for (const killAt of killPoints) {
      const about = `${killAt.when} ${killAt.call} ${killAt.holds}`
      const root = productRoot(t)
      const killed = await command(root, ['install', '--json'], { environment: answers, killAt })
      t.equal(killed.signal, 'SIGKILL', about)
      const env = existsSync(join(root, '.env')) ? readFileSync(join(root, '.env'), 'utf8') : ''
      t.match(env, /^(PLATFORM_I18N_DEFAULT_LOCALE=zh-CN\n)?$/, `no half-written file ${about}`)

      const again = await command(root, ['install', '--json'], { environment: answers })
      const isLocked = killAt.holds.includes('install-lock') || killAt.holds.includes('installed.json')
      if (isLocked) t.match(JSON.parse(again.stdout), { installed: true, changed: false }, about)
      else t.match(JSON.parse(again.stdout), { passed: true, locked: true }, `${about} ${again.stderr}`)
      t.equal(again.code, 0, about)
      const found = await lookInto(sqliteOf(root), async (query) => ({
        users: (await query('select id from iam_user')).length,
        installed: await query(`select config_value from sys_config where config_key = 'platform.install.installed'`),
        running: (await query(`select id from install_session where status = 'running'`)).length,
      }))
      assertMembers(t, found, { users: 1, installed: [{ config_value: 'true' }] }, about)
      if (!isLocked) t.equal(found.running, 0, `the session of the dead is closed ${about}`)
      const left = readdirSync(root)
        .filter((name) => name.startsWith('.env') && name !== '.env.lock')
        .sort()
      // The next writer takes over the lock of a dead writer.
      t.same(left, ['.env', '.env.example'], `no leftovers ${about}`)
    }
  },
)

t.test('P25 E7 an installed product that lost its database stays closed', { timeout: 600_000 }, async (t) => {
  const root = productRoot(t)
  const body = { ...form, database: embedded }
  const first = await serve(t, root)
  t.match((await first.call('POST', '/api/v1/install/execute', body)).data, { passed: true, locked: true })
  first.child.kill('SIGTERM')
  await first.ended()
  const kept = join(root, 'kept')
  mkdirSync(kept)
  const files = readdirSync(join(root, 'data')).filter((name) => name.startsWith('plinth.sqlite'))
  t.ok(files.length > 0)
  for (const name of files) renameSync(join(root, 'data', name), join(kept, name))

  const answers = {
    PLINTH_INSTALL_ADMINISTRATOR_USERNAME: 'stranger',
    PLINTH_INSTALL_ADMINISTRATOR_PASSWORD: 'Str4nger-word',
  }
  const rejected = await command(root, ['install', '--json'], { environment: answers })
  t.equal(rejected.code, 1, 'before any migration')
  t.hasStrict(JSON.parse(rejected.stdout), { error: { reason: 'install.state-lost' } }, 'E9')
  for (const round of ['started', 'started once more']) {
    const lost = await serve(t, root)
    const status = await lost.call('GET', '/api/v1/install/status')
    t.match(status.data, { installed: true, locked: true, installAllowed: false }, round)
    t.match((await lost.call('POST', '/api/v1/install/execute', body)).data, { authorized: false }, round)
    const administrator = { ...form.administrator, username: 'stranger' }
    const made = await lost.call('POST', '/api/v1/install/administrator', administrator)
    t.match(made.data, { authorized: false, created: false }, round)
    t.match((await lost.call('POST', '/api/v1/install/lock')).data, { authorized: false, locked: false }, round)
    t.equal((await fetch(`${lost.url()}/install/`, { redirect: 'manual' })).status, 302, round)
    t.equal((await fetch(`${lost.url()}/health/ready`)).status, 503, 'it is not ready to serve')
    lost.child.kill('SIGTERM')
    await lost.ended()
    const reported = lost
      .output()
      .split('\n')
      .filter((line) => line.includes('the database contains no installation'))
    t.equal(
      reported.filter((line) => line.includes('PLINTH_INSTALL_STATE_LOST')).length,
      1,
      `the log says so once: ${round}`,
    )
    t.match(reported.join(''), /Restore the database.*installed\.json/, 'and how to go on')
    t.ok(existsSync(join(root, 'data/storage/install/installed.json')), 'the marker stays')
  }
  t.equal(await administrators(sqliteOf(root)), 0)
  const doctor = await command(root, ['doctor'])
  t.equal(doctor.code, 1)
  t.match(doctor.stdout, /health of install.*Restore the database/)
  const again = await command(root, ['install', '--json'], { environment: answers })
  assertMembers(t, [again.code, JSON.parse(again.stdout)], [1, { error: { reason: 'install.state-lost' } }], 'E9')

  for (const name of readdirSync(join(root, 'data')).filter((found) => found.startsWith('plinth.sqlite'))) {
    rmSync(join(root, 'data', name))
  }
  for (const name of files) renameSync(join(kept, name), join(root, 'data', name))
  const restored = await serve(t, root)
  t.equal((await fetch(`${restored.url()}/health/ready`)).status, 200)
  const login = { username: 'founder', password: secrets.administrator }
  t.equal((await restored.call('POST', '/api/v1/auth/login', login)).code, '200', 'restored, it serves again')
})

t.test('files of the product are private to its owner, whatever the umask', { timeout: 600_000 }, async (t) => {
  const root = productRoot(t)
  const body = { ...form, database: embedded }
  const looser = () =>
    readdirSync(join(root, 'data'), { recursive: true, withFileTypes: true })
      .map((entry) => ({ entry, path: join(entry.parentPath, entry.name) }))
      .filter(({ path }) => (statSync(path).mode & 0o077) !== 0)
      .map(({ path }) => path.slice(root.length + 1))
  const umask = process.umask(0)
  const first = await serve(t, root).finally(() => process.umask(umask))
  t.equal(statSync(join(root, 'data')).mode & 0o777, 0o700)
  t.same(looser(), [], 'before the installation')
  t.match((await first.call('POST', '/api/v1/install/execute', body)).data, { passed: true, locked: true })
  t.ok(existsSync(join(root, 'data/plinth.sqlite-wal')))
  t.same(looser(), [], 'after it')
  first.child.kill('SIGTERM')
  await first.ended()

  chmodSync(join(root, 'data/plinth.sqlite'), 0o644)
  const second = await serve(t, root)
  t.match((await second.call('GET', '/api/v1/install/status')).data, { installed: true })
  t.same(looser(), [], 'what was made by an earlier version is tightened')
  t.match(second.output(), /data\/plinth\.sqlite was readable by other users \(mode 0644\)/, 'and the log says so')
})

t.test('killed over HTTP, started and run again', { timeout: 600_000 }, async (t) => {
  const root = productRoot(t)
  const killAt = { call: 'appendFile', holds: '"stepCode":"administrator"', when: 'after' } as const
  const body = { ...form, database: embedded }
  const first = await serve(t, root, ['--no-supervisor'], { killAt })
  await t.rejects(first.call('POST', '/api/v1/install/execute', body))
  t.same(await first.ended(), [null, 'SIGKILL'])
  const second = await serve(t, root)
  t.match((await second.call('GET', '/api/v1/install/status')).data, { installed: false })
  const { steps } = (await second.call('GET', '/api/v1/install/steps')).data
  t.hasStrict(
    steps.find(({ code }: { code: string }) => code === 'administrator'),
    { status: 'passed' },
  )
  t.match((await second.call('POST', '/api/v1/install/execute', body)).data, { passed: true, locked: true })
  t.equal(await administrators(sqliteOf(root)), 1)
})

t.test(
  'I-204 killed after the lock was written: the next start completes the installation',
  { timeout: 600_000 },
  async (t) => {
    const root = productRoot(t)
    const killAt = { call: 'rename', holds: 'installed.json', when: 'before' } as const
    const first = await serve(t, root, ['--no-supervisor'], { killAt })
    await t.rejects(first.call('POST', '/api/v1/install/execute', { ...form, database: embedded }))
    t.same(await first.ended(), [null, 'SIGKILL'])
    const second = await serve(t, root)
    t.match((await second.call('GET', '/api/v1/install/status')).data, { installed: true, installAllowed: false })
    const found = await lookInto(sqliteOf(root), async (query) => ({
      sessions: await query('select status from install_session'),
      events: await query(`select type from outbox_event where type = 'install.execution.completed'`),
    }))
    t.same(found, { sessions: [{ status: 'passed' }], events: [{ type: 'install.execution.completed' }] })
    t.ok(existsSync(join(root, 'data/storage/install/installed.json')))
  },
)

for (const { dialect, skip } of everyDialect) {
  t.test(`I-138 two processes on one database (${dialect})`, { skip, timeout: 600_000 }, async (t) => {
    const db = await createDatabase(dialect)
    t.teardown(() => db.drop())
    const settings = Object.entries(db.config).flatMap(([key, value]) => ['--set', `${key}=${value}`])
    const products = [await serve(t, productRoot(t), settings), await serve(t, productRoot(t), settings)] as const
    const body = { ...form, database: databaseFormFor(db) }
    const calls = Array.from({ length: 8 }, (_, index) => {
      const { call } = products[index % 2] as (typeof products)[0]
      const administrator = { ...form.administrator, username: `founder${index}`, email: '', mobile: '' }
      return index < 4
        ? call('POST', '/api/v1/install/execute', { ...body, administrator })
        : call('POST', '/api/v1/install/administrator', administrator)
    })
    const answers = await Promise.all(calls)
    for (const { code, data } of answers) {
      t.ok(code === '200' || (code === '409' && data.reason === 'install.running'), JSON.stringify([code, data]))
    }
    t.equal(answers.filter(({ data }) => data.locked === true).length, 1, 'one run did it')
    t.equal(await administrators(db.config), 1, 'one administrator')
    for (const { call } of products) t.match((await call('GET', '/api/v1/install/status')).data, { installed: true })
    const locks = await lookInto(db.config, (query) =>
      query(`select version from sys_config_history where config_key = 'platform.install.installed'`),
    )
    t.equal(locks.length, 1, 'one lock')
  })
}

t.test('I-021 production without a token starts, and stays closed', { timeout: 600_000 }, async (t) => {
  const root = productRoot(t)
  const environment = { NODE_ENV: 'production' }
  const closed = await serve(t, root, [], { environment })
  t.match((await closed.call('GET', '/api/v1/install/status')).data, { installed: false, installAllowed: false })
  t.match((await closed.call('POST', '/api/v1/install/execute', { ...form, database: embedded })).data, {
    authorized: false,
  })
  t.match(closed.output(), /install token/, 'and the log says why')
  const unknown = await serve(t, productRoot(t), [], { environment: { NODE_ENV: 'Stagging' } })
  t.match((await unknown.call('GET', '/api/v1/install/status')).data, { installAllowed: false })
  t.match(unknown.output(), /"NODE_ENV":"stagging".*treated as production/, 'a value that nobody knows')
})
