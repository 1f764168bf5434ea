import { Writable } from 'node:stream'
import { database } from '@plinth/database'
import { createDatabase, onDatabase, type TestDatabase } from '@plinth/dev/testing/database'
import { createRedisNamespace, skipRedis } from '@plinth/dev/testing/shared-store'
import { http, rateLimited } from '@plinth/http'
import { definePlugin, type JsonValue, rateLimitStore } from '@plinth/kernel'
import { upgradeSteps } from '@plinth/kernel/host'
import rateLimitPlugin from '@plinth/rate-limit'
import memoryStore from '@plinth/rate-limit-stores/memory'
import sharedWindow from '@plinth/rate-limit-stores/shared-window'
import sharedStorePlugin from '@plinth/shared-store'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { Type } from 'typebox'
import { iamError } from '../src/declarations.ts'
import { startIam, system } from './fixtures/product.ts'

type Config = Readonly<Record<string, JsonValue>>

const root = 'platform.iam.auth.login.rate-limit'
const shared = [rateLimitPlugin, sharedStorePlugin, sharedWindow]
const inMemory = [rateLimitPlugin, memoryStore]

/** Returns a function that attempts to log in, by default with a wrong password, and returns the response code. */
const attemptsOn =
  (iam: Awaited<ReturnType<typeof startIam>>) =>
  async (username: string, from: string, password = 'wrong') =>
    (await iam.call('POST', '/api/v1/auth/login', { body: { username, password }, from })).code

/** Runs case 41 of the required test cases on two instances that share a quota. */
async function twoInstances(t: Test, db: TestDatabase, driver: Config, dump: (running: Running) => Promise<string>) {
  const config = {
    'platform.rate-limit.default-store': 'shared-window',
    // Database servers use their own clocks, so the windows are long: none may end during the test on a slow host.
    [`${root}.password.identifier-window`]: '1h',
    [`${root}.password.ip-window`]: '1h',
    ...driver,
  }
  const one = await startIam(t, db, { plugins: shared, config })
  const two = await startIam(t, db, { plugins: shared, config, clock: one.clock })
  const instances = [attemptsOn(one), attemptsOn(two)]
  const attempt = (index: number, ...args: Parameters<(typeof instances)[number]>) => instances[index % 2]?.(...args)
  await one.administrator()

  const spellings = ['someone', ' someone', 'Someone ', 'SOMEONE', 'someone', 'ｓomeone']
  const perAccount = []
  for (const [index, name] of spellings.entries()) perAccount.push(await attempt(index, name, `203.0.113.${index}`))
  t.same(perAccount, ['401', '401', '401', '401', '401', '429'], 'R-073 R-077 R-104 one account, six addresses')
  const perAddress = []
  for (let index = 0; index < 21; index++) perAddress.push(await attempt(index, `account-${index}`, '198.51.100.7'))
  t.same(perAddress, [...Array(20).fill('401'), '429'], 'R-074 R-104 one address, 21 accounts')
  t.equal(await attempt(0, 'someone-else', '198.51.100.8'), '401', 'nobody else is concerned')

  const stored = await dump(one.running)
  t.match(stored, /rate-limit:iam:auth:login:password:account:[0-9a-f]{64}/, 'R-076')
  t.match(stored, /rate-limit:iam:auth:login:password:ip:[0-9a-f]{64}/, 'R-076')
  for (const [key] of stored.matchAll(/rate-limit:[a-z0-9:-]+/g)) t.match(key, /^rate-limit:iam:auth:login:/, 'R-076')
  for (const clear of ['someone', 'account-', '198.51.100', '203.0.113']) t.notMatch(stored, clear, 'R-076 R-102')
  return one
}

type Running = Awaited<ReturnType<typeof startIam>>['running']

onDatabase(
  t,
  'R-073 R-074 R-076 R-077 R-102 R-104 all instances limit logins together through the database',
  async (t, db) => {
    await twoInstances(t, db, {}, async (running) => {
      const rows = await running.service(database).query('select name, variant, content from shared_store_entry')
      return JSON.stringify(rows)
    })
  },
)

t.test('R-073 R-074 R-076 R-104 all instances limit logins together through Redis', { skip: skipRedis }, async (t) => {
  const db = await createDatabase('sqlite')
  const redis = createRedisNamespace()
  t.teardown(() => redis.drop())
  t.teardown(() => db.drop())
  await twoInstances(t, db, redis.config, async () => (await redis.keys()).join('\n'))
})

