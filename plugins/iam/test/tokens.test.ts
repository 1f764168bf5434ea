import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { database } from '@plinth/database'
import { manualClock } from '@plinth/dev/testing'
import { createDatabase, onDatabase, onSqlite } from '@plinth/dev/testing/database'
import { http } from '@plinth/http'
import { identity } from '@plinth/iam'
import { pino } from 'pino'
import t from 'tap'
import { adminPassword, startIam, system } from './fixtures/product.ts'

const me = '/api/v1/iam/users/me'
const users = '/api/v1/admin/iam/users'
const reasonOf = ({ code, data }: { code: string; data: { reason?: string } | null }) => `${code} ${data?.reason}`

onDatabase(t, 'a revocation takes effect on the other instance within a second', async (t, db) => {
  const clock = manualClock()
  const one = await startIam(t, db, { clock })
  const two = await startIam(t, db, { clock })
  const admin = await one.administrator()
  const roles = '/api/v1/admin/iam/roles'
  const content = { name: 'Clerk', dataScope: 'all', permissions: ['iam:user:view'] }
  const role = (await one.call('POST', roles, { token: admin, body: { code: 'clerk', ...content } })).data
  const account = await one.accounts.create({ username: 'mia', password: 'secret1', roleIds: [role.id] }, system)
  const user = `${users}/${account.id}`

  /**
   * Both instances have cached the token. The first instance makes the change. Returns the response of the second
   * instance after 900 ms.
   */
  const after = async (change: (token: string) => Promise<unknown>, url = users) => {
    const token = await one.login('mia', 'secret1')
    for (const instance of [one, two]) t.equal((await instance.call('GET', url, { token })).code, '200')
    await change(token)
    const own = await one.call('GET', url, { token }).then(reasonOf)
    await clock.advance(900)
    const other = await two.call('GET', url, { token }).then(reasonOf)
    t.equal(own, other, 'the instance that changed it knows at once')
    return other
  }
  const as = (body: object) => ({ token: admin, body })

  t.equal(await after((token) => one.call('POST', '/api/v1/auth/logout', { token })), '401 iam.token-invalid', 'logout')
  t.equal(await after(() => one.call('DELETE', `${user}/sessions`, as({}))), '401 iam.token-invalid', 'by an admin')
  t.equal(await after(() => one.call('PUT', `${user}/password`, as({ password: 'secret1' }))), '401 iam.token-invalid')
  const less = { ...content, permissions: [], version: 1 }
  t.equal(await after(() => one.call('PUT', `${roles}/${role.id}`, as(less))), '403 iam.permission-denied', 'role')
  await one.call('PUT', `${roles}/${role.id}`, as({ ...content, version: 2 }))
  await clock.advance(1000)
  t.equal(
    await after(() => one.call('PUT', user, as({ roleIds: [] }))),
    '403 iam.permission-denied',
    'roles of the user',
  )
  t.equal(await after(() => one.call('PUT', user, as({ enabled: false })), me), '401 iam.token-invalid', 'disabled')
})

