/** Tests which files an installation writes, their contents, and which values are never written. */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, rmdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { assertMembers, freePort, until } from '@plinth/dev/testing'
import { createDatabase, onDatabase, serversUnderTest } from '@plinth/dev/testing/database'
import { maskedValue } from '@plinth/kernel'
import sharedStorePlugin from '@plinth/shared-store'
import t, { type Test } from 'tap'
import { writeEnvFile } from '../src/env-file/env-file.ts'
import { publicReason } from '../src/texts.ts'
import { databaseWithPassword, type Form, type StartSettings, secrets, startInstall } from './fixtures/product.ts'

async function start(t: Test, settings: StartSettings = {}) {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const started = await startInstall(t, db, { plugins: [sharedStorePlugin], ...settings })
  const file = join(started.root, '.env')
  return { ...started, old: db, file, text: () => readFileSync(file, 'utf8') }
}
const withCache = (form: Form, cache: object = {}) => ({
  ...form,
  cache: { enabled: false, host: '', port: null, database: 0, password: '', ...cache },
})

t.test('I-118 I-119 I-120 I-121 I-125 I-128 the file', async (t) => {
  const { install, form, file, text } = await start(t)
  const before = [
    '# settings of the shop',
    'OTHER=1 # untouched',
    "export PLATFORM_I18N_DEFAULT_LOCALE='en' # language",
    '',
    'ANOTHER="two words"',
    '',
  ].join('\n')
  writeFileSync(file, before, { mode: 0o644 })
  const { code, data } = await install('config/write', {
    body: { ...form, site: { ...form.site, defaultLocale: 'zh-CN' } },
  })
  assertMembers(t, [code, data.passed, data.restartRequired], ['200', true, false])
  t.equal(text(), before.replace("'en'", 'zh-CN'), 'one value is replaced where it stands')
  t.equal(statSync(file).mode & 0o777, 0o600, 'I-128')
  t.match(
    data.entries.find(({ propertyKey }: { propertyKey: string }) => propertyKey === 'platform.i18n.default-locale'),
    { target: '.env', maskedValue: 'zh-CN' },
  )
})

t.test('I-123 I-124 I-126 I-127 the database configuration', async (t) => {
  const { install, look, form, centre, accounts, file, db } = await start(t)
  const { data } = await install('config/write', { body: form })
  t.match(data, { authorized: true, passed: true, restartRequired: false })
  const stored = (await centre.list('@stored')).map(({ key, stored }) => [key, stored?.value])
  t.same(Object.fromEntries(stored), {
    'platform.iam.fresh-proof.enabled': true,
    'platform.site.name': 'Acme',
    'platform.site.title': 'Acme shop',
    'platform.site.url': 'https://shop.example.com',
    'platform.site.time-zone': 'Asia/Shanghai',
  })
  t.notOk(existsSync(file), 'nothing changed that belongs into the file')
  t.equal(await accounts.hasUsers(), false, 'I-127')
  t.match((await look('status')).data, { installed: false }, 'I-127')
  const dump = JSON.stringify([
    await db.query('select * from sys_config'),
    await db.query('select * from sys_config_history'),
    await db.query('select * from install_audit'),
    await db.query('select * from install_record'),
    data,
  ])
  t.notMatch(dump, secrets.administrator, 'I-126')
})

t.test('I-122 I-129 an error at any step writes nothing', async (t) => {
  const { install, form, centre, file } = await start(t)
  const server = { type: 'postgresql', host: 'db', port: 5432, database: 'shop', username: 'shop' }
  for (const password of ['a\nPLATFORM_HTTP_HOST=0.0.0.0', 'a\r\nB=c', 'a\u0000']) {
    const { data } = await install('config/write', { body: { ...form, database: { ...server, password } } })
    assertMembers(t, data, { passed: false, entries: [] })
    t.match((await install('execute', { body: { ...form, database: { ...server, password } } })).data, {
      passed: false,
    })
  }
  await install('config/write', { body: { ...form, administrator: { ...form.administrator, confirmPassword: 'x' } } })
  t.notOk(existsSync(file))
  t.equal(centre.version, 0)
})

