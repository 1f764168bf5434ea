/** Tests the logout at both ends: valid requests end sessions, and all others end none. */
import { onDatabase } from '@plinth/dev/testing/database'
import t from 'tap'
import { describeOutcome, newBrowser, oidc, startWithProvider } from './fixtures/product.ts'
import { claimsOf, clientId, encoded, newSigningKey, type SigningKey, sign } from './fixtures/provider.ts'

const event = 'http://schemas.openid.net/event/backchannel-logout'

/** Starts a product with a signed-in user. `sid` is the session at the provider. */
async function startSignedIn(...[t, db, settings]: Parameters<typeof startWithProvider>) {
  const product = await startWithProvider(t, db, settings)
  const { provider, call } = product
  let sid = ''
  provider.changeToken((token) => {
    sid = String(claimsOf(token)['sid'])
    return token
  })
  const signIn = async (name: string, browser = newBrowser()) => {
    const { data } = await product.signIn('kc', name, browser)
    return { token: data.accessToken as string, sid }
  }
  const isSignedIn = async (token: string) => (await call('GET', '/api/v1/iam/users/me', { token })).code === '200'
  let count = 0
  const claims = (more: object = {}) => {
    const iat = Math.floor(Date.now() / 1000)
    count += 1
    const usual = {
      iss: provider.issuer,
      aud: clientId,
      iat,
      exp: iat + 120,
      jti: `token-${count}`,
      events: { [event]: {} },
    }
    return { ...usual, ...more } as Record<string, unknown>
  }
  const tokenOf = (more: object = {}, header: object = {}, key: SigningKey = provider.key) =>
    sign(claims(more), key, { typ: 'logout+jwt', ...header })
  const send = async (token: string, from = '10.1.1.1') =>
    call('POST', `${oidc}/kc/backchannel-logout`, {
      body: `logout_token=${token}`,
      from,
      headers: { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'cross-site' },
    })
  return { ...product, signIn, isSignedIn, claims, tokenOf, send }
}

onDatabase(t, 'logout tokens that are not valid end no session', async (t, db) => {
  const { signIn, isSignedIn, tokenOf, claims, send } = await startSignedIn(t, db)
  const { token, sid } = await signIn('anna')
  const about = { sub: 'anna', sid }
  const stranger = await newSigningKey('first')
  const unsigned = `${encoded({ alg: 'none', typ: 'logout+jwt' })}.${encoded(claims(about))}.`
  const now = Math.floor(Date.now() / 1000)
  const cases: readonly (readonly [name: string, token: string])[] = [
    ['wrong type', await tokenOf(about, { typ: 'JWT' })],
    ['no type', await tokenOf(about, { typ: undefined })],
    ['a nonce', await tokenOf({ ...about, nonce: 'n' })],
    ['no events', await tokenOf({ ...about, events: undefined })],
    ['another event', await tokenOf({ ...about, events: { 'http://example.com/event': {} } })],
    ['an event that is no object', await tokenOf({ ...about, events: { [event]: true } })],
    ['events that are a list', await tokenOf({ ...about, events: [event] })],
    ['another audience', await tokenOf({ ...about, aud: 'another-client' })],
    ['another issuer', await tokenOf({ ...about, iss: 'http://127.0.0.1:1' })],
    ['neither sub nor sid', await tokenOf({})],
    ['no jti', await tokenOf({ ...about, jti: undefined })],
    ['no iat', await tokenOf({ ...about, iat: undefined })],
    ['no exp', await tokenOf({ ...about, exp: undefined })],
    ['expired', await tokenOf({ ...about, exp: now - 60 })],
    ['issued 5 minutes ago', await tokenOf({ ...about, iat: now - 300 })],
    ['issued in the future', await tokenOf({ ...about, iat: now + 300, exp: now + 400 })],
    ['unsigned', unsigned],
    ['the key of a stranger', await tokenOf(about, {}, stranger)],
    ['an unknown key', await tokenOf(about, { kid: 'unknown' })],
    ['not a token', 'abc'],
    ['empty', ''],
  ]
  const results: string[] = []
  for (const [name, text] of cases) results.push(`${name}: ${(await send(text)).status}`)
  t.strictSame(
    results,
    cases.map(([name]) => `${name}: 400`),
  )
  t.equal(await isSignedIn(token), true)
  const valid = await tokenOf(about)
  const [first, second] = [await send(valid), await send(valid)]
  t.strictSame([first.status, first.headers['cache-control'], first.body], [200, 'no-store', ''])
  t.equal(second.status, 400, 'the same jti twice')
  t.equal(await isSignedIn(token), false)
})