onDatabase(t, 'tokens end by age, by inactivity and by their owner', async (t, db) => {
  const minute = 60_000
  const iam = await startIam(t, db, {
    config: { 'platform.iam.token.lifetime': '60m', 'platform.iam.token.idle-timeout': '10m' },
  })
  const other = await startIam(t, db, { clock: iam.clock, config: { 'platform.iam.token.idle-timeout': '10m' } })
  await iam.administrator()
  const seen = async () => {
    const rows = await iam.running
      .service(database)
      .query<{ n: unknown }>('select count(distinct last_seen_at) as n from iam_token where last_seen_at > created_at')
    return Number(rows[0]?.n)
  }
  const token = await iam.login('admin', adminPassword)
  const ask = (instance = iam, bearer = token) => instance.call('GET', me, { token: bearer }).then(reasonOf)

  await iam.clock.advance(59_999)
  await ask()
  t.equal(await seen(), 0, 'use within the first minute is not written')
  await iam.clock.advance(1)
  await Promise.all([ask(), ask(), ask()])
  t.equal(await seen(), 1)

  await ask(other)
  for (let count = 0; count < 3; count++) {
    await iam.clock.advance(8 * minute)
    t.equal(await ask(), '200 undefined', 'used in time')
  }
  t.equal(await ask(other), '200 undefined', 'an instance that did not see the use asks the database')
  await iam.clock.advance(10 * minute)
  t.equal(await ask(), '401 iam.token-expired')
  t.equal(await ask(other), '401 iam.token-expired')

  const second = await iam.login('admin', adminPassword)
  for (let count = 0; count < 7; count++) {
    t.equal(await ask(iam, second), '200 undefined')
    await iam.clock.advance(count === 6 ? 6 * minute - 1 : 9 * minute)
  }
  t.equal(await ask(iam, second), '200 undefined', 'a millisecond before the end')
  await iam.clock.advance(1)
  t.equal(await ask(iam, second), '401 iam.token-expired')

  await t.test('a user can list and end their own sessions, one or all', async (t) => {
    const [a, b, c] = [
      await iam.login('admin', adminPassword),
      await iam.login('admin', adminPassword),
      await iam.login('admin', adminPassword),
    ]
    const list = (await iam.call('GET', `${me}/sessions`, { token: c })).data
    t.equal(list.length, 3, 'ended ones are not shown')
    t.same(
      list.map(({ current }: { current: boolean }) => current),
      [true, false, false],
    )
    t.equal((await iam.call('DELETE', `${me}/sessions/${list[2].id}`, { token: c })).code, '200')
    t.equal(await ask(iam, a), '401 iam.token-invalid')
    t.same((await iam.call('DELETE', `${me}/sessions`, { token: c })).data, { affected: 1 })
    t.equal(await ask(iam, b), '401 iam.token-invalid')
    t.equal(await ask(iam, c), '200 undefined')
    const stranger = await iam.accounts.create({ username: 'stranger', password: 'secret1' }, system)
    const theirs = await iam.login('stranger', 'secret1')
    const foreign = { token: theirs }
    t.equal(await iam.call('DELETE', `${me}/sessions/${list[0].id}`, foreign).then(reasonOf), '404 iam.session-unknown')
    const [session] = (await iam.call('GET', `${users}/${stranger.id}/sessions`, { token: c })).data
    t.equal((await iam.call('DELETE', `/api/v1/admin/iam/sessions/${session.id}`, { token: c })).code, '200')
    t.equal(await ask(iam, theirs), '401 iam.token-invalid')
  })

  await t.test('a new password ends all other sessions', async (t) => {
    const [here, there] = [await iam.login('admin', adminPassword), await iam.login('admin', adminPassword)]
    const change = (currentPassword: string, newPassword: string) =>
      iam.call('PUT', `${me}/password`, { token: here, body: { currentPassword, newPassword } }).then(reasonOf)
    t.equal(await change('wrong', 'another one'), '400 iam.password-wrong')
    t.equal(await change(adminPassword, '123'), '400 iam.password-refused')
    t.equal(await change(adminPassword, 'another one'), '200 undefined')
    t.equal(await ask(iam, here), '200 undefined')
    t.equal(await ask(iam, there), '401 iam.token-invalid')
    t.match(await iam.login('admin', 'another one'), /^plinth_/)
  })

  await t.test('sessions that ended long ago are purged', async (t) => {
    await iam.clock.advance(200 * 24 * 60 * minute)
    await iam.login('admin', 'another one')
    const task = iam.running.scheduledTasks.find(({ name }) => name === 'iam.purge')
    await task?.run(new AbortController().signal)
    for (const table of ['iam_token', 'iam_login_audit']) {
      const rows = await iam.running.service(database).query<{ n: unknown }>(`select count(*) as n from ${table}`)
      t.equal(Number(rows[0]?.n), 1, table)
    }
  })
})

