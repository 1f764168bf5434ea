/** Tests that an identity of a provider never reaches the account of another person. */
import { onDatabase } from '@plinth/dev/testing/database'
import t from 'tap'
import { issuerKeyOf } from '../src/providers.ts'
import {
  administrator,
  describeOutcome,
  entryOf,
  newBrowser,
  oidc,
  providersKey,
  redirectUri,
  secretsKey,
  startOidc,
  startWithProvider,
  system,
} from './fixtures/product.ts'
import { clientId, clientSecret, startProvider } from './fixtures/provider.ts'

const me = async (product: Awaited<ReturnType<typeof startOidc>>, token: string) =>
  (await product.call('GET', '/api/v1/iam/users/me', { token })).data

onDatabase(t, 'the same subject of two issuers is two accounts', async (t, db) => {
  const [a, b] = [
    await startProvider(t, { redirectUris: [redirectUri('a')] }),
    await startProvider(t, { redirectUris: [redirectUri('b')] }),
  ]
  const entries = { a: entryOf(a, { createAccounts: true }), b: entryOf(b, { createAccounts: true }) }
  const product = await startOidc(t, db, { providers: entries })
  const names = { preferred_username: 'anna' }
  a.users.set('1', names)
  b.users.set('1', names)
  const first = await me(product, (await product.signIn('a', '1')).data.accessToken)
  const second = await me(product, (await product.signIn('b', '1')).data.accessToken)
  t.not(first.id, second.id)
  t.equal(first.username, 'anna')
  t.match(second.username, /^anna_[0-9a-f]{8}$/, 'the name of another account gets a suffix')
  // A subject that is the id of a user means nothing.
  const numeric = await me(product, (await product.signIn('a', String(first.id))).data.accessToken)
  t.not(numeric.id, first.id)
})

onDatabase(t, 'a provider id that gets another issuer does not open the accounts of the former one', async (t, db) => {
  const [old, next] = [
    await startProvider(t, { redirectUris: [redirectUri('kc')] }),
    await startProvider(t, { redirectUris: [redirectUri('kc')] }),
  ]
  const product = await startOidc(t, db, {
    providers: { kc: entryOf(old, { createAccounts: true }) },
    hosts: [next.host],
  })
  const { centre } = product
  const before = await me(product, (await product.signIn('kc', 'anna')).data.accessToken)
  const secret = { issuer: next.issuer, clientId, secret: clientSecret }
  const changes = [
    { key: providersKey, action: 'set', value: { kc: entryOf(next, { createAccounts: false }) } },
    { key: secretsKey, action: 'set', value: { kc: secret } },
  ] as const
  await centre.save(changes as never, { actor: { name: 'test' } })
  t.equal(describeOutcome(await product.signIn('kc', 'anna')), '403 sign-in-oidc.account-missing')
  await centre.save(
    [{ key: providersKey, action: 'set', value: { kc: entryOf(next, { createAccounts: true }) } }] as never,
    { actor: { name: 'test' } },
  )
  const after = await me(product, (await product.signIn('kc', 'anna')).data.accessToken)
  t.not(after.id, before.id)
})

onDatabase(t, 'an e-mail address, a name or an id at the provider never opens an existing account', async (t, db) => {
  const product = await startWithProvider(t, db)
  const { accounts, provider } = product
  const boss = await accounts.create(
    { username: 'boss', email: 'boss@example.com', password: administrator.password },
    system,
  )
  const claims: readonly Record<string, unknown>[] = [
    { email: 'boss@example.com', email_verified: true },
    { email: 'boss@example.com', email_verified: false },
    { email: 'BOSS@example.com', email_verified: true, preferred_username: 'boss' },
    { preferred_username: 'admin' },
    { preferred_username: 'ADMIN', nickname: 'admin' },
  ]
  const found: string[] = []
  for (const [index, claim] of claims.entries()) {
    provider.users.set(`user-${index}`, claim)
    const { data } = await product.signIn('kc', `user-${index}`)
    const user = await me(product, data.accessToken)
    found.push(
      `${user.id === boss.id || user.username === 'admin' ? 'taken over' : 'new'} ${user.roles.length} ${user.email}`,
    )
  }
  t.strictSame(
    found,
    claims.map(() => 'new 0 null'),
  )
  t.equal(describeOutcome(await product.signIn('kc', String(boss.id))), '200')
  t.strictSame((await product.db.query('select id from iam_external_identity where user_id = ?', [boss.id])).length, 0)
  // A name that looks like the address of a wallet would impersonate its owner.
  const wallet = `0x${'ab'.repeat(20)}`
  provider.users.set('wallet', { preferred_username: wallet })
  const named = await me(product, (await product.signIn('kc', 'wallet')).data.accessToken)
  t.match(named.username, /^kc_/)
})

