/** Tests fresh proofs through a provider, and second factors after it. */
import { onDatabase } from '@plinth/dev/testing/database'
import { identity, loginGuard, proofMethod } from '@plinth/iam'
import { definePlugin } from '@plinth/kernel'
import t from 'tap'
import { describeOutcome, newBrowser, oidc, rejected, startWithProvider, system } from './fixtures/product.ts'
import { clientId, sign } from './fixtures/provider.ts'

const nowSeconds = () => Math.floor(Date.now() / 1000)
const fresh = { 'platform.iam.fresh-proof.enabled': true }
const change = (product: Awaited<ReturnType<typeof startWithProvider>>, claims: () => object) =>
  product.provider.changeClaims((old) => ({ ...old, ...claims() }))

onDatabase(t, 'only a login at the provider during the sign-in is a proof of identity', async (t, db) => {
  const product = await startWithProvider(t, db, { config: fresh })
  const { call } = product
  const cases: readonly (readonly [name: string, claims: () => object, outcome: string])[] = [
    ['signed in now', () => ({ auth_time: nowSeconds() }), '200'],
    ['signed in a minute ago', () => ({ auth_time: nowSeconds() - 60 }), '401 iam.proof-required'],
    ['unknown', () => ({ auth_time: undefined }), '401 iam.proof-required'],
    ['a text', () => ({ auth_time: String(nowSeconds()) }), '401 sign-in-oidc.rejected'],
  ]
  const outcomes: string[] = []
  for (const [name, claims] of cases) {
    change(product, claims)
    const signedIn = await product.signIn('kc', 'anna')
    const proof = await call('GET', '/api/v1/auth/proof?maxAgeSeconds=300', { token: signedIn.data.accessToken })
    outcomes.push(`${name}: ${describeOutcome(signedIn.code === '200' ? proof : signedIn)}`)
  }
  t.strictSame(
    outcomes,
    cases.map(([name, , outcome]) => `${name}: ${outcome}`),
  )
})

onDatabase(t, 'a user proves the identity again with the provider of the session', async (t, db) => {
  const product = await startWithProvider(t, db, { config: fresh })
  const { call } = product
  change(product, () => ({ auth_time: nowSeconds() - 60 }))
  const token = (await product.signIn('kc', 'anna')).data.accessToken as string
  const other = (await product.signIn('kc', 'bert')).data.accessToken as string
  const needsProof = async (as: string) =>
    describeOutcome(await call('GET', '/api/v1/auth/proof?maxAgeSeconds=300', { token: as }))
  const first = await call('GET', '/api/v1/auth/proof?maxAgeSeconds=300', { token })
  t.strictSame(first.data.methods, ['oidc'])

  const prove = async (name: string, { startedBy = token, completedBy = token } = {}) => {
    const browser = newBrowser()
    const begun = await call('POST', `${oidc}/kc/proof/start`, { token: startedBy, jar: browser.jar })
    const url = new URL(begun.data.url)
    t.strictSame([url.searchParams.get('max_age'), url.searchParams.get('prompt')], ['0', 'login'])
    const { search: parameters } = await browser.provider.signIn(url.href, name)
    const body = { parameters }
    return call('POST', `${oidc}/kc/proof/callback`, { token: completedBy, jar: browser.jar, body })
  }
  const now = () => change(product, () => ({ auth_time: nowSeconds() }))
  now()
  const attacks: readonly (readonly [name: string, outcome: string])[] = [
    ['another user at the provider', describeOutcome(await prove('bert'))],
    ['the session of another user completes it', describeOutcome(await prove('anna', { completedBy: other }))],
  ]
  change(product, () => ({ auth_time: nowSeconds() - 60 }))
  const old = describeOutcome(await prove('anna'))
  change(product, () => ({ auth_time: undefined }))
  const unknown = describeOutcome(await prove('anna'))
  t.strictSame([...attacks.map(([, outcome]) => outcome), old, unknown], [rejected, rejected, rejected, rejected])
  now()
  const signIn = newBrowser()
  const { search: parameters } = await product.respond('kc', 'anna', signIn)
  const mixed = await call('POST', `${oidc}/kc/proof/callback`, { token, jar: signIn.jar, body: { parameters } })
  t.equal(describeOutcome(mixed), rejected, 'a sign-in is no proof')
  t.equal(await needsProof(token), '401 iam.proof-required', 'nothing of that was a proof')
  t.strictSame(await product.rejections(), [
    'sign-in-oidc.identity-of-another-user',
    'sign-in-oidc.state-of-another-session',
    'sign-in-oidc.token-expired',
    'sign-in-oidc.response-invalid',
    'sign-in-oidc.state-of-another-purpose',
  ])

  const { code, data } = await prove('anna')
  t.equal(code, '200')
  t.equal(await needsProof(data.accessToken), '200')
  t.equal(await needsProof(token), '401 iam.token-invalid', 'the session has a new token')
  t.equal(await needsProof(other), '401 iam.proof-required', 'another session has no proof')
})