onSqlite(t, 'a password hash with old parameters is renewed at login', async (t, db) => {
  const iam = await startIam(t, db)
  await iam.administrator()
  const stored = async (instance = iam) => {
    const [row] = await instance.running
      .service(database)
      .query<{ hash: string }>('select password_hash as hash from iam_user where username_key = ?', ['admin'])
    return String(row?.hash)
  }
  t.match(await stored(), /^\$argon2id\$v=19\$m=1024,t=1,p=1\$/)
  const config = { 'platform.iam.password.hash.memory': '2MiB', 'platform.iam.password.hash.passes': 2 }
  const stronger = await startIam(t, db, { clock: iam.clock, config })
  await stronger.login('admin', adminPassword)
  const renewed = await stored()
  t.match(renewed, /^\$argon2id\$v=19\$m=2048,t=2,p=1\$/)
  await stronger.login('admin', adminPassword)
  t.equal(await stored(), renewed, 'once is enough')
})

t.test('no token or password is stored or shown: files, log, responses, audit', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  let log = ''
  const sink = new Writable({
    write(chunk, _encoding, done) {
      log += chunk
      done()
    },
  })
  const config = { 'platform.http.access-log': true }
  const iam = await startIam(t, db, { logger: pino({ level: 'trace' }, sink), config })
  const token = await iam.administrator()
  const secrets = ['PlantedPassword-1', 'PlantedPassword-2', adminPassword, token]
  const [first = '', second = ''] = secrets
  const answers = [
    await iam.call('POST', users, { token, body: { username: 'mia', password: first } }),
    await iam.call('POST', users, { token, body: { username: 'mia', password: first } }),
    await iam.call('POST', users, { token, body: { username: '@', password: first } }),
    await iam.call('POST', '/api/v1/auth/login', { body: { username: first, password: second } }),
    await iam.call('POST', '/api/v1/auth/login', { body: { username: 'mia', password: second } }),
    await iam.call('PUT', `${me}/password`, { token, body: { currentPassword: second, newPassword: first } }),
    await iam.call('GET', me, { token: `${token}x` }),
    await iam.call('GET', '/api/v1/admin/iam/audits', { token }),
    await iam.call('GET', '/api/v1/admin/iam/login-audits', { token }),
    await iam.call('GET', `${me}/sessions`, { token }),
  ]
  const places = {
    answers: Buffer.from(JSON.stringify(answers)),
    log: Buffer.from(log),
    database: Buffer.concat(readdirSync(db.directory).map((name) => readFileSync(join(db.directory, name)))),
    'API description': Buffer.from(JSON.stringify(await iam.running.service(http).openapi())),
  }
  t.ok(places.database.includes('argon2id'), 'the search sees what lies in the file')
  for (const [place, bytes] of Object.entries(places)) {
    for (const secret of secrets) {
      const forms = [
        secret,
        Buffer.from(secret).toString('base64').replace(/=+$/, ''),
        Buffer.from(secret).toString('hex'),
      ]
      for (const form of forms) t.notOk(bytes.includes(form), `${place} holds no ${secret.slice(0, 7)}...`)
    }
  }
})

t.test('a known token is checked without a query; without the database no login is accepted', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const iam = await startIam(t, db)
  const token = await iam.administrator()
  const service = iam.running.service(identity)
  await service.authenticate(token)
  const at = service.authenticate(token)
  t.notOk(at instanceof Promise, 'answered at once')
  t.match(at, { username: 'admin', isSuperAdmin: true })
  await iam.clock.advance(500)
  t.ok(service.authenticate(token) instanceof Promise, 'asks again after half a second')
  await iam.running.service(database).execute('drop table iam_epoch')
  await iam.clock.advance(500)
  t.equal((await iam.call('GET', me, { token })).code, '500')
})