onDatabase(t, 'without the creation of accounts, only linked identities sign in', async (t, db) => {
  const product = await startWithProvider(t, db, { entry: { createAccounts: false } })
  product.provider.users.set('anna', { preferred_username: 'anna' })
  t.equal(describeOutcome(await product.signIn('kc', 'anna')), '403 sign-in-oidc.account-missing')
  t.equal(await product.accounts.findByUsername('anna'), undefined)
  t.strictSame(await product.rejections(), ['sign-in-oidc.account-missing'])
})

onDatabase(t, 'a linked identity belongs to one user, who keeps at least one way to sign in', async (t, db) => {
  const product = await startWithProvider(t, db)
  const { call, accounts, provider } = product
  for (const name of ['anna', 'boss']) provider.users.set(name, { preferred_username: name })
  const anna = newBrowser()
  const annaToken = (await product.signIn('kc', 'anna', anna)).data.accessToken
  const admin = await product.adminToken()
  const link = async (token: string, name: string) => {
    const browser = newBrowser()
    const begun = await call('POST', `${oidc}/kc/link/start`, { token, jar: browser.jar })
    const { search: parameters } = await browser.provider.signIn(begun.data.url, name)
    return call('POST', `${oidc}/kc/link/callback`, { token, jar: browser.jar, body: { parameters } })
  }
  t.equal(describeOutcome(await link(admin, 'anna')), '409 iam.external-identity-taken')
  t.strictSame((await link(admin, 'boss')).data, { provider: 'kc', subjectShown: 'boss', title: 'kc' })
  const identitiesOf = async (token: string) => (await call('GET', `${oidc}/identities`, { token })).data.identities
  const [own] = await identitiesOf(annaToken)
  const [other] = await identitiesOf(admin)
  t.match(own, { provider: 'kc', title: 'kc', subjectShown: 'anna', issuer: provider.issuer })
  const remove = (token: string, id: number) => call('DELETE', `${oidc}/identities/${id}`, { token })
  t.equal(describeOutcome(await remove(annaToken, other.id)), '404 sign-in-oidc.identity-unknown', 'of another user')
  t.equal(describeOutcome(await remove(annaToken, own.id)), '409 iam.last-sign-in-way')
  t.equal(describeOutcome(await product.signIn('kc', 'anna')), '200', 'it still signs in')
  const signedIn = (await product.signIn('kc', 'boss')).data.accessToken
  t.equal(describeOutcome(await remove(admin, other.id)), '200')
  t.equal(describeOutcome(await call('GET', '/api/v1/iam/users/me', { token: signedIn })), '401 iam.token-invalid')
  t.equal(describeOutcome(await call('GET', '/api/v1/iam/users/me', { token: admin })), '200', 'other sessions stay')
  const boss = await me(product, (await product.signIn('kc', 'boss')).data.accessToken)
  t.not(boss.username, administrator.username, 'the removed identity is a stranger')
  t.equal((await accounts.findByUsername('boss'))?.id, boss.id)
})

onDatabase(t, 'a disabled user gets no session, and the running ones end', async (t, db) => {
  const product = await startWithProvider(t, db)
  const token = (await product.signIn('kc', 'anna')).data.accessToken
  const user = await me(product, token)
  const admin = await product.adminToken()
  const body = { enabled: false, version: user.version }
  t.equal(
    describeOutcome(await product.call('PUT', `/api/v1/admin/iam/users/${user.id}`, { token: admin, body })),
    '200',
  )
  t.equal(describeOutcome(await product.call('GET', '/api/v1/iam/users/me', { token })), '401 iam.token-invalid')
  t.equal(describeOutcome(await product.signIn('kc', 'anna')), '403 iam.user-disabled')
})