onDatabase(t, 'a provider that cannot ask for a new login is no proof method', async (t, db) => {
  const product = await startWithProvider(t, db, { config: fresh, entry: { freshProof: false } })
  change(product, () => ({ auth_time: undefined }))
  const token = (await product.signIn('kc', 'anna')).data.accessToken
  const { data } = await product.call('GET', '/api/v1/auth/proof?maxAgeSeconds=300', { token })
  t.strictSame(data.methods, [])
  // It may state the time of a redirect without having asked the user.
  change(product, () => ({ auth_time: nowSeconds() }))
  const again = (await product.signIn('kc', 'anna')).data.accessToken
  const proof = (as: string) => product.call('GET', '/api/v1/auth/proof?maxAgeSeconds=300', { token: as })
  t.equal(describeOutcome(await proof(again)), '401 iam.proof-required', 'a sign-in')
  const browser = newBrowser()
  const begun = await product.call('POST', `${oidc}/kc/proof/start`, { token: again, jar: browser.jar })
  const { search: parameters } = await browser.provider.signIn(begun.data.url, 'anna')
  const proven = await product.call('POST', `${oidc}/kc/proof/callback`, {
    token: again,
    jar: browser.jar,
    body: { parameters },
  })
  t.equal(describeOutcome(proven), rejected, 'a later login')
})

/** A stronger proof method that every user has. */
const strongMethod = definePlugin({
  id: 'strong-method',
  version: '1.0.0',
  kernel: '^1.0.0',
  contributes: [proofMethod.of({ strong: { strength: 'phishing-resistant', isAvailable: () => true } })],
  setup: () => undefined,
})

/** A second factor that every user has set up. */
const stubFactor = definePlugin({
  id: 'stub-factor',
  version: '1.0.0',
  kernel: '^1.0.0',
  contributes: [
    proofMethod.of({
      stub: { strength: 'possession', isAvailable: () => true, secondFactor: { isSetUp: () => true } },
    }),
  ],
  setup: () => undefined,
})

onDatabase(
  t,
  'a second factor is asked after the provider, unless the entry trusts the one of the provider',
  async (t, db) => {
    const product = await startWithProvider(t, db, {
      plugins: [stubFactor],
      entry: { secondFactor: { amr: ['mfa'], acr: ['urn:example:two'] } },
    })
    const before = await product.sessions()
    const required = '401 iam.second-factor-required'
    const cases: readonly (readonly [name: string, claims: object, outcome: string])[] = [
      ['no amr', {}, required],
      ['another amr', { amr: ['pwd'] }, required],
      ['amr as a text', { amr: 'mfa' }, required],
      ['another acr', { acr: '2' }, required],
      ['acr as a list', { acr: ['urn:example:two'] }, required],
      ['trusted amr', { amr: ['pwd', 'mfa'] }, '200'],
      ['trusted acr', { acr: 'urn:example:two' }, '200'],
    ]
    const outcomes: string[] = []
    for (const [name, claims] of cases) {
      change(product, () => claims)
      outcomes.push(`${name}: ${describeOutcome(await product.signIn('kc', 'anna'))}`)
    }
    t.strictSame(
      outcomes,
      cases.map(([name, , outcome]) => `${name}: ${outcome}`),
    )
    t.equal(await product.sessions(), before + 2)
  },
)