t.test('R-065 R-075 R-101 a rejection, its audit, its end, and the switches', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const iam = await startIam(t, db, { plugins: inMemory })
  const token = await iam.administrator()
  await iam.accounts.create({ username: 'mia', password: 'secret1' }, system)
  const attempt = attemptsOn(iam)
  const stored = new Map<string, JsonValue>()
  const set = async (key: string, value: JsonValue) => {
    stored.set(`${root}.${key}`, value)
    const rows = [...stored].map(([name, written]) => ({ name, by: 'key' as const, written, place: name }))
    t.same((await iam.running.config.apply(rows)).problems, [])
  }

  for (let count = 0; count < 5; count++) t.equal(await attempt('mia', '203.0.113.1'), '401')
  const body = { username: 'mia', password: 'secret1' }
  const denied = await iam.call('POST', '/api/v1/auth/login', { body, from: '203.0.113.2' })
  t.hasStrict(
    denied,
    { status: 200, code: '429', data: { reason: 'rate-limit.exceeded', retryAfter: 60 } },
    'right or not',
  )
  t.equal(denied.headers['retry-after'], '60')
  const audits = (await iam.call('GET', '/api/v1/admin/iam/login-audits?success=false', { token })).data
  t.match(audits.items[0], {
    success: false,
    reason: /^rate-limit\.exceeded$/,
    message: /^Too many requests/,
    identifier: 'm***',
    clientIp: '203.0.113.2',
    userId: (await iam.accounts.findByUsername('mia'))?.id,
  })
  for (let count = 0; count < 20; count++) t.equal(await attempt('mia', '203.0.113.3'), '429')
  t.equal(await attempt('someone', '203.0.113.3'), '401', 'what the account denied cost the address nothing')
  await iam.clock.advance(59_999)
  t.equal(await attempt('mia', '203.0.113.1', 'secret1'), '429')
  await iam.clock.advance(1)
  t.equal(await attempt('mia', '203.0.113.1', 'secret1'), '200', 'a window later')
  for (let index = 0; index < 20; index++) t.equal(await attempt(`account-${index}`, '203.0.113.9'), '401')
  t.equal(await attempt('account-20', '203.0.113.9'), '429', 'R-074 the 21st account of one address')
  await iam.clock.advance(59_999)
  t.equal(await attempt('account-21', '203.0.113.9'), '429')
  await iam.clock.advance(1)
  t.equal(await attempt('account-22', '203.0.113.9'), '401', 'a window later')
  t.equal(await attempt('mia', '203.0.113.1'), '401')

  await set('password.identifier-max-attempts', 3)
  t.equal(await attempt('mia', '203.0.113.1'), '401', 'the second of three')
  t.equal(await attempt('mia', '203.0.113.1'), '401', 'the third of three')
  t.equal(await attempt('mia', '203.0.113.1'), '429', 'a changed limit counts at once')
  await set('password.enabled', false)
  t.equal(await attempt('mia', '203.0.113.1'), '401')
  await set('password.enabled', true)
  t.equal(await attempt('mia', '203.0.113.1'), '429')
  await set('enabled', false)
  t.equal(await attempt('mia', '203.0.113.1'), '401')
  await set('enabled', true)
  await set('password.identifier-max-attempts', 0)
  for (let count = 0; count < 8; count++) t.equal(await attempt('mia', '203.0.113.4'), '401', 'no limit per account')

  await set('password.identifier-max-attempts', 3)
  await iam.clock.advance(60_000)
  const own = await iam.login('mia', 'secret1')
  const change = (currentPassword: string) =>
    iam.call('PUT', '/api/v1/iam/users/me/password', { token: own, body: { currentPassword, newPassword: 'secret2' } })
  for (let count = 0; count < 3; count++) t.equal((await change('guess')).code, '400')
  t.equal((await change('guess')).code, '429', 'a stolen session is no way to guess the password')
})

t.test('R-073 R-074 only wrong passwords use attempts of an account and an address', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const iam = await startIam(t, db, { plugins: inMemory })
  await iam.accounts.create({ username: 'mia', password: 'secret1' }, system)
  const attempt = attemptsOn(iam)
  for (let count = 0; count < 25; count++) t.equal(await attempt('mia', '203.0.113.1', 'secret1'), '200')
  for (let count = 0; count < 4; count++) t.equal(await attempt('mia', '203.0.113.1'), '401')
  t.equal(await attempt('mia', '203.0.113.1', 'secret1'), '200', 'it returns its own attempt')
  t.equal(await attempt('mia', '203.0.113.1'), '401', 'and no attempt of a guess')
  t.equal(await attempt('mia', '203.0.113.1', 'secret1'), '429')
  for (let count = 0; count < 15; count++) t.equal(await attempt(`account-${count}`, '203.0.113.1'), '401')
  t.equal(await attempt('account-15', '203.0.113.1'), '429')
})