onDatabase(t, 'a domain rule parses addresses, and needs their confirmation', async (t, db) => {
  const product = await startWithProvider(t, db, { entry: { allowedDomains: ['company.example', 'xn--fsq.example'] } })
  const cases: readonly (readonly [email: unknown, verified: unknown, outcome: string])[] = [
    ['anna@company.example', true, '200'],
    ['anna@COMPANY.example', true, '200'],
    ['anna@例.example', true, '200'],
    ['anna@company.example', false, '403 sign-in-oidc.domain-not-allowed'],
    ['anna@company.example', 'true', '403 sign-in-oidc.domain-not-allowed'],
    ['anna@company.example', undefined, '403 sign-in-oidc.domain-not-allowed'],
    ['evil@company.example@attacker.example', true, '403 sign-in-oidc.domain-not-allowed'],
    ['evil@attacker@company.example', true, '403 sign-in-oidc.domain-not-allowed'],
    ['evil@company.example.attacker.example', true, '403 sign-in-oidc.domain-not-allowed'],
    ['evil@notcompany.example', true, '403 sign-in-oidc.domain-not-allowed'],
    ['@company.example', true, '403 sign-in-oidc.domain-not-allowed'],
    ['evil@attacker.example\n@company.example', true, '403 sign-in-oidc.domain-not-allowed'],
    [['anna@company.example'], true, '403 sign-in-oidc.domain-not-allowed'],
    [undefined, true, '403 sign-in-oidc.domain-not-allowed'],
  ]
  const outcomes: string[] = []
  for (const [index, [email, email_verified]] of cases.entries()) {
    product.provider.changeClaims((old) => ({ ...old, sub: `user-${index}`, email, email_verified }))
    // The user info must not confirm the address of the ID token.
    product.provider.rewrite.set('/me', () => JSON.stringify({ sub: `user-${index}`, email_verified: true }))
    outcomes.push(describeOutcome(await product.signIn('kc', 'any')))
  }
  t.strictSame(
    outcomes,
    cases.map(([, , outcome]) => outcome),
  )
})

onDatabase(
  t,
  'users of a domain of the provider cannot use their password after they have linked it',
  async (t, db) => {
    const product = await startWithProvider(t, db, { entry: { exclusiveDomains: ['company.example'] } })
    const { accounts, call } = product
    const password = administrator.password
    const anna = await accounts.create({ username: 'anna', email: 'anna@company.example', password }, system)
    await accounts.create({ username: 'bert', email: 'bert@elsewhere.example', password }, system)
    const logIn = (username: string, text = password) =>
      call('POST', '/api/v1/auth/login', { body: { username, password: text } })
    t.equal(describeOutcome(await logIn('anna')), '200', 'not linked yet')
    const linked = (subject: string) => ({ provider: issuerKeyOf(product.provider.issuer), chainType: 'oidc', subject })
    await accounts.bindExternal(anna.id, linked('anna'), system)
    const required = '403 sign-in-oidc.provider-required'
    t.equal(describeOutcome(await logIn('anna')), required)
    t.equal(describeOutcome(await logIn('ANNA@company.example')), required)
    t.equal(
      describeOutcome(await logIn('anna', 'wrong password 1')),
      '401 iam.login-failed',
      'a stranger learns nothing',
    )
    t.equal(describeOutcome(await logIn('bert')), '200')
    const root = await accounts.createSuperAdministrator(
      { username: 'root', email: 'root@company.example', password },
      system,
    )
    await accounts.bindExternal(root.id, linked('root'), system)
    t.equal(describeOutcome(await logIn('root')), '200', 'a super administrator is not locked out by the provider')
  },
)

