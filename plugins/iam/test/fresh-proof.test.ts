/**
 * Tests fresh proofs of identity: which sessions have one, how it is renewed, and what an operation with `fresh` does
 * without one.
 */
import { database } from '@plinth/database'
import { manualClock } from '@plinth/dev/testing'
import { onDatabase, onEachDatabase, onSqlite } from '@plinth/dev/testing/database'
import { http } from '@plinth/http'
import { assertFresh, identity, proofMethod } from '@plinth/iam'
import { BusinessError, definePlugin } from '@plinth/kernel'
import rateLimitPlugin from '@plinth/rate-limit'
import memoryStore from '@plinth/rate-limit-stores/memory'
import fc from 'fast-check'
import t from 'tap'
import { Type } from 'typebox'
import { adminPassword, origin, startIam, system } from './fixtures/product.ts'

const minute = 60_000
const enabled = { 'platform.iam.fresh-proof.enabled': true }
const me = '/api/v1/iam/users/me'
const roles = '/api/v1/admin/iam/roles'
const proof = '/api/v1/auth/proof'
const own = { origin: 'http://shop.test', host: 'shop.test' }
const role = (code: string) => ({ code, name: code, permissions: [] })

type Iam = Awaited<ReturnType<typeof startIam>>
interface Outcome {
  readonly code: string
  readonly data: { readonly reason?: string } | null
}
const outcomeOf = ({ code, data }: Outcome) => `${code} ${data?.reason}`
const required = '401 iam.proof-required'

const provenWith = (iam: Iam, token: string, password = adminPassword) =>
  iam.call('POST', proof, { token, body: { method: 'password', password } })

async function codesOfRoles(iam: Iam): Promise<readonly string[]> {
  const rows = await iam.running.service(database).query<{ code: string }>('select code from iam_role order by code')
  return rows.map(({ code }) => code)
}

/** A plugin that asks for a proof in its handler, for some requests only. */
const shop = definePlugin({
  id: 'shop',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { http },
  setup({ services }) {
    services.http.route({
      method: 'POST',
      path: '/api/v1/shop/orders',
      summary: 'Order',
      access: 'user',
      request: { body: Type.Object({ amount: Type.Integer() }) },
      response: Type.Boolean(),
      async handler(request) {
        if (request.body.amount > 100) await assertFresh(request, '5m')
        return true
      },
    })
    services.http.route({
      method: 'POST',
      path: '/api/v1/shop/sign-off',
      summary: 'Sign off',
      access: 'user',
      fresh: '1m',
      request: { body: Type.Object({ amount: Type.Integer() }) },
      response: Type.Boolean(),
      handler: () => true,
    })
  },
})

onEachDatabase(t, 'an operation needs a recent proof, and a proof renews the token of the session', async (t, db) => {
  const iam = await startIam(t, db, { config: enabled })
  const token = await iam.administrator()
  t.equal((await iam.call('POST', roles, { token, body: role('first') })).code, '200', 'a login is a proof')
  const before = (await iam.call('GET', `${me}/sessions`, { token })).data

  await iam.clock.advance(5 * minute)
  t.equal((await iam.call('POST', roles, { token, body: role('second') })).code, '200', 'of exactly this age')
  await iam.clock.advance(1)
  t.equal((await iam.call('GET', roles, { token })).code, '200', 'other operations need none')
  const rejected = await iam.call('POST', roles, { token, body: role('third') })
  t.equal(outcomeOf(rejected), required)
  t.strictSame(rejected.data, { maxAgeSeconds: 300, methods: ['password'], reason: 'iam.proof-required' })
  t.equal(
    rejected.headers['www-authenticate'],
    'Bearer error="insufficient_user_authentication", max_age="300"',
    'RFC 9470, section 3',
  )
  t.equal((await iam.call('POST', roles, { token, body: 'not an object' })).code, '401', 'before the body is read')

  t.equal(outcomeOf(await provenWith(iam, token, 'wrong')), '400 iam.password-wrong')
  t.equal(outcomeOf(await iam.call('POST', roles, { token, body: role('third') })), required)
  const { code, data } = await provenWith(iam, token)
  t.equal(code, '200')
  t.not(data.accessToken, token, 'ASVS 7.2.4')
  t.equal((await iam.call('POST', roles, { token: data.accessToken, body: role('third') })).code, '200')
  t.equal(outcomeOf(await iam.call('GET', me, { token })), '401 iam.token-invalid', 'the old token has ended')
  t.same(await codesOfRoles(iam), ['first', 'second', 'super-admin', 'third'], 'each operation had one effect')

  const after = (await iam.call('GET', `${me}/sessions`, { token: data.accessToken })).data
  t.equal(after.length, 1)
  t.equal(after[0].id, before[0].id, 'the same session')
  t.equal(after[0].expiresAt, before[0].expiresAt, 'with the same end')
  t.equal(data.expiresAt, before[0].expiresAt)
  const state = (await iam.call('GET', proof, { token: data.accessToken })).data
  t.strictSame(
    { ...state, provenAt: Date.parse(state.provenAt) },
    { enabled: true, provenAt: iam.clock.now(), provenBy: 'password', methods: ['password'] },
  )

  for (let use = 0; use < 3; use++) {
    await iam.clock.advance(2 * minute)
    await iam.call('GET', me, { token: data.accessToken })
  }
  const later = { token: data.accessToken, body: role('fourth') }
  t.equal(outcomeOf(await iam.call('POST', roles, later)), required, 'use does not extend a proof')
  const query = `${proof}?maxAgeSeconds=`
  t.equal(outcomeOf(await iam.call('GET', `${query}300`, { token: data.accessToken })), required)
  t.equal((await iam.call('GET', `${query}600`, { token: data.accessToken })).code, '200')
  const rows = await iam.running
    .service(database)
    .query<{ success: unknown }>("select success from iam_login_audit where method = 'password-proof' order by id")
  t.same(
    rows.map(({ success }) => Number(success)),
    [0, 1],
    'both attempts are in the login audit',
  )
})