t.test('I-121 passwords of every kind survive a restart', async (t) => {
  const passwords = ['two words', 'a#b', '$HOME', 'say "hi"', "it's", 'back\\slash', '中文 密码', 'a=b;c&d', ' blank ']
  for (const password of passwords) {
    const { install, form, file, text } = await start(t)
    const cache = { enabled: true, host: '127.0.0.1', port: 6379, password }
    // The local Redis has no password, so the planned values are checked without connecting to it.
    const planned = await install('config/plan', { body: withCache(form, cache) })
    t.match(planned.data, { passed: true, restartRequired: true }, password)
    await writeEnvFile(file, { PLATFORM_CACHE_PASSWORD: password }, { allowed: ['PLATFORM_CACHE_PASSWORD'] })
    t.equal(parseEnv(text())['PLATFORM_CACHE_PASSWORD'], password)
  }
})

for (const { dialect, skip } of serversUnderTest) {
  t.test(`I-125 I-135 I-148 D23 another database: sqlite to ${dialect}`, { skip }, async (t) => {
    const target = await databaseWithPassword(t, dialect, secrets.database)
    const { install, look, form, accounts, text, running, db, centre, old } = await start(t)
    const body = { ...form, database: target }
    const planned = (await install('config/plan', { body })).data
    t.match(planned, { passed: true, restartRequired: true }, 'I-135')
    const { data } = await install('execute', { body })
    t.match(data, {
      passed: true,
      configWritten: true,
      restartRequired: true,
      administratorReady: false,
      locked: false,
      message: /start the installation again/,
    })
    t.hasStrict(data.records.at(-1), { stepCode: 'config-write', status: 'passed' }, 'it stops before the migration')
    t.match(text(), `PLATFORM_DATABASE_PASSWORD=${secrets.database}\n`, 'I-125')
    t.match(text(), `PLATFORM_DATABASE_TYPE=${dialect}\n`, 'told by the server itself')
    t.notMatch(JSON.stringify([data, planned]), secrets.database, 'I-125')
    assertMembers(
      t,
      await db.query('select count(*) as tables from sqlite_master'),
      [{ tables: Number }],
      'I-148 it never turns to another database',
    )
    t.equal(running.config.explain('platform.database.type')?.effective.value, 'sqlite')
    t.equal(await accounts.hasUsers(), false)
    t.equal(centre.version, 0, 'nothing is made in the old database')
    t.match((await look('status')).data, { installed: false, installAllowed: true })

    await running.stopped
    t.pass('it asks for a restart once it has answered')

    const again = await startInstall(t, old, { plugins: [sharedStorePlugin] })
    const back = (await again.execute()).data
    t.match(back, { passed: true, restartRequired: false, locked: true }, 'who thinks better of it stays')
    t.match(text(), 'PLATFORM_DATABASE_TYPE=sqlite\n', 'also after the next start')
  })
}

t.test('I-129 a connection that fails writes nothing', async (t) => {
  const { install, form, execute, file, accounts } = await start(t)
  const server = {
    type: 'postgresql',
    host: '127.0.0.1',
    port: 1,
    database: 'shop',
    username: 'shop',
    password: secrets.database,
  }
  const body = { ...form, database: server }
  const written = (await install('config/write', { body })).data
  t.match(written, { passed: false })
  const reported =
    /No database server of that type responds at 127\.0\.0\.1:1\/shop\. Nothing was written\. Start the server/
  t.match(written.checks.at(-1), {
    code: /^config-write$/,
    status: /^failed$/,
    field: 'database.host',
    message: reported,
  })
  const { data } = await install('execute', { body })
  t.match(data, { passed: false, configWritten: false, restartRequired: false, failedField: 'database.host' })
  t.match(data.records.at(-1), { stepCode: 'config-write', status: /^failed$/, message: reported })
  t.notMatch(JSON.stringify([written, data]), secrets.database)
  t.notOk(existsSync(file))
  t.equal(await accounts.hasUsers(), false)
  t.match((await execute()).data, { passed: true, locked: true }, 'the next try ends installed')
})