onDatabase(t, 'a logout token ends the sessions of its session at the provider, or of its subject', async (t, db) => {
  const { signIn, isSignedIn, tokenOf, send } = await startSignedIn(t, db)
  const browser = newBrowser()
  const [one, two] = [await signIn('anna', browser), await signIn('anna')]
  const bert = await signIn('bert')
  t.not(one.sid, two.sid)
  const state = async () => [await isSignedIn(one.token), await isSignedIn(two.token), await isSignedIn(bert.token)]
  t.equal((await send(await tokenOf({ sid: one.sid }))).status, 200)
  t.strictSame(await state(), [false, true, true], 'only the session at the provider that ended')
  t.equal((await send(await tokenOf({ sub: 'bert', sid: two.sid }))).status, 200)
  t.strictSame(await state(), [false, true, true], 'the session at the provider is of another subject')
  t.equal((await send(await tokenOf({ sub: 'anna' }))).status, 200)
  t.strictSame(await state(), [false, false, true], 'all sessions of the subject')
  t.equal((await send(await tokenOf({ sub: 'nobody' }))).status, 200, 'the subject is unknown')
})

onDatabase(t, 'a provider entry can accept logout tokens without the type', async (t, db) => {
  const { signIn, isSignedIn, tokenOf, send } = await startSignedIn(t, db, { entry: { requireLogoutType: false } })
  const { token } = await signIn('anna')
  t.equal((await send(await tokenOf({ sub: 'anna' }, { typ: undefined }))).status, 200)
  t.equal(await isSignedIn(token), false)
})

onDatabase(t, 'the logout endpoints limit requests, and answer for unknown providers', async (t, db) => {
  const { call, tokenOf, send } = await startSignedIn(t, db, {
    config: { 'platform.rate-limit.enabled': true, 'platform.sign-in-oidc.rate-limit.ip-max-attempts': 3 },
  })
  const unknown = await call('POST', `${oidc}/nobody/backchannel-logout`, {
    from: '10.1.1.2',
    body: `logout_token=${await tokenOf()}`,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })
  t.equal(unknown.status, 400)
  const statuses: number[] = []
  for (let count = 0; count < 5; count++) statuses.push((await send('abc')).status)
  t.strictSame(statuses, [400, 400, 400, 429, 429])
  t.equal((await send('abc', '10.2.2.2')).status, 400, 'another network')
  const completed = async () =>
    describeOutcome(
      await call('POST', `${oidc}/kc/callback`, { from: '10.1.1.1', body: { parameters: 'code=a&state=b' } }),
    )
  t.strictSame(
    [await completed(), await completed(), await completed(), await completed()],
    [...Array(3).fill('401 sign-in-oidc.rejected'), '429 rate-limit.exceeded'],
  )
  const begun = async () => describeOutcome(await call('POST', `${oidc}/kc/start`, { from: '10.1.1.1', body: {} }))
  t.strictSame(
    [await begun(), await begun(), await begun(), await begun()],
    ['200', '200', '200', '429 rate-limit.exceeded'],
    'starts are counted apart',
  )
})

onDatabase(t, 'front-channel logout works from issuer and session, and only if the entry allows it', async (t, db) => {
  const off = await startSignedIn(t, db)
  const first = await off.signIn('anna')
  const get = (product: typeof off, query: object) =>
    product.call('GET', `${oidc}/kc/frontchannel-logout?${new URLSearchParams({ ...query })}`, {
      headers: { 'sec-fetch-site': 'cross-site' },
    })
  t.equal((await get(off, { iss: off.provider.issuer, sid: first.sid })).status, 400)
  t.equal(await off.isSignedIn(first.token), true)
})