onEachDatabase(t, 'several proofs with one token renew it once, and no request loses its session', async (t, db) => {
  const iam = await startIam(t, db, { config: enabled })
  const token = await iam.administrator()
  await iam.clock.advance(6 * minute)
  const [proofs, reads] = await Promise.all([
    Promise.all(Array.from({ length: 4 }, () => provenWith(iam, token))),
    Promise.all(Array.from({ length: 8 }, () => iam.call('GET', me, { token }))),
  ])
  const renewed = proofs.filter(({ code }) => code === '200')
  t.equal(renewed.length, 1)
  for (const one of proofs) if (one !== renewed[0]) t.equal(outcomeOf(one), '401 iam.token-invalid')
  const next = renewed[0]?.data.accessToken
  for (const one of reads) {
    if (one.code === '200') continue
    t.equal(outcomeOf(one), '401 iam.token-invalid', 'a client repeats this request with the new token')
  }
  t.equal((await iam.call('GET', me, { token: next })).code, '200')
  t.equal((await iam.call('POST', roles, { token: next, body: role('one') })).code, '200')
  const failures = await iam.running
    .service(database)
    .query("select id from iam_login_audit where method = 'password-proof' and success = ?", [false])
  t.equal(failures.length, 0, 'a proof that came second is not a failed attempt')
})

onDatabase(t, 'a proof belongs to its session, and all instances know it', async (t, db) => {
  const clock = manualClock()
  const one = await startIam(t, db, { clock, config: enabled })
  const two = await startIam(t, db, { clock, config: enabled })
  const [first, second] = [await one.administrator(), await one.login('admin', adminPassword)]
  for (const token of [first, second]) for (const on of [one, two]) await on.call('GET', me, { token })
  await clock.advance(6 * minute)
  const { data } = await provenWith(one, first)
  const attempt = (iam: Iam, token: string, code: string) =>
    iam.call('POST', roles, { token, body: role(code) }).then(outcomeOf)
  t.equal(await attempt(two, data.accessToken, 'a'), '200 undefined', 'the new token works on the other instance')
  t.equal(await attempt(one, second, 'b'), required, 'the other session of the same user')
  t.equal(await attempt(two, second, 'b'), required)
  t.equal(await attempt(one, first, 'b'), '401 iam.token-invalid')
  await clock.advance(900)
  t.equal(await attempt(two, first, 'b'), '401 iam.token-invalid', 'within a second, like every revocation')
  t.equal((await two.call('GET', me, { token: second })).code, '200', 'the other session goes on')
  t.same(await codesOfRoles(one), ['a', 'super-admin'])
})

onDatabase(t, 'a proof in the future counts as missing', async (t, db) => {
  const iam = await startIam(t, db, { config: enabled })
  const token = await iam.administrator()
  const attempt = (code: string) => iam.call('POST', roles, { token, body: role(code) }).then(outcomeOf)
  iam.clock.shiftWallClock(-1_000)
  t.equal(await attempt('a'), '200 undefined', 'the clocks of two instances may differ slightly')
  iam.clock.shiftWallClock(-60_000)
  t.equal(await attempt('b'), required, 'the clock was set back')
  iam.clock.shiftWallClock(61_000)
  t.equal(await attempt('b'), '200 undefined')
  iam.clock.shiftWallClock(10 * minute)
  t.equal(await attempt('c'), required, 'the clock was set forward')
})