t.test('a limit per account that would lock out users is rejected, or applied with the nearest value', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const lines: string[] = []
  const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
  const attempts = `${root}.password.identifier-max-attempts`
  const window = `${root}.password.identifier-window`
  const iam = await startIam(t, db, { plugins: inMemory, logger, config: { [attempts]: 1, [window]: '30d' } })
  const attempt = attemptsOn(iam)
  for (let count = 0; count < 3; count++) t.equal(await attempt('someone', '203.0.113.1'), '401')
  const body = { username: 'someone', password: 'wrong' }
  const denied = await iam.call('POST', '/api/v1/auth/login', { body })
  t.hasStrict(denied, {
    code: '429',
    message: 'Too many requests. Try again in 60 min.',
    data: { reason: 'rate-limit.exceeded', retryAfter: 3600 },
  })
  const outcomes = []
  for (const [key, value] of [
    [attempts, 2],
    [attempts, 3],
    [attempts, 0],
    [window, '61m'],
    [window, '1h'],
  ] as const)
    outcomes.push(await iam.running.config.verify(key, value, AbortSignal.timeout(60_000)))
  const refused = (key: string, reason: string) => ({
    outcome: 'refused',
    reason: iamError('PLINTH_IAM_ACCOUNT_LIMIT', { key, reason }).message,
  })
  const verified = { outcome: 'verified' }
  t.same(outcomes, [
    refused(attempts, 'it must be 0 or at least 3'),
    verified,
    verified,
    refused(window, 'it must be at most 1h'),
    verified,
  ])
  const texts = [
    `${attempts} is 1, but it must be 0 or at least 3. 3 is applied.`,
    `${window} is 30d, but it must be at most 1h. 1h is applied.`,
  ]
  for (const text of texts)
    t.ok(
      lines.some((line) => line.includes(text)),
      text,
    )
  const steps = await iam.running.contributions(upgradeSteps).get('login-limits')?.(new Map())
  t.same(
    steps,
    texts.map((entry) => ({ change: 'limited', plugin: 'iam', entry })),
  )
})

t.test('invalid input uses no attempt; if the store fails, no login is accepted', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  let isBroken = false
  const response = { allowed: true, remaining: 1, resetAtMs: 0, retryAfterMs: 0 }
  let consumed = 0
  const brittle = definePlugin({
    id: 'test.brittle',
    version: '1.0.0',
    kernel: '^1.0.0',
    contributes: [rateLimitStore],
    setup({ contribute }) {
      const consume = () => {
        consumed++
        if (isBroken) throw new Error('nobody is there')
        return response
      }
      contribute(rateLimitStore, 'brittle', {
        traits: { shared: false, algorithm: 'fixed-window' },
        consume,
        peek: consume,
        reset: () => undefined,
      })
    },
  })
  const config = { 'platform.rate-limit.default-store': 'brittle' }
  const iam = await startIam(t, db, { plugins: [rateLimitPlugin, brittle], config })
  const token = await iam.administrator()
  consumed = 0
  for (const body of [{ username: 'admin' }, { username: '', password: 'x' }, { password: 'x' }, {}]) {
    t.equal((await iam.call('POST', '/api/v1/auth/login', { body })).code, '400')
  }
  t.equal(consumed, 0, 'R-103')
  isBroken = true
  const body = { username: 'admin', password: 'correct horse battery staple' }
  const rejected = await iam.call('POST', '/api/v1/auth/login', { body })
  t.hasStrict(rejected, { status: 200, code: '503', data: { reason: 'rate-limit.store-unavailable' } })
  const audits = (await iam.call('GET', '/api/v1/admin/iam/login-audits?success=false', { token })).data
  t.hasStrict(audits.items[0], { reason: 'rate-limit.store-unavailable' })
  isBroken = false
  t.equal((await iam.call('POST', '/api/v1/auth/login', { body })).code, '200')
})

t.test('without a limiter logins work, and the start warns that they are not limited', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  let log = ''
  const sink = new Writable({
    write(chunk, _encoding, done) {
      log += chunk
      done()
    },
  })
  const iam = await startIam(t, db, { logger: pino({ level: 'warn' }, sink) })
  t.match(log, /"plugin":"iam".*no loaded plugin provides a rate limiter, so logins are not limited/)
  const attempt = attemptsOn(iam)
  for (let count = 0; count < 30; count++) t.equal(await attempt('mia', '203.0.113.1'), '401')
})