onDatabase(t, 'a logout at the provider ends a session that a second factor completed', async (t, db) => {
  const product = await startWithProvider(t, db, { plugins: [stubFactor] })
  const { provider, running, call } = product
  const waiting = await product.signIn('kc', 'anna')
  const attempt = { method: 'stub', identifier: 'anna', clientIp: '10.0.0.1', traceId: 't', userAgent: '' }
  const { pendingToken } = waiting.data
  const session = await running
    .service(identity)
    .completeSignIn(pendingToken, 'stub', { ...attempt, setHeader: () => undefined }, async () => undefined)
  const isSignedIn = async () =>
    (await call('GET', '/api/v1/iam/users/me', { token: session.accessToken })).code === '200'
  t.equal(await isSignedIn(), true)
  const iat = nowSeconds()
  const events = { 'http://schemas.openid.net/event/backchannel-logout': {} }
  const claims = { iss: provider.issuer, aud: clientId, iat, exp: iat + 60, jti: 'a', events, sub: 'anna' }
  const token = await sign(claims, provider.key, { typ: 'logout+jwt' })
  const sent = await call('POST', `${oidc}/kc/backchannel-logout`, {
    body: `logout_token=${token}`,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })
  t.equal(sent.status, 200)
  t.equal(await isSignedIn(), false)
})

onDatabase(t, 'a change of the ways to sign in needs a proof by the strongest method', async (t, db) => {
  const product = await startWithProvider(t, db, { plugins: [strongMethod], config: fresh })
  const { call, signIn } = product
  change(product, () => ({ auth_time: nowSeconds() }))
  const token = (await signIn('kc', 'anna')).data.accessToken
  const { data } = await call('GET', `${oidc}/identities`, { token })
  const required = '401 iam.proof-required'
  t.equal(describeOutcome(await call('GET', '/api/v1/auth/proof?maxAgeSeconds=300', { token })), '200')
  t.equal(describeOutcome(await call('POST', `${oidc}/kc/link/start`, { token })), required)
  const url = `${oidc}/identities/${data.identities[0].id}`
  t.equal(describeOutcome(await call('DELETE', url, { token })), required)
})

onDatabase(t, 'a sign-in that waits for a second factor ends with its identity, and with its logout', async (t, db) => {
  const product = await startWithProvider(t, db, { plugins: [stubFactor] })
  const { provider, running, call, accounts } = product
  const attempt = { method: 'stub', identifier: 'anna', clientIp: '10.0.0.1', traceId: 't', userAgent: '' }
  const complete = (pendingToken: string) =>
    running
      .service(identity)
      .completeSignIn(pendingToken, 'stub', { ...attempt, setHeader: () => undefined }, async () => undefined)
      .then(
        () => 'a session',
        (error) => error.reason as string,
      )
  const first = await product.signIn('kc', 'anna')
  const iat = nowSeconds()
  const events = { 'http://schemas.openid.net/event/backchannel-logout': {} }
  const claims = { iss: provider.issuer, aud: clientId, iat, exp: iat + 60, jti: 'b', events, sub: 'anna' }
  const sent = await call('POST', `${oidc}/kc/backchannel-logout`, {
    body: `logout_token=${await sign(claims, provider.key, { typ: 'logout+jwt' })}`,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })
  t.equal(sent.status, 200)
  t.equal(await complete(first.data.pendingToken), 'iam.pending-sign-in-invalid', 'after the logout')

  const second = await product.signIn('kc', 'anna')
  const [row] = await product.db.query<{ user_id: number; provider: string }>(
    "select user_id, provider from iam_external_identity where subject = 'anna'",
  )
  const userId = Number(row?.user_id)
  const spare = { provider: 'spare', chainType: 'spare', subject: 'anna' }
  await accounts.bindExternal(userId, spare, system)
  await accounts.unbindExternal(userId, { provider: String(row?.provider), subject: 'anna' }, system)
  t.equal(await complete(second.data.pendingToken), 'iam.pending-sign-in-invalid', 'after the identity was removed')
})