onSqlite(t, 'while fresh proofs are disabled, all operations respond as with a recent proof', async (t, db) => {
  const [off, on] = [await startIam(t, db), await startIam(t, db, { config: enabled })]
  await off.administrator()
  const routes = off.server.routes.filter(({ fresh }) => fresh !== undefined)
  t.ok(routes.length > 8, `${routes.length} operations`)
  const responses = async (iam: Iam, age: number) => {
    const token = await iam.login('admin', adminPassword)
    await iam.clock.advance(age)
    const found: unknown[] = []
    for (const { method, path } of routes) {
      const url = path.replace(':id', '4711')
      const body = { username: 'nobody', code: 'nobody' }
      const { status, code, data } = await iam.call(method, url, method === 'GET' ? { token } : { token, body })
      found.push({ method, path, status, code, reason: data?.reason })
    }
    return found
  }
  t.strictSame(await responses(off, 60 * minute), await responses(on, 0))
  const old = (await responses(on, 60 * minute)) as { readonly code: string; readonly reason: string }[]
  for (const { code, reason } of old) t.equal(`${code} ${reason}`, required)
})

onSqlite(t, 'only a person in a session can have a fresh proof', async (t, db) => {
  const iam = await startIam(t, db, { config: enabled })
  await iam.administrator()
  const service = iam.running.service(identity)
  const account = await iam.accounts.create({ username: 'mia' }, system)
  const attempt = { ...origin, method: 'sso', identifier: 'mia', setHeader: () => {} }
  const rejection = (work: () => unknown) =>
    Promise.resolve()
      .then(work)
      .then(
        () => undefined,
        (error: unknown) => (error instanceof BusinessError ? error : undefined),
      )

  const without = await rejection(async () => (await service.principalOf(account.id))?.assertFresh('24h'))
  t.equal(without?.reason, 'iam.proof-required', 'without a session')
  t.strictSame(without?.data, { maxAgeSeconds: 86_400, methods: [] })
  t.match(without?.message, /API tokens cannot call it/)

  const silent = await service.openSession(account.id, { ...attempt, isProof: false })
  const asSilent = await service.authenticate(silent.accessToken)
  t.equal(asSilent.proof, undefined, 'a login without the user is not a proof')
  const impossible = await rejection(() => asSilent.assertFresh('24h'))
  t.strictSame(impossible?.data?.['methods'], [], 'the user has no password')
  t.match(impossible?.message, /Ask an administrator/, 'and the message says what to do')
  const active = await service.openSession(account.id, attempt)
  t.equal((await service.authenticate(active.accessToken)).proof?.by, 'sso')
  t.equal(await rejection(async () => (await service.authenticate(active.accessToken)).assertFresh('5m')), undefined)

  const db2 = iam.running.service(database)
  await db2.execute('update iam_token set proven_at = null, proven_by = null')
  const fresh = await startIam(t, db, { clock: iam.clock, config: enabled })
  const late = await fresh.running.service(identity).authenticate(active.accessToken)
  t.equal(
    (await rejection(() => late.assertFresh('24h')))?.reason,
    'iam.proof-required',
    'session of an earlier release',
  )
})

onSqlite(t, 'plugins add proof methods, and the strongest is listed first', async (t, db) => {
  const available = new Set<string>(['wallet', 'passkey', 'broken'])
  const method = (name: string, strength: 'possession' | 'phishing-resistant') => ({
    strength,
    isAvailable: async () => {
      if (name === 'broken') throw new Error('device store is down')
      return available.has(name)
    },
  })
  const devices = definePlugin({
    id: 'devices',
    version: '1.0.0',
    kernel: '^1.0.0',
    contributes: [
      proofMethod.of({
        wallet: method('wallet', 'possession'),
        passkey: method('passkey', 'phishing-resistant'),
        totp: method('totp', 'possession'),
        broken: method('broken', 'possession'),
      }),
    ],
    setup() {},
  })
  const iam = await startIam(t, db, { plugins: [devices], config: enabled })
  const token = await iam.administrator()
  await iam.clock.advance(6 * minute)
  const methods = async () => (await iam.call('POST', roles, { token, body: role('a') })).data.methods
  t.same(await methods(), ['passkey', 'wallet', 'password'])
  available.clear()
  t.same(await methods(), ['password'])

  const service = iam.running.service(identity)
  const attempt = { ...origin, method: 'passkey-proof', identifier: 'admin', setHeader: () => {} }
  const wrong = new BusinessError('400', 'Wrong device', { reason: 'devices.wrong' })
  const refused = await service
    .proveAgain(token, 'passkey', attempt, () => Promise.reject(wrong))
    .catch((error: unknown) => error)
  t.equal(refused, wrong)
  t.equal((await iam.call('GET', me, { token })).code, '200', 'a wrong proof changes nothing')
  const renewed = await service.proveAgain(token, 'passkey', attempt, async () => {})
  t.equal((await service.authenticate(renewed.accessToken)).proof?.by, 'passkey')
})

