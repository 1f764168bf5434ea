/** Tests that a sign-in with one factor of two is worth nothing, in each way of signing in, and when it ends. */
import { rejectsWith } from '@plinth/dev/testing'
import { onDatabase, onEachDatabase } from '@plinth/dev/testing/database'
import { accounts, credentials, identity, proofMethod } from '@plinth/iam'
import { definePlugin } from '@plinth/kernel'
import outgoingHttp from '@plinth/outgoing-http'
import walletLogin from '@plinth/wallet-login'
import web3 from '@plinth/web3'
import t from 'tap'
import { privateKeyToAccount } from 'viem/accounts'
import { auth, factor, outcomeOf, type Product, password, startAuthenticators, system } from './fixtures/product.ts'

const me = '/api/v1/iam/users/me'
const required = '401 iam.second-factor-required'
const ended = '401 iam.pending-sign-in-invalid'

const limits = 'platform.iam.auth.login.rate-limit'
const threeAttempts = { [`${limits}.enabled`]: true, [`${limits}.password.identifier-max-attempts`]: 3 }

/** Makes the second factor mandatory for the role `super-admin`, or for a new role that the user gets. */
async function requireFactor({ db, clock }: Product, from = clock.now()) {
  await db.execute("update iam_role set second_factor_from = ? where code = 'super-admin'", [new Date(from)])
}

const sessionsOf = async ({ db }: Product, userId: number) =>
  (await db.query('select id from iam_token where user_id = ?', [userId])).length

onDatabase(t, 'no way of signing in opens a session for a user with a second factor', async (t, db) => {
  const product = await startAuthenticators(t, db, {
    plugins: [outgoingHttp, web3, walletLogin],
  })
  const { running, post, createUser, addTotp, login } = product
  const user = await createUser()
  const wallet = privateKeyToAccount(`0x${'11'.repeat(32)}`)
  await running
    .service(accounts)
    .bindExternal(
      user.id,
      { provider: 'evm', chainType: 'evm', subject: wallet.address.toLowerCase(), proof: 'ecrecover' },
      system,
    )
  await addTotp(user.token)
  const before = await sessionsOf(product, user.id)
  const attempt = { ...system, method: 'test', identifier: user.username, setHeader: () => {} }
  const ways: Readonly<Record<string, () => Promise<string>>> = {
    'password with the name': async () => outcomeOf(await login(user.username)),
    'password with the address': async () => outcomeOf(await login(`${user.username}@example.com`)),
    'password in a cookie': async () =>
      outcomeOf(
        await post(
          `${auth}/login`,
          { username: user.username, password, session: 'cookie' },
          { headers: { origin: 'http://shop.test', host: 'shop.test' } },
        ),
      ),
    wallet: async () => {
      const body = { chainType: 'evm', address: wallet.address }
      const { challengeId, message } = (await post(`${auth}/wallet/challenge`, body)).data
      const signature = await wallet.signMessage({ message })
      return outcomeOf(await post(`${auth}/wallet/login`, { challengeId, address: wallet.address, signature }))
    },
    'openSession of a plugin': () =>
      running
        .service(identity)
        .openSession(user.id, attempt)
        .then(
          () => '200',
          ({ code, reason }) => `${code} ${reason}`,
        ),
    'openProvenSession of a plugin': () =>
      running
        .service(identity)
        .openProvenSession(user.id, attempt, async () => user.id)
        .then(
          () => '200',
          ({ code, reason }) => `${code} ${reason}`,
        ),
  }
  const seen: Record<string, string> = {}
  for (const [name, way] of Object.entries(ways)) seen[name] = await way()
  t.strictSame(seen, Object.fromEntries(Object.keys(ways).map((name) => [name, required])))
  t.equal(await sessionsOf(product, user.id), before)
  const audit = await product.db.query<{ success: unknown; reason: string | null }>(
    "select success, reason from iam_login_audit where method = 'wallet'",
  )
  t.strictSame(
    audit.map(({ success, reason }) => [Boolean(success), reason]),
    [[true, null]],
    'the first factor succeeded',
  )
})