t.test('R-056 R-058 users behind one address have separate quotas', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const limited = definePlugin({
    id: 'test.limited',
    version: '1.0.0',
    kernel: '^1.0.0',
    requires: { http },
    setup({ services }) {
      for (const keyStrategy of ['USER', 'USER_ROUTE'] as const) {
        for (const part of ['a', 'b']) {
          services.http.route({
            method: 'GET',
            path: `/api/v1/test/${keyStrategy.toLowerCase().replace('_', '-')}/${part}`,
            summary: 'Limited',
            access: 'user',
            annotations: [rateLimited({ keyStrategy, maxAttempts: 2, windowSeconds: 60 })],
            response: Type.Null(),
            handler: () => null,
          })
        }
      }
    },
  })
  const iam = await startIam(t, db, { plugins: [...inMemory, limited] })
  const tokens = []
  for (const username of ['mia', 'tom']) {
    await iam.accounts.create({ username, password: 'secret1' }, system)
    tokens.push([await iam.login(username, 'secret1'), await iam.login(username, 'secret1')] as const)
  }
  const [mia = ['', ''], tom = ['', '']] = tokens
  const ask = async (route: string, token: string) => (await iam.call('GET', `/api/v1/test/${route}`, { token })).code
  t.same([await ask('user/a', mia[0]), await ask('user/b', mia[1])], ['200', '200'])
  t.equal(await ask('user/a', mia[0]), '429', 'one quota for all sessions and routes of a user')
  t.same([await ask('user/a', tom[0]), await ask('user/b', tom[0]), await ask('user/a', tom[0])], ['200', '200', '429'])
  t.same(
    [await ask('user-route/a', mia[0]), await ask('user-route/a', mia[1]), await ask('user-route/a', mia[0])],
    ['200', '200', '429'],
  )
  t.equal(await ask('user-route/b', mia[0]), '200')
  t.equal(await ask('user-route/a', tom[0]), '200')
})

t.test('one caller, one account: all addresses of a network and all names of an account share a limit', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const iam = await startIam(t, db, { plugins: inMemory })
  await iam.accounts.create({ username: 'mia', email: 'mia@example.org', password: 'secret1' }, system)
  const attempt = attemptsOn(iam)
  const codes = []
  for (let index = 0; index < 21; index++) codes.push(await attempt(`account-${index}`, `2001:db8:1:2::${index + 1}`))
  t.same(codes, [...Array(20).fill('401'), '429'], 'addresses of one /64')
  t.equal(await attempt('account-22', '2001:db8:1:3::1'), '401', 'another network')

  const names = ['mia', 'MIA', 'mia@example.org', 'Mia@Example.org', 'mia', 'mia@example.org']
  const perAccount = []
  for (const [index, name] of names.entries()) perAccount.push(await attempt(name, `203.0.113.${index}`))
  t.same(perAccount, ['401', '401', '401', '401', '401', '429'])
})

onDatabase(t, 'rejected logins in a flood are counted with their account', async (t, db) => {
  const iam = await startIam(t, db, { plugins: inMemory })
  const token = await iam.administrator()
  const mia = await iam.accounts.create({ username: 'mia', password: 'secret1' }, system)
  const attempt = attemptsOn(iam)
  const audits = async (query: string) => {
    const { items, total } = (await iam.call('GET', `/api/v1/admin/iam/login-audits?${query}&size=200`, { token })).data
    const attempts = items.reduce((sum: number, item: { attempts: number }) => sum + item.attempts, 0)
    return { items, total, attempts }
  }
  for (let count = 0; count < 100; count++) await attempt('mia', `203.0.113.${count}`)
  const onMia = await audits(`success=false&userId=${mia.id}`)
  t.same([onMia.total, onMia.attempts], [30, 100], 'one account, many callers')
  t.hasStrict(onMia.items[0], { reason: 'rate-limit.exceeded', userId: mia.id })
  for (let count = 0; count < 100; count++) await attempt(`account-${count}`, '198.51.100.7')
  const from = await audits('clientIp=198.51.100.7')
  t.same([from.total, from.attempts], [30, 100], 'one caller, many names')
  await iam.clock.advance(60_000)
  await attempt('mia', '198.51.100.7')
  t.equal((await audits('clientIp=198.51.100.7')).total, 31, 'a minute later')
})