onSqlite(t, 'a change for one user keeps the cache of all other users, on every instance', async (t, db) => {
  const clock = manualClock()
  const one = await startIam(t, db, { clock })
  const two = await startIam(t, db, { clock })
  const admin = await one.administrator()
  const roles = '/api/v1/admin/iam/roles'
  const content = { name: 'Clerk', dataScope: 'all', permissions: ['iam:user:view'] }
  const role = (await one.call('POST', roles, { token: admin, body: { code: 'clerk', ...content } })).data
  const ids = new Map<string, number>()
  for (const username of ['mia', 'noa']) {
    const account = await one.accounts.create({ username, password: 'secret1', roleIds: [role.id] }, system)
    ids.set(username, account.id)
  }
  const token = await one.login('noa', 'secret1')
  /**
   * A principal is created when token, user and roles are read. If the same object is returned again, nothing was read.
   */
  const known = async () => {
    await clock.advance(500)
    return Promise.all([one, two].map(({ running }) => running.service(identity).authenticate(token)))
  }
  let before = await known()
  const isKept = async (what: string) => {
    const after = await known()
    t.ok(
      after.every((principal, index) => principal === before[index]),
      what,
    )
  }
  const isReadAgain = async (what: string) => {
    const after = await known()
    t.notOk(
      after.some((principal, index) => principal === before[index]),
      what,
    )
    before = after
  }
  const other = `${users}/${ids.get('mia')}`
  const as = (body: object) => ({ token: admin, body })
  await isKept('nothing happened')
  for (const from of [one, two]) {
    await from.call('POST', '/api/v1/auth/logout', { token: await one.login('mia', 'secret1') })
    await isKept('a logout')
  }
  await one.login('mia', 'secret1')
  t.equal((await one.call('DELETE', `${other}/sessions`, as({}))).code, '200')
  await isKept('all sessions of somebody')
  t.equal((await two.call('PUT', other, as({ roleIds: [] }))).code, '200')
  await isKept('roles of somebody')
  t.equal((await one.call('DELETE', other, as({}))).code, '200')
  await isKept('somebody is removed')

  t.equal((await one.call('PUT', `${users}/${ids.get('noa')}`, as({ orgId: 7 }))).code, '200')
  await isReadAgain('the own organisation')
  await isKept('once')
  t.equal((await one.call('PUT', `${roles}/${role.id}`, as({ ...content, permissions: [], version: 1 }))).code, '200')
  await isReadAgain('what a role grants')

  const store = one.running.service(database)
  await store.execute('update iam_epoch set epoch = epoch + 1 where id = 1')
  await isReadAgain('a change that says nothing about whom it concerns, as an earlier version makes it')
  await isKept('once')
  await one.call('POST', '/api/v1/auth/logout', { token: await one.login('noa', 'secret1') })
  await store.execute('delete from iam_authority_change')
  await isReadAgain('changes that were purged before they were seen')
  const [row] = await store.query<{ epoch: unknown }>('select epoch from iam_epoch where id = 1')
  const first = Number(row?.epoch) + 1
  for (let id = first; id <= first + 1000; id++) {
    await store.execute('insert into iam_authority_change (id, user_id, changed_at) values (?, ?, ?)', [
      id,
      1,
      new Date(),
    ])
  }
  await store.execute('update iam_epoch set epoch = epoch + 1001 where id = 1')
  await isReadAgain('more changes than are looked at one by one')
  await isKept('once')
})

t.test('an unknown name costs one hash, like a known name', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const iam = await startIam(t, db, { config: { 'platform.iam.password.hash.memory': '32MiB' } })
  await iam.administrator()
  /** Returns the least CPU time of several calls, because other work of the process only adds to it. */
  const work = async (username: string) => {
    const samples: number[] = []
    for (let count = 0; count < 5; count++) {
      const before = process.cpuUsage()
      await iam.call('POST', '/api/v1/auth/login', { body: { username, password: 'wrong' } })
      samples.push(process.cpuUsage(before).user / 1000)
    }
    return Math.min(...samples)
  }
  const [known, unknown, malformed] = [await work('admin'), await work('nobody'), await work('\u0000')]
  t.ok(unknown > known / 2, `unknown ${unknown.toFixed(0)} ms of work, known ${known.toFixed(0)} ms`)
  t.ok(malformed > known / 2, `malformed ${malformed.toFixed(0)} ms of work`)
})

t.test('an idle product sends no statement to the database', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const clock = manualClock()
  await startIam(t, db, { clock })
  t.equal(clock.sleepers, 0)
})