for (const { dialect, skip } of serversUnderTest) {
  t.test(`I-129 an error of a ${dialect} server is shown at the field, in one language`, { skip }, async (t) => {
    const target = await databaseWithPassword(t, dialect, secrets.database)
    const { install, form, file } = await start(t)
    const attempt = async (change: object, locale: string) => {
      const body = { ...form, database: { ...target, ...change } }
      const { data } = await install('execute', { body, headers: { 'accept-language': locale } })
      return { field: data.failedField, message: data.records.at(-1).message as string }
    }
    // A server that trusts its own host accepts any password, but only for known users.
    const stranger = await attempt({ username: 'nobody_here', password: 'wrong' }, 'zh-CN')
    t.equal(stranger.field, 'database.password')
    t.match(stranger.message, /拒绝了该用户或密码，未写入任何内容。请更正/)
    t.notMatch(stranger.message, /refuses|Nothing/, 'one language')
    const elsewhere = await attempt({ database: 'no_such_shop' }, 'en')
    // MariaDB does not reveal to a user without permissions whether a database exists.
    const field = dialect === 'postgresql' ? 'database.database' : /^database\.(?:database|password)$/
    t.match(elsewhere.field, field)
    t.match(elsewhere.message, /Nothing was written\. [A-Z][^:;]*\.$/)
    t.notOk(existsSync(file))
  })
}

t.test('the embedded database under another name', async (t) => {
  const { install, form, text } = await start(t)
  const { data } = await install('execute', { body: { ...form, database: { type: 'sqlite', database: 'other' } } })
  t.match(data, { passed: true, restartRequired: true })
  t.match(text(), /PLATFORM_DATABASE_SQLITE_FILE=.*other\.sqlite\n/)
})

t.test('a file that cannot be written stops the run, and the next run completes the installation', async (t) => {
  const { install, execute, form, root, accounts } = await start(t)
  // A directory in place of the file makes the write fail, even for the user root.
  mkdirSync(join(root, '.env'))
  const body = { ...form, site: { ...form.site, defaultLocale: 'zh-CN' } }
  const failed = (await install('execute', { body })).data
  t.match(failed, { passed: false, administratorReady: false, locked: false })
  t.equal(await accounts.hasUsers(), false)
  rmdirSync(join(root, '.env'))
  t.match((await install(`sessions/${failed.sessionId}/retry`, { body })).data, { passed: true, locked: true })
  t.equal((await accounts.findByRole('super-admin')).length, 1)
  t.equal((await execute()).data.authorized, false)
})

t.test('a product that returns with the old connection reports it', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const settings = { plugins: [sharedStorePlugin] }
  const first = await startInstall(t, db, settings)
  const body = { ...first.form, database: { type: 'h2', database: 'other' } }
  t.match((await first.install('execute', { body })).data, { passed: true, restartRequired: true })
  await first.running.stopped
  // With this change of the file, the running process looks like one that was started later.
  const note = join(first.root, 'data/storage/install/restart.json')
  writeFileSync(note, JSON.stringify({ by: 'an earlier start' }))
  const second = await startInstall(t, db, settings)
  const { data } = await second.install('execute', { body })
  t.match(data, { passed: false, restartRequired: false })
  t.match(data.records.at(-1).message, /still runs on the old connection.*platform\.database\.sqlite\.file/)
})

onDatabase(t, 'E40 a stored secret is kept if its server stays the same', async (t, db) => {
  if (db.dialect === 'sqlite') return
  const { install, form } = await startInstall(t, db)
  for (const password of ['', maskedValue]) {
    const { data } = await install('config/plan', { body: { ...form, database: { ...form.database, password } } })
    t.match(data, { passed: true, restartRequired: false }, JSON.stringify(password))
  }
})

t.test('an error message contains no directory of the server', async (t) => {
  const file = Object.assign(new Error(`EACCES: permission denied, open '/srv/shop/.env'`), {
    code: 'EACCES',
    path: '/srv/shop/.env',
  })
  t.equal(publicReason(file), 'EACCES')
  t.equal(
    publicReason(new Error('The SQLite file /srv/shop data/x.sqlite cannot be used.')),
    'The SQLite file shop data/x.sqlite cannot be used.',
  )
  t.equal(
    publicReason(new Error('The SQLite file /srv/shop/data/x.sqlite cannot be used.')),
    'The SQLite file x.sqlite cannot be used.',
  )
  t.equal(publicReason(new Error('C:\\shop\\data\\x.sqlite is locked')), 'x.sqlite is locked')
  t.equal(
    publicReason(new Error('Redis at 127.0.0.1:6379 and db:5432/shop')),
    'Redis at 127.0.0.1:6379 and db:5432/shop',
  )
  t.equal([...publicReason(new Error('理'.repeat(900)))].length, 500)
  t.equal(publicReason(undefined), 'undefined')
})