onDatabase(t, 'the token of a half-finished sign-in is no credential', async (t, db) => {
  const product = await startAuthenticators(t, db)
  const { call, createUser, addTotp, pendingOf } = product
  const user = await createUser()
  await addTotp(user.token)
  const token = await pendingOf(user.username)
  const own = { host: 'shop.test', origin: 'http://shop.test' }
  const uses = {
    bearer: await call('GET', me, { token }),
    session: await call('GET', me, { headers: { ...own, cookie: `plinth-session=${token}` } }),
    query: await call('GET', `${me}?access_token=${token}`),
    basic: await call('GET', me, { headers: { authorization: `Basic ${btoa(`${user.username}:${token}`)}` } }),
    authenticators: await call('GET', `${auth}/authenticators`, { token }),
    logout: await call('POST', `${auth}/logout`, { token }),
    password: await call('PUT', `${me}/password`, { token, body: { currentPassword: password, newPassword: 'x' } }),
    proof: await call('POST', `${auth}/proof/totp`, { token, body: { code: '123456' } }),
    passkey: await call('POST', `${auth}/passkeys/options`, { token, body: {} }),
    removal: await call('DELETE', `${auth}/totp`, { token }),
    setUpWithFactor: await call('POST', `${factor}/set-up/totp/options`, { body: { pendingToken: token } }),
  }
  t.strictSame(Object.fromEntries(Object.entries(uses).map(([name, response]) => [name, response.code])), {
    ...Object.fromEntries(Object.keys(uses).map((name) => [name, '401'])),
    setUpWithFactor: '409',
  })
  const stored = await product.db.query<{ token_hash: string }>('select token_hash from iam_pending_sign_in')
  t.notOk(JSON.stringify(stored).includes(token.slice(14)), 'only its hash is stored')
})

onEachDatabase(t, 'a half-finished sign-in ends with each change of the account', async (t, db) => {
  const product = await startAuthenticators(t, db)
  const { running, call, post, createUser, addTotp, pendingOf, administrator, clock } = product
  const admin = await administrator()
  const byAdmin = (id: number, body: object, path = '') =>
    call('PUT', `/api/v1/admin/iam/users/${id}${path}`, { token: admin.token, body })
  const changes: Readonly<Record<string, (user: { id: number; token: string }) => Promise<unknown>>> = {
    'own password': ({ token }) =>
      call('PUT', `${me}/password`, {
        token,
        body: { currentPassword: password, newPassword: 'another long password' },
      }),
    'password by an administrator': ({ id }) => byAdmin(id, { password: 'another long password' }, '/password'),
    recovery: ({ id }) =>
      running.service(credentials).change(id, system, async (account) => void (await account.endCredentials())),
    'disabling and enabling': async ({ id }) => {
      await byAdmin(id, { enabled: false })
      await byAdmin(id, { enabled: true })
    },
    'all sessions ended': ({ id }) => call('DELETE', `/api/v1/admin/iam/users/${id}/sessions`, { token: admin.token }),
    'other address': ({ id }) => byAdmin(id, { email: `new${id}@example.com` }),
    deletion: ({ id }) => call('DELETE', `/api/v1/admin/iam/users/${id}`, { token: admin.token }),
    'five minutes': () => clock.advance(300_000),
  }
  const seen: Record<string, string> = {}
  for (const [name, change] of Object.entries(changes)) {
    const user = await createUser()
    const { code } = await addTotp(user.token)
    const pendingToken = await pendingOf(user.username)
    await change(user)
    seen[name] = outcomeOf(await post(`${factor}/totp`, { pendingToken, code: code() }))
  }
  t.strictSame(seen, Object.fromEntries(Object.keys(changes).map((name) => [name, ended])))
})

onDatabase(t, 'a change of the account while the second factor is checked ends the sign-in', async (t, db) => {
  const product = await startAuthenticators(t, db)
  const { running, post, createUser, addTotp, pendingOf, administrator, call } = product
  const admin = await administrator()
  const user = await createUser()
  await addTotp(user.token)
  const attempt = { ...system, method: 'test', identifier: user.username, setHeader: () => {} }
  const change = async (body: object) => {
    const changed = await call('PUT', `/api/v1/admin/iam/users/${user.id}`, { token: admin.token, body })
    t.equal(changed.code, '200')
  }
  const before = await sessionsOf(product, user.id)
  const pendingToken = await pendingOf(user.username)
  const completed = running
    .service(identity)
    .completeSignIn(pendingToken, 'totp', attempt, () => change({ email: 'other@example.com' }))
  await rejectsWith(t, completed, { code: '401', reason: 'iam.pending-sign-in-invalid' })
  t.equal(await sessionsOf(product, user.id), before)
  const next = await pendingOf(user.username)
  await change({ email: 'third@example.com' })
  t.equal(outcomeOf(await post(`${factor}/passkey/options`, { pendingToken: next })), ended, 'also before the check')
})