onSqlite(t, 'a browser gets the new token in its cookie', async (t, db) => {
  const iam = await startIam(t, db, { config: enabled })
  await iam.administrator()
  const body = { username: 'admin', password: adminPassword, session: 'cookie' }
  const send = async (url: string, headers: Readonly<Record<string, string>>, payload: object) => {
    const response = await iam.server.inject({ method: 'POST', url, headers, payload })
    const [cookie] = String(response.headers['set-cookie'] ?? '').split(';', 1)
    return { ...response.json(), cookie, set: String(response.headers['set-cookie'] ?? '') }
  }
  const { cookie } = await send('/api/v1/auth/login', own, body)
  await iam.clock.advance(6 * minute)
  const content = { method: 'password', password: adminPassword }
  t.equal(outcomeOf(await send(proof, { cookie }, content)), '403 iam.origin-unproven', 'not from another site')
  const renewed = await send(proof, { ...own, cookie }, content)
  t.match(renewed, { code: /^200$/, data: { accessToken: null, tokenType: 'Bearer', expiresAt: /Z$/ } })
  t.match(renewed.set, /^plinth-session=[^;]+; Path=\/api; HttpOnly; SameSite=Strict$/)
  t.not(renewed.cookie, cookie)
  t.equal(outcomeOf(await send(roles, { ...own, cookie }, role('a'))), '401 iam.token-invalid')
  t.equal((await send(roles, { ...own, cookie: renewed.cookie }, role('a'))).code, '200')
})

onSqlite(t, 'wrong passwords in proofs and in logins count together', async (t, db) => {
  const root = 'platform.iam.auth.login.rate-limit.password'
  const iam = await startIam(t, db, {
    plugins: [rateLimitPlugin, memoryStore],
    config: { ...enabled, [`${root}.identifier-window`]: '1h', [`${root}.identifier-max-attempts`]: 4 },
  })
  const token = await iam.administrator()
  const log = () => iam.call('POST', '/api/v1/auth/login', { body: { username: 'admin', password: 'wrong' } })
  t.equal((await provenWith(iam, token)).code, '200', 'a correct proof returns its attempt')
  const second = await iam.login('admin', adminPassword)
  for (const attempt of [() => provenWith(iam, second, 'wrong'), log, () => provenWith(iam, second, 'wrong'), log])
    t.notMatch(await attempt().then(outcomeOf), /rate-limit/)
  t.equal(await provenWith(iam, second).then(outcomeOf), '429 rate-limit.exceeded', 'even with the right password')
  t.equal(await log().then(outcomeOf), '429 rate-limit.exceeded')
  t.equal((await iam.call('GET', me, { token: second })).code, '200', 'the session stays')
})

onSqlite(t, 'a handler can ask for a proof for some requests only', async (t, db) => {
  const iam = await startIam(t, db, { plugins: [shop], config: enabled })
  const token = await iam.administrator()
  const order = (amount: number) => iam.call('POST', '/api/v1/shop/orders', { token, body: { amount } })
  t.same([(await order(100)).code, (await order(101)).code], ['200', '200'])
  await iam.clock.advance(5 * minute + 1)
  t.equal((await order(100)).code, '200')
  const rejected = await order(101)
  t.equal(outcomeOf(rejected), required)
  t.match(rejected.headers['www-authenticate'], /max_age="300"/)
})

onSqlite(t, 'a proof is fresh exactly while its age is between 0 and the maximum', async (t, db) => {
  const iam = await startIam(t, db, { plugins: [shop], config: enabled })
  await iam.administrator()
  const arbitraryAge = fc.oneof(fc.integer({ min: 0, max: 3 * minute }), fc.constantFrom(0, minute, minute + 1))
  await fc.assert(
    fc.asyncProperty(arbitraryAge, async (age) => {
      const token = await iam.login('admin', adminPassword)
      await iam.clock.advance(age)
      const { code } = await iam.call('POST', '/api/v1/shop/sign-off', { token, body: { amount: 1 } })
      return code === (age <= minute ? '200' : '401')
    }),
    { numRuns: 40 },
  )
})