onDatabase(t, 'a user of an exclusive domain cannot go around its provider', async (t, db) => {
  const [company, other] = [
    await startProvider(t, { redirectUris: [redirectUri('company')] }),
    await startProvider(t, { redirectUris: [redirectUri('other')] }),
  ]
  const product = await startOidc(t, db, {
    providers: { company: entryOf(company, { exclusiveDomains: ['company.example'] }), other: entryOf(other) },
  })
  const { accounts, call } = product
  const password = administrator.password
  const logIn = (username: string) => call('POST', '/api/v1/auth/login', { body: { username, password } })
  const link = async (token: string, id: string, name: string) => {
    const browser = newBrowser()
    const begun = await call('POST', `${oidc}/${id}/link/start`, { token, jar: browser.jar })
    const { search: parameters } = await browser.provider.signIn(begun.data.url, name)
    return call('POST', `${oidc}/${id}/link/callback`, { token, jar: browser.jar, body: { parameters } })
  }
  // The account has no address. Only the provider knows one.
  const anna = await accounts.create({ username: 'anna', password }, system)
  company.users.set('anna', { email: 'Anna@Company.example', email_verified: true })
  const token = (await logIn('anna')).data.accessToken
  t.equal(describeOutcome(await link(token, 'other', 'anna')), '200')
  t.equal(describeOutcome(await link(token, 'company', 'anna')), '200')
  const required = '403 sign-in-oidc.provider-required'
  t.strictSame(
    {
      'the password': describeOutcome(await logIn('anna')),
      'another linked provider': describeOutcome(await product.signIn('other', 'anna')),
      'the provider': describeOutcome(await product.signIn('company', 'anna')),
    },
    { 'the password': required, 'another linked provider': required, 'the provider': '200' },
  )
  const { identities } = (await call('GET', `${oidc}/identities`, { token })).data
  const idOf = (provider: string) =>
    identities.find((one: { readonly provider: string }) => one.provider === provider).id as number
  const remove = (id: number, by: string, at = oidc) => call('DELETE', `${at}/identities/${id}`, { token: by })
  t.equal(describeOutcome(await remove(idOf('company'), token)), '409 sign-in-oidc.identity-required')
  t.equal(describeOutcome(await remove(idOf('other'), token)), '200', 'another identity may go')
  // A later login without a confirmed address does not remove the domain.
  company.users.set('anna', { email: 'anna@elsewhere.example', email_verified: false })
  t.equal(describeOutcome(await product.signIn('company', 'anna')), '200')
  t.equal(describeOutcome(await logIn('anna')), required)
  const admin = await product.adminToken()
  t.equal(describeOutcome(await remove(idOf('company'), admin, '/api/v1/admin/oidc')), '200')
  t.equal(describeOutcome(await logIn('anna')), '200', 'an administrator removed the link')
  t.equal(await accounts.hasExternal(anna.id, issuerKeyOf(company.issuer)), false)
})

onDatabase(t, 'an identity of a provider that nobody configures any more is no way to sign in', async (t, db) => {
  const [gone, kept] = [
    await startProvider(t, { redirectUris: [redirectUri('gone')] }),
    await startProvider(t, { redirectUris: [redirectUri('kept')] }),
  ]
  const entries = { gone: entryOf(gone), kept: entryOf(kept, { createAccounts: true }) }
  const product = await startOidc(t, db, { providers: entries })
  const { accounts, call, centre } = product
  const token = (await product.signIn('kept', 'anna')).data.accessToken
  const { id: userId } = await me(product, token)
  const identity = { provider: issuerKeyOf(gone.issuer), chainType: 'oidc', subject: 'anna' }
  await accounts.bindExternal(userId, identity, system)
  const disabled = { ...entries.gone, enabled: false }
  const changes = [{ key: providersKey, action: 'set', value: { ...entries, gone: disabled } }]
  await centre.save(changes as never, { actor: { name: 'test' } })
  const [own] = (await call('GET', `${oidc}/identities`, { token })).data.identities
  const remove = () => call('DELETE', `${oidc}/identities/${own.id}`, { token })
  t.equal(describeOutcome(await remove()), '409 iam.last-sign-in-way')
  t.equal(describeOutcome(await product.signIn('kept', 'anna')), '200', 'it still signs in')
  await accounts.unbindExternal(userId, identity, system)
  t.equal(await accounts.hasExternal(userId, identity.provider), false, 'the unusable identity may go')
})

onDatabase(t, 'an identity that may not sign in cannot be linked', async (t, db) => {
  const product = await startWithProvider(t, db, { entry: { allowedDomains: ['company.example'] } })
  const { call, provider } = product
  const token = await product.adminToken()
  const link = async (email: string) => {
    provider.users.set(email, { email, email_verified: true })
    const browser = newBrowser()
    const begun = await call('POST', `${oidc}/kc/link/start`, { token, jar: browser.jar })
    const { search: parameters } = await browser.provider.signIn(begun.data.url, email)
    return describeOutcome(
      await call('POST', `${oidc}/kc/link/callback`, { token, jar: browser.jar, body: { parameters } }),
    )
  }
  t.equal(await link('anna@elsewhere.example'), '403 sign-in-oidc.domain-not-allowed')
  t.equal(await link('anna@company.example'), '200')
})