onEachDatabase(t, 'a half-finished sign-in is completed once and has five attempts', async (t, db) => {
  const product = await startAuthenticators(t, db)
  const { post, createUser, addPasskey, addTotp, pendingOf, assertion } = product
  const user = await createUser()
  const { device, added } = await addPasskey(user.token)
  const codes: string[] = added.data.recoveryCodes
  const before = await sessionsOf(product, user.id)
  const parallel = await pendingOf(user.username)
  const outcomes = await Promise.all(
    codes.slice(0, 3).map((code) => post(`${factor}/recovery-code`, { pendingToken: parallel, code })),
  )
  t.strictSame(outcomes.map(outcomeOf).sort(), ['200', ended, ended])
  t.equal(await sessionsOf(product, user.id), before + 1)

  const { code } = await addTotp(user.token)
  const guessed = await pendingOf(user.username)
  const guesses = await Promise.all(
    Array.from({ length: 8 }, () => post(`${factor}/totp`, { pendingToken: guessed, code: '000000' })),
  )
  t.strictSame(guesses.map(outcomeOf).sort(), [
    ...Array(5).fill('401 authenticators.totp-invalid'),
    ...Array(3).fill(ended),
  ])
  t.equal(outcomeOf(await post(`${factor}/totp`, { pendingToken: guessed, code: code() })), ended)
  const { challengeId, response } = await assertion(`${factor}/passkey`, device, {
    pendingToken: await pendingOf(user.username),
  })
  t.equal(
    outcomeOf(await post(`${factor}/passkey`, { pendingToken: guessed, challengeId, response })),
    ended,
    'nor with another factor',
  )
  const again = await pendingOf(user.username)
  t.equal(outcomeOf(await post(`${factor}/totp`, { pendingToken: again, code: code() })), '200')
  t.equal(outcomeOf(await post(`${factor}/totp`, { pendingToken: again, code: code(1) })), ended, 'used twice')
})

onEachDatabase(t, 'a user whose role requires a second factor sets it up during the sign-in', async (t, db) => {
  const product = await startAuthenticators(t, db)
  const { call, post, administrator, login, codesOf, deviceOf, clock } = product
  const admin = await administrator()
  await requireFactor(product, clock.now() + 60_000)
  const soon = (await call('GET', `${auth}/authenticators`, { token: admin.token })).data
  t.strictSame([soon.required, Date.parse(soon.requiredFrom)], [false, clock.now() + 60_000])
  t.equal(outcomeOf(await login('admin')), '200', 'the time has not come')
  await clock.advance(60_000)
  const waiting = await login('admin')
  t.strictSame([outcomeOf(waiting), waiting.data.setUp, waiting.data.methods], [required, true, ['passkey', 'totp']])
  const { pendingToken } = waiting.data
  for (const [path, body] of [
    ['totp', { code: '123456' }],
    ['recovery-code', { code: 'ABCDEF-ABCDEF-ABCDEF-ABCDEF' }],
  ] as const)
    t.equal((await post(`${factor}/${path}`, { pendingToken, ...body })).code, '401', `nothing is set up: ${path}`)

  const { setUpId, secret, uri, qr } = (await post(`${factor}/set-up/totp/options`, { pendingToken })).data
  t.match(secret, /^[A-Z2-7]{32}$/)
  t.equal(new URL(uri).searchParams.get('issuer'), 'Shop')
  t.match(qr, /^<svg/)
  const setUp = (token: string, code: string) => post(`${factor}/set-up/totp`, { pendingToken: token, setUpId, code })
  const other = (await login('admin')).data.pendingToken
  t.equal(outcomeOf(await setUp(other, codesOf(secret)())), '400 authenticators.set-up-invalid', 'of another sign-in')
  t.equal(outcomeOf(await setUp(pendingToken, '000000')), '401 authenticators.totp-invalid')
  const [first, second] = await Promise.all([
    setUp(pendingToken, codesOf(secret)()),
    setUp(pendingToken, codesOf(secret)()),
  ])
  t.equal([first, second].filter(({ code }) => code === '200').length, 1)
  const opened = first.code === '200' ? first : second
  t.equal(opened.data.recoveryCodes.length, 10)
  t.equal((await call('GET', me, { token: opened.data.accessToken })).code, '200')

  const creation = (await post(`${factor}/set-up/passkey/options`, { pendingToken: other })).data
  const device = deviceOf()
  const body = { pendingToken: other, challengeId: creation.challengeId, response: device.create(creation.options) }
  t.equal(
    outcomeOf(await post(`${factor}/set-up/passkey`, body)),
    '409 iam.second-factor-set-up',
    'the password alone adds no factor to an account that has one',
  )
  t.strictSame(await product.db.query('select id from authenticator_passkey'), [])
  t.equal(
    outcomeOf(
      await post(`${factor}/totp`, { pendingToken: (await login('admin')).data.pendingToken, code: codesOf(secret)() }),
    ),
    '401 authenticators.totp-invalid',
    'the code of the setup counts as used',
  )
  await product.settled()
  t.strictSame(
    product.mailbox.sent.map(({ to, subject }) => [to, subject]),
    [['admin@example.com', 'Shop: one-time passwords were set up']],
  )
})

