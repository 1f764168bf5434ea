/** Tests the life of API tokens: how they are made, checked, used and ended. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { database } from '@plinth/database'
import { applyLiveValues, assertMembers, manualClock, throwsWith } from '@plinth/dev/testing'
import { createDatabase, onDatabase, watchStatements } from '@plinth/dev/testing/database'
import eventsPlugin, { events } from '@plinth/events'
import { identity } from '@plinth/iam'
import mailPlugin from '@plinth/mail'
import { pino } from 'pino'
import t from 'tap'
import { isApiTokenShaped, newApiToken } from '../src/api-tokens/token-format.ts'
import { isTokenShaped, newAccessToken } from '../src/sessions/sessions.ts'
import {
  createOwner,
  createToken,
  day,
  type Iam,
  me,
  ownTokens,
  reasonOf,
  requestToken,
  rowsOf,
  unknownToken,
  users,
} from './fixtures/api-tokens.ts'
import { adminPassword, startIam } from './fixtures/product.ts'

const maxLifetime = 'platform.iam.api-token.max-lifetime'
const runTask = (iam: Iam, name: string) =>
  iam.running.scheduledTasks.find((task) => task.name === name)?.run(new AbortController().signal)

t.test('a token has a form that scanners recognise and a checksum', (t) => {
  const tokens = Array.from({ length: 500 }, newApiToken)
  t.equal(new Set(tokens).size, tokens.length)
  for (const token of tokens) {
    t.match(token, /^plinthpat_[0-9A-Za-z]{36}$/)
    t.ok(isApiTokenShaped(token))
    t.notOk(isTokenShaped(token), 'it is not a session token')
  }
  const [token = ''] = tokens
  const session = newAccessToken()
  const other = (at: number) => `${token.slice(0, at)}${token[at] === 'a' ? 'b' : 'a'}${token.slice(at + 1)}`
  for (const wrong of [other(12), other(45), token.slice(0, -1), `${token}a`, token.toLowerCase(), ` ${token}`, ''])
    t.notOk(isApiTokenShaped(wrong), JSON.stringify(wrong))
  const guide = readFileSync(join(import.meta.dirname, '../../../docs/how-to/api-tokens.md'), 'utf8')
  const scanned = new RegExp(/\| any \| `(.+)` \|/.exec(guide)?.[1] ?? '')
  for (const text of [`token=${token}`, `"${token}"`, `${token}.`]) t.match(text, scanned, 'the pattern of the guide')
  for (const text of [`${token}x`, `x${token}`, session]) t.notMatch(text, scanned)
  // The same checksum as the published format: CRC-32 of the random part in base62, padded with zeros.
  t.ok(isApiTokenShaped('plinthpat_zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq17'), 'the example of GitHub')
  t.end()
})

onDatabase(t, 'a token is shown once, stored as a hash, and works in the Authorization header only', async (t, db) => {
  const iam = await startIam(t, db)
  await iam.administrator()
  const { session, user } = await createOwner(iam, 'mia', { permissions: ['iam:user:view'] })
  const created = await requestToken(iam, session, { name: 'nightly', permissions: ['iam:user:view'] })
  t.equal(created.headers['cache-control'], 'no-store')
  assertMembers(t, created.data, {
    name: 'nightly',
    dataScope: 'self',
    permissions: ['iam:user:view'],
    lastUsedAt: null,
  })
  const { token } = created.data
  t.equal(created.data.firstCharacters, token.slice(10, 14))
  const list = await iam.call('GET', ownTokens, { token: session })
  const { token: _, ...facts } = created.data
  t.strictSame(list.data, [facts], 'without the token')
  t.notMatch(JSON.stringify(await rowsOf(iam)), token.slice(14), 'the table does not contain it')

  assertMembers(t, (await iam.call('GET', me, { token })).data, { id: user.id, permissions: ['iam:user:view'] })
  const inject = async (headers: Record<string, string>, query = '', method: 'GET' | 'POST' = 'GET') =>
    reasonOf((await iam.server.inject({ method, url: `${users}${query}`, headers })).json())
  t.equal(await inject({ authorization: `bearer ${token}` }), '200')
  t.equal(await inject({ authorization: `Basic ${token}` }), '401 iam.token-missing')
  t.equal(await inject({ cookie: `plinth-session=${token}` }), '401 iam.api-token-misplaced', 'not in a cookie')
  for (const name of ['token', 'access_token', 'apiToken'])
    t.match(await inject({}, `?${name}=${token}`), /^401 /, 'not in the query')
  const both = { authorization: `Bearer ${token}`, cookie: `a=b; plinth-session=${session}` }
  t.equal(await inject(both), '401 iam.api-token-with-cookie')
  t.equal(await inject({ ...both, cookie: 'theme=dark' }), '200', 'another cookie is no credential')
  const foreignPage = {
    authorization: `Bearer ${token}`,
    origin: 'https://elsewhere.example',
    'sec-fetch-site': 'cross-site',
  }
  t.equal(await inject(foreignPage, '', 'POST'), '403 iam.permission-denied', 'a token needs no Origin of this site')
  const check = (text: string) => iam.running.service(identity).authenticate(text)
  throwsWith(t, () => check(token), { code: '401', reason: 'iam.api-token-misplaced' })
})

t.test('a mistyped token is rejected without a query', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const iam = await startIam(t, db)
  const root = await iam.administrator()
  const token = await createToken(iam, root)
  const store = iam.running.service(database)
  const watched = ['iam_api_token', 'iam_token', 'iam_epoch'].map((table) => watchStatements(store, table))
  const asked = async (bearer: string) => {
    await iam.clock.advance(1000)
    for (const one of watched) one.clear()
    const reason = reasonOf(await iam.call('GET', me, { token: bearer }))
    return { reason, statements: watched.reduce((sum, { statements }) => sum + statements.size, 0) }
  }
  const last = token.at(-1) === '0' ? '1' : '0'
  for (const wrong of [`${token.slice(0, -1)}${last}`, `${token}x`, token.slice(0, 20), 'plinthpat_'])
    t.same(await asked(wrong), { reason: '401 iam.api-token-invalid', statements: 0 })
  const unknown = await asked(unknownToken())
  t.equal(unknown.reason, '401 iam.api-token-invalid')
  t.ok(unknown.statements > 0, 'the watch sees a query')
})

onDatabase(t, 'the last use is written at most once a minute by each instance', async (t, db) => {
  const clock = manualClock()
  const one = await startIam(t, db, { clock })
  const two = await startIam(t, db, { clock })
  await one.administrator()
  const { session } = await createOwner(one, 'mia')
  const token = await createToken(one, session)
  let writes = 0
  const count = (iam: Iam) => {
    const store = iam.running.service(database)
    const execute = store.execute.bind(store)
    const value: typeof execute = (sql, parameters) => {
      if (sql.includes('last_used_at = ?')) writes++
      return execute(sql, parameters)
    }
    Object.defineProperty(store, 'execute', { value })
  }
  for (const iam of [one, two]) count(iam)
  const ask = (iam: Iam, from = '192.0.2.7') => iam.call('GET', me, { token, from })
  for (let request = 0; request < 1000; request++) {
    t.equal((await ask(request % 2 === 0 ? one : two)).code, '200')
    await clock.advance(59)
  }
  t.equal(writes, 1, '1000 requests in a minute: the second instance reads the use that the first one has written')
  const [row] = await rowsOf(one)
  t.equal(row?.['last_used_network'], '192.0.2.7')
  await clock.advance(60_000)
  await Promise.all(Array.from({ length: 20 }, () => ask(one, '2001:db8:1:2:3::4')))
  t.equal(writes, 2, 'parallel requests write once')
  const [{ lastUsedAt, lastUsedNetwork }] = (await one.call('GET', ownTokens, { token: session })).data
  t.equal(lastUsedAt, new Date(clock.now()).toISOString())
  t.match(lastUsedNetwork, /^2001:db8:1:2/, 'the network of an IPv6 client, not its address')
})

onDatabase(t, 'a token ends, and a shorter maximum lifetime ends it earlier at once', async (t, db) => {
  const iam = await startIam(t, db)
  await iam.administrator()
  const { session } = await createOwner(iam, 'mia')
  const create = (days: number) => requestToken(iam, session, { days }).then(reasonOf)
  for (const days of [0, -1, 90.001, 4000]) t.equal(await create(days), '400 iam.api-token-end-invalid', `${days} days`)
  t.equal(await create(90), '200')
  const withoutEnd = await iam.call('POST', ownTokens, { token: session, body: { name: 'endless' } })
  t.equal(reasonOf(withoutEnd), '400 http.invalid-input', 'the end is mandatory')
  const [short, long] = [await createToken(iam, session, { days: 2 }), await createToken(iam, session, { days: 60 })]
  const ask = (token: string) => iam.call('GET', me, { token }).then(reasonOf)
  t.same([await ask(short), await ask(long)], ['200', '200'])
  await iam.clock.advance(2 * day - 1)
  t.equal(await ask(short), '200', 'a millisecond before the end')
  await iam.clock.advance(1)
  t.equal(await ask(short), '401 iam.api-token-expired')
  t.equal(await ask(long), '200')
  await applyLiveValues(iam.running, { [maxLifetime]: '2d' })
  t.equal(await ask(long), '401 iam.api-token-expired', 'without waiting for the cache')
  const fresh = await iam.login('mia', 'secret1')
  t.same((await iam.call('GET', ownTokens, { token: fresh })).data, [])
  await applyLiveValues(iam.running, { [maxLifetime]: '5d' })
  t.equal(await ask(long), '200', 'the maximum that applies now decides')
  const listed = (await iam.call('GET', ownTokens, { token: fresh })).data
  t.same(
    listed.map(
      ({ expiresAt, createdAt }: Record<string, string>) => Date.parse(expiresAt ?? '') - Date.parse(createdAt ?? ''),
    ),
    [5 * day, 5 * day],
    'the list shows the end that applies',
  )
})

onDatabase(t, 'the number of active tokens is limited, also for parallel requests on two instances', async (t, db) => {
  const config = { 'platform.iam.api-token.max-per-user': 3 }
  const clock = manualClock()
  const one = await startIam(t, db, { clock, config })
  const two = await startIam(t, db, { clock, config })
  await one.administrator()
  const { session } = await createOwner(one, 'mia')
  const results = await Promise.all(
    Array.from({ length: 8 }, (_, at) => requestToken(at % 2 === 0 ? one : two, session, { days: at < 4 ? 1 : 2 })),
  )
  const codes = results.map(reasonOf).sort()
  t.same(codes, ['200', '200', '200', ...Array(5).fill('409 iam.api-token-limit')])
  const list = (await one.call('GET', ownTokens, { token: session })).data
  t.equal(list.length, 3)
  await one.call('DELETE', `${ownTokens}/${list[0].id}`, { token: session })
  t.equal((await requestToken(two, session)).code, '200', 'a revoked token does not count')
  await clock.advance(2 * day)
  const later = await one.login('mia', 'secret1')
  t.equal((await requestToken(one, later)).code, '200', 'nor an ended one')
  await applyLiveValues(one.running, { 'platform.iam.api-token.max-per-user': 0 })
  t.equal(reasonOf(await requestToken(one, later)), '409 iam.api-token-limit', '0: nobody creates tokens')
})

onDatabase(t, 'owners are notified once, a week before the end', async (t, db) => {
  const mails = join(db.directory, 'mails')
  const config = {
    'platform.mail.driver': 'file',
    'platform.mail.file.directory': mails,
    'platform.mail.from': 'shop@example.org',
  }
  const clock = manualClock()
  const plugins = [eventsPlugin, mailPlugin]
  const one = await startIam(t, db, { clock, config, plugins })
  const two = await startIam(t, db, { clock, config, plugins })
  await one.administrator()
  const { session } = await createOwner(one, 'mia')
  await createToken(one, session, { name: 'week', days: 7 })
  await createToken(one, session, { name: 'month', days: 30 })
  await createToken(one, session, { name: 'quarter', days: 90 })
  const revoked = await requestToken(one, session, { name: 'revoked' })
  await one.call('DELETE', `${ownTokens}/${revoked.data.id}`, { token: session })
  const sent = () => {
    const files = readdirSync(db.directory).includes('mails') ? readdirSync(mails) : []
    return files.map((file) => {
      const [head = '', body = ''] = readFileSync(join(mails, file), 'utf8').split('\r\n\r\n')
      return `${/^To: .*$/im.exec(head)?.[0]} ${Buffer.from(body, 'base64')}`
    })
  }
  const notify = async () => {
    await Promise.all([one, two].map((iam) => runTask(iam, 'iam.api-token-notice')))
    for (const iam of [one, two]) await iam.running.service(events).idle()
    return sent()
  }
  clock.shiftWallClock(23 * day - 1000)
  t.same(await notify(), [], 'not yet; the owner has just chosen the end of the shorter token')
  clock.shiftWallClock(1000)
  const [mail = '', ...more] = await notify()
  t.same(more, [], 'one mail, of two instances')
  t.match(mail, /^To: mia@example\.org The API token "month" of the account mia ends on 2026-01-31 \(UTC\)\./)
  clock.shiftWallClock(day)
  t.equal((await notify()).length, 1, 'never again')
  for (const iam of [one, two]) await applyLiveValues(iam.running, { [maxLifetime]: '30d' })
  t.equal((await notify()).length, 2, 'a shorter maximum lifetime ends the third token soon, too')
})

t.test('without events or mail, the log says that an owner was not notified', async (t) => {
  for (const plugins of [[], [eventsPlugin]]) {
    const db = await createDatabase('sqlite')
    t.teardown(() => db.drop())
    let log = ''
    const sink = new Writable({
      write(chunk, _encoding, done) {
        log += chunk
        done()
      },
    })
    const iam = await startIam(t, db, { plugins, logger: pino({ level: 'warn' }, sink) })
    await iam.administrator()
    const { session } = await createOwner(iam, 'mia')
    await createToken(iam, session, { days: 20 })
    iam.clock.shiftWallClock(14 * day)
    for (let run = 0; run < 2; run++) {
      await runTask(iam, 'iam.api-token-notice')
      if (plugins.length > 0) await iam.running.service(events).idle()
    }
    t.equal(log.split('an API token ends soon').length - 1, 1, log)
  }
})

onDatabase(t, 'ended tokens are purged, and tokens of an erased user removed', async (t, db) => {
  const iam = await startIam(t, db)
  await iam.administrator()
  const { session, user } = await createOwner(iam, 'mia')
  await createToken(iam, session, { name: 'short', days: 1 })
  await createToken(iam, session, { name: 'long', days: 80 })
  const revoked = (await requestToken(iam, session, { name: 'revoked', days: 80 })).data
  await iam.call('DELETE', `${ownTokens}/${revoked.id}`, { token: session })
  const names = async () => (await rowsOf(iam)).map(({ name }) => name).sort()
  await runTask(iam, 'iam.purge')
  t.same(await names(), ['long', 'revoked', 'short'], 'kept for a day after the end')
  iam.clock.shiftWallClock(2 * day + 1000)
  await runTask(iam, 'iam.purge')
  t.same(await names(), ['long'])

  const admin = await iam.login('admin', adminPassword)
  const personal = `${users}/${user.id}/personal-data`
  const tables: { table: string; rows: number }[] = (await iam.call('GET', personal, { token: admin })).data
  t.match(
    tables.find(({ table }) => table === 'iam_api_token'),
    { rows: 1, erasure: 'removed' },
  )
  const headers = { authorization: `Bearer ${admin}` }
  const file = await iam.server.inject({ method: 'GET', url: `${personal}/file`, headers })
  const exported = file.json().tables.find(({ table }: { table: string }) => table === 'iam_api_token')
  assertMembers(t, exported.rows, [{ name: 'long' }])
  t.notOk('tokenHash' in exported.rows[0], 'the export has no hash')
  const body = { username: 'mia' }
  t.equal((await iam.call('POST', `${users}/${user.id}/erasure`, { token: admin, body })).code, '200')
  t.same(await names(), [])
})

t.test('no token is in the log, the audit or another response', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  let log = ''
  const sink = new Writable({
    write(chunk, _encoding, done) {
      log += chunk
      done()
    },
  })
  const iam = await startIam(t, db, {
    logger: pino({ level: 'trace' }, sink),
    config: { 'platform.http.access-log': true },
  })
  const root = await iam.administrator()
  const token = await createToken(iam, root, { permissions: ['iam:audit:view'], dataScope: 'all' })
  const responses = [
    await iam.call('GET', ownTokens, { token: root }),
    await iam.call('GET', '/api/v1/admin/iam/audits', { token }),
    await iam.call('GET', me, { token: `${token}x` }),
    await iam.call('GET', me, { token }),
  ]
  const files = Buffer.concat(readdirSync(db.directory).map((name) => readFileSync(join(db.directory, name))))
  const secret = token.slice(14)
  t.notMatch(JSON.stringify(responses), secret)
  t.notMatch(log, secret)
  t.notOk(files.includes(secret))
})