onDatabase(t, 'a page of the provider ends the session in its frame', async (t, db) => {
  const product = await startSignedIn(t, db, { entry: { frontChannelLogout: true } })
  const { call, provider, isSignedIn } = product
  const { token, sid } = await product.signIn('anna')
  const get = (query: Record<string, string>) =>
    call('GET', `${oidc}/kc/frontchannel-logout?${new URLSearchParams(query)}`, {
      headers: { 'sec-fetch-site': 'cross-site' },
    })
  const statuses = [
    await get({ sid }),
    await get({ iss: 'http://127.0.0.1:1', sid }),
    await get({ iss: provider.issuer }),
    await get({ iss: provider.issuer, sid: '' }),
  ].map(({ status }) => status)
  t.strictSame(statuses, [400, 400, 400, 400])
  t.equal(await isSignedIn(token), true)
  const response = await get({ iss: provider.issuer, sid })
  t.equal(response.status, 200)
  t.equal(response.headers['content-security-policy'], `default-src 'none'; frame-ancestors ${provider.issuer}`)
  t.equal(response.headers['x-frame-options'], undefined)
  t.equal(await isSignedIn(token), false)
})

onDatabase(t, 'the logout of a user ends the session, and leads to the provider', async (t, db) => {
  const { signIn, isSignedIn, call, provider, adminToken, db: database } = await startSignedIn(t, db)
  const { token } = await signIn('anna')
  const [stored] = await database.query<{ id_token: string }>('select id_token from oidc_sign_in')
  t.notMatch(stored?.id_token, /eyJ/, 'the ID token is encrypted')
  const ended = await call('POST', `${oidc}/logout`, { token, body: {} })
  const url = new URL(ended.data.url)
  t.equal(`${url.origin}${url.pathname}`, `${provider.issuer}/session/end`)
  t.equal(url.searchParams.get('post_logout_redirect_uri'), 'https://app.example.com/admin')
  t.equal(claimsOf(url.searchParams.get('id_token_hint') ?? '')['sub'], 'anna')
  t.equal(await isSignedIn(token), false)
  const other = await call('POST', `${oidc}/logout`, { token: await adminToken(), body: {} })
  t.strictSame(other.data, { url: null }, 'a session without a provider')
})

onDatabase(t, 'a logout token is not rejected because the keys of the provider cannot be read', async (t, db) => {
  const { signIn, isSignedIn, tokenOf, send, provider } = await startSignedIn(t, db)
  const { token } = await signIn('anna')
  const text = await tokenOf({ sub: 'anna' })
  provider.takeover.set('/jwks', (_request, response) => void response.writeHead(500).end())
  t.equal((await send(text)).status, 503)
  t.equal(await isSignedIn(token), true)
  provider.takeover.delete('/jwks')
  t.equal((await send(text)).status, 200, 'the token is not used up')
  t.equal(await isSignedIn(token), false)
})

onDatabase(t, 'valid logout tokens do not use up the limit of the provider', async (t, db) => {
  const { signIn, isSignedIn, tokenOf, send } = await startSignedIn(t, db, {
    config: { 'platform.rate-limit.enabled': true, 'platform.sign-in-oidc.rate-limit.ip-max-attempts': 3 },
  })
  const statuses: number[] = []
  // Users who sign in and out often cause many of them.
  for (let count = 0; count < 5; count++) statuses.push((await send(await tokenOf({ sub: 'busy' }))).status)
  const { token } = await signIn('anna')
  statuses.push((await send(await tokenOf({ sub: 'anna' }))).status)
  t.strictSame(statuses, Array(6).fill(200))
  t.equal(await isSignedIn(token), false)
})

onDatabase(t, 'a logout token whose effect failed can be sent again', async (t, db) => {
  const { signIn, isSignedIn, tokenOf, send, db: database } = await startSignedIn(t, db)
  const { token } = await signIn('anna')
  const text = await tokenOf({ sub: 'anna' })
  await database.execute('alter table oidc_sign_in rename to oidc_sign_in_away', [])
  t.equal((await send(text)).status, 500)
  await database.execute('alter table oidc_sign_in_away rename to oidc_sign_in', [])
  t.equal(await isSignedIn(token), true)
  t.equal((await send(text)).status, 200)
  t.equal(await isSignedIn(token), false)
})

onDatabase(t, 'a logout token with a session ends sign-ins whose ID token named none', async (t, db) => {
  const { signIn, isSignedIn, tokenOf, send, provider } = await startSignedIn(t, db)
  provider.changeClaims(({ sid: _, ...claims }) => claims)
  const [anna, bert] = [await signIn('anna'), await signIn('bert')]
  t.equal((await send(await tokenOf({ sub: 'anna', sid: 'a-session' }))).status, 200)
  t.strictSame([await isSignedIn(anna.token), await isSignedIn(bert.token)], [false, true])
})