t.test('E34 a path that is not a file is rejected by writing and by executing, and nobody waits for it', async (t) => {
  const { install, execute, form, file, root } = await start(t)
  const body = { ...form, site: { ...form.site, defaultLocale: 'zh-CN' } }
  const kinds: [string, () => void][] = [
    ['a pipe', () => execFileSync('mkfifo', [file])],
    ['a device', () => symlinkSync('/dev/zero', file)],
    ['a link that leads nowhere', () => symlinkSync('nowhere', file)],
  ]
  for (const [kind, make] of kinds) {
    make()
    const written = await install('config/write', { body })
    const failed = written.data.checks.find(({ status }: { status: string }) => status === 'failed')
    assertMembers(t, [written.data.passed, failed], [false, { message: /\.env cannot be written/ }], kind)
    t.match((await execute({ body })).data, { passed: false, configWritten: false, locked: false }, kind)
    t.notOk(existsSync(join(root, 'nowhere')), kind)
    rmSync(file)
  }
  execFileSync('mkfifo', [join(root, 'pipe')])
  rmSync(join(root, '.env.example'))
  symlinkSync('pipe', join(root, '.env.example'))
  t.equal((await install('config/plan', { body })).code, '200', 'the example file is looked at in the same way')
})

/** Starts a server that accepts connections and sends nothing. */
async function silentServer(t: Test) {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => sockets.add(socket.on('error', () => {})))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = () => {
    for (const socket of sockets) socket.destroy()
    server.close()
  }
  t.teardown(close)
  return { port: (server.address() as AddressInfo).port, close }
}

for (const { dialect, skip } of serversUnderTest) {
  t.test('a caller without the token cannot explore the network with the connection test', { skip }, async (t) => {
    const target = await databaseWithPassword(t, dialect, secrets.database)
    const { install, form, clock } = await start(t)
    const silent = await silentServer(t)
    const stranger = { remoteAddress: '192.168.1.9' }
    const ask = (database: object, options: object) =>
      install('config/write', { body: { ...form, database: { ...target, ...database } }, ...options })
    const places = [
      { port: await freePort() },
      { port: silent.port },
      { username: 'nobody_here' },
      { database: 'no_such' },
    ]
    const reported: unknown[] = []
    for (const place of places) {
      const begin = clock.monotonic()
      let isOver = false
      const response = ask(place, stranger).finally(() => {
        isOver = true
      })
      await until(
        async () => {
          await clock.advance(100)
          return isOver
        },
        'the check ends',
        0,
      )
      const { data } = await response
      const failed = data.checks.filter(({ status }: { status: string }) => status === 'failed')
      t.ok(clock.monotonic() - begin >= 10_000, 'all take as long')
      assertMembers(t, failed, [{ field: 'database.type', message: /could not be used/ }])
      reported.push(failed[0].message.replace(/ to \S+ /, ' to PLACE '))
    }
    t.equal(new Set(reported).size, 1, 'and say the same')
    silent.close()
    const operator = await ask({ username: 'nobody_here' }, {})
    t.hasStrict(
      operator.data.checks.at(-1),
      { status: 'failed', field: 'database.password' },
      'a caller on the same machine sees the reason',
    )
  })

  t.test('failing connection tests delay nobody', { skip }, async (t) => {
    const target = await databaseWithPassword(t, dialect, secrets.database)
    const { install, form, clock } = await start(t)
    const silent = await silentServer(t)
    const body = { ...form, database: { ...target, host: '127.0.0.1', port: silent.port } }
    const open = Array.from({ length: 10 }, () => install('config/write', { body }))
    const rejected: unknown[] = []
    for (const response of open) void response.then(({ code, data }) => rejected.push([code, data?.reason]))
    await until(() => rejected.length >= 6, 'the calls are refused', 0)
    t.same(rejected, Array(6).fill(['429', 'install.probe-busy']), 'four are tried, the others are told at once')
    t.match((await install('config/write', { body: form })).data, { passed: true }, 'others write meanwhile')
    t.match((await install('administrator', { body: form.administrator })).data, { created: true })
    await clock.advance(10_000)
    const answers = (await Promise.all(open)).filter(({ code }) => code === '200')
    t.equal(answers.length, 4)
    for (const { data } of answers) t.equal(data.passed, false)
  })
}