onDatabase(t, 'a passkey can be set up during the sign-in too', async (t, db) => {
  const product = await startAuthenticators(t, db)
  const { post, administrator, login, deviceOf, assertion } = product
  await administrator()
  await requireFactor(product)
  const { pendingToken } = (await login('admin')).data
  const device = deviceOf()
  const refused = (await post(`${factor}/set-up/passkey/options`, { pendingToken })).data
  const certified = device.create(refused.options, { format: 'apple' })
  t.equal(
    outcomeOf(
      await post(`${factor}/set-up/passkey`, { pendingToken, challengeId: refused.challengeId, response: certified }),
    ),
    '400 authenticators.passkey-invalid',
  )
  t.equal((await product.loginAudit()).at(-1), 'passkey-set-up authenticators.attestation-unexpected')
  device.credentials.length = 0
  const { options, challengeId } = (await post(`${factor}/set-up/passkey/options`, { pendingToken })).data
  const body = { pendingToken, challengeId, response: device.create(options), name: 'Key' }
  const opened = await post(`${factor}/set-up/passkey`, body)
  t.equal(outcomeOf(opened), '200')
  t.equal(opened.data.recoveryCodes.length, 10)
  const login1 = await assertion(`${auth}/passkey`, device)
  t.equal(
    outcomeOf(await post(`${auth}/passkey/login`, { challengeId: login1.challengeId, response: login1.response })),
    '200',
  )
})

onDatabase(t, 'without a usable method, the sign-in fails closed', async (t, db) => {
  const without = await startAuthenticators(t, db, { withAuthenticators: false })
  await without.administrator()
  await requireFactor(without)
  t.equal(outcomeOf(await without.login('admin')), '403 iam.second-factor-impossible')
})

onDatabase(t, 'a method that fails opens no session', async (t, db) => {
  const state = { fails: false }
  const faulty = definePlugin({
    id: 'test.faulty',
    version: '1.0.0',
    kernel: '^1.0.0',
    contributes: [proofMethod],
    setup: ({ contribute }) =>
      contribute(proofMethod, 'faulty', {
        strength: 'possession',
        isAvailable: () => false,
        secondFactor: {
          isSetUp() {
            if (state.fails) throw new Error('the device server does not respond')
            return false
          },
        },
      }),
  })
  const { createUser, login } = await startAuthenticators(t, db, { plugins: [faulty], config: threeAttempts })
  const user = await createUser()
  state.fails = true
  const outcomes = []
  for (let attempt = 0; attempt < 5; attempt++) outcomes.push(outcomeOf(await login(user.username)))
  t.strictSame(outcomes, Array(5).fill('503 iam.second-factor-unavailable'), 'a correct password is no failed attempt')
  state.fails = false
  t.equal(outcomeOf(await login(user.username)), '200')
})

onDatabase(t, 'the first factor counts as a success for the limit of passwords', async (t, db) => {
  const { createUser, addTotp, login } = await startAuthenticators(t, db, { config: threeAttempts })
  const user = await createUser()
  await addTotp(user.token)
  const outcomes = []
  for (let attempt = 0; attempt < 6; attempt++) outcomes.push(outcomeOf(await login(user.username)))
  t.strictSame(outcomes, Array(6).fill(required))
})