/** Runs work in the middle of the next sign-in: before the account is read again, or after the session was opened. */
function interruption() {
  const state: { stage?: 'before' | 'after'; work: () => Promise<void> } = { work: async () => {} }
  const at = (stage: 'before' | 'after') => async () => {
    if (state.stage !== stage) return
    delete state.stage
    await state.work()
  }
  const plugin = definePlugin({
    id: 'test.interruption',
    version: '1.0.0',
    kernel: '^1.0.0',
    contributes: [loginGuard.of({ interruption: { beforeAttempt: at('before'), afterAttempt: at('after') } })],
    setup: () => undefined,
  })
  return { state, plugin }
}

for (const [kind, factors] of Object.entries({ 'a session': [], 'a sign-in that waits': [stubFactor] }))
  onDatabase(t, `an identity that is unlinked during a sign-in opens no session: ${kind}`, async (t, db) => {
    const { state, plugin } = interruption()
    const product = await startWithProvider(t, db, { plugins: [plugin, ...factors] })
    const { signIn, call, identity, accounts } = product
    const query = async (sql: string) => product.db.query<{ readonly id: number }>(sql)
    const [admin] = await query("select id from iam_user where username = 'admin'")
    const origin = { ...system, method: 'test', identifier: 'admin', secondFactor: 'stub', setHeader: () => {} }
    const { accessToken: token } = await identity.openSession(Number(admin?.id), origin)
    for (const stage of ['before', 'after'] as const) {
      await signIn('kc', stage)
      const [row] = await query('select id, user_id from oidc_identity')
      const userId = Number((row as { readonly user_id?: number } | undefined)?.user_id)
      await accounts.bindExternal(userId, { provider: 'spare', chainType: 'spare', subject: stage }, system)
      state.work = async () => {
        const removed = await call('DELETE', `/api/v1/admin/oidc/identities/${row?.id}`, { token })
        t.equal(describeOutcome(removed), '200')
      }
      state.stage = stage
      t.equal(describeOutcome(await signIn('kc', stage)), rejected, stage)
      t.strictSame(await identity.sessionsOpenedBy(userId, 'oidc'), [], `${stage}: no session`)
      for (const table of ['iam_pending_sign_in', 'oidc_sign_in', 'oidc_identity'])
        t.strictSame(await query(`select id from ${table}`), [], `${stage}: ${table}`)
    }
  })

onDatabase(t, 'a session whose role lives longer later still ends by a logout at the provider', async (t, db) => {
  const product = await startWithProvider(t, db, { config: { 'platform.iam.token.lifetime': '30d' } })
  const { signIn, accounts, call, adminToken } = product
  const role = { code: 'short', name: 'short', dataScope: 'self', permissions: [] }
  const created = await call('POST', '/api/v1/admin/iam/roles', { token: await adminToken(), body: role })
  await product.db.execute('update iam_role set session_lifetime = ? where id = ?', [3_600_000, created.data.id])
  const first = (await signIn('kc', 'anna')).data.accessToken
  const anna = (await call('GET', '/api/v1/iam/users/me', { token: first })).data
  await accounts.adjustGrants(anna.id, async () => ({ add: [created.data.id], remove: [] }), system)
  const { data } = await signIn('kc', 'anna')
  t.ok(Date.parse(data.expiresAt) < Date.now() + 2 * 3_600_000, 'the rule of the role')
  t.notOk('maxExpiresAt' in data)
  const records = await product.db.query<{ readonly expires_at: string }>('select expires_at from oidc_sign_in')
  t.equal(records.length, 2)
  for (const { expires_at: end } of records) t.ok(new Date(end).getTime() > Date.now() + 29 * 86_400_000)
})
