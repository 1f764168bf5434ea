/** Tests callbacks that do not belong to the browser, the session, the provider or the moment that began them. */

import { onDatabase } from '@plinth/dev/testing/database'
import type { HttpReply } from '@plinth/http'
import t from 'tap'
import { safeReturnPath } from '../src/return-path.ts'
import { Transactions } from '../src/transactions.ts'
import {
  administrator,
  describeOutcome,
  entryOf,
  Jar,
  newBrowser,
  oidc,
  redirectUri,
  rejected,
  startOidc,
  startWithProvider,
} from './fixtures/product.ts'
import { startProvider } from './fixtures/provider.ts'

type Product = Awaited<ReturnType<typeof startOidc>>

/** Each case returns the outcome of an attack. The reason is only in the audit. */
const attacks: readonly (readonly [name: string, attack: (product: Product) => Promise<string>, reason: string])[] = [
  [
    'login CSRF: the victim opens the callback of the attacker',
    async ({ respond, callback }) => {
      const { search } = await respond('kc', 'mallory')
      return describeOutcome(await callback('kc', search, { jar: new Jar() }))
    },
    'state-of-another-browser',
  ],
  [
    'the victim has an open transaction of his own',
    async ({ respond, callback, start }) => {
      const { search } = await respond('kc', 'mallory')
      const victim = newBrowser()
      await start('kc', { jar: victim.jar })
      return describeOutcome(await callback('kc', search, { jar: victim.jar }))
    },
    'state-of-another-browser',
  ],
  [
    'the cookie of the attacker under the name of another transaction',
    async ({ respond, callback }) => {
      const [mallory, victim] = [newBrowser(), newBrowser()]
      const { search } = await respond('kc', 'mallory', mallory)
      await respond('kc', 'victim', victim)
      const [name = ''] = mallory.jar.cookies.keys()
      const [other = ''] = victim.jar.cookies.values()
      victim.jar.cookies.set(name, other)
      return describeOutcome(await callback('kc', search, { jar: victim.jar }))
    },
    'state-of-another-browser',
  ],
  [
    'the same callback twice',
    async ({ respond, callback }) => {
      const browser = newBrowser()
      const { search } = await respond('kc', 'anna', browser)
      const cookie = browser.jar.header
      await callback('kc', search, { jar: browser.jar })
      return describeOutcome(await callback('kc', search, { headers: { cookie } }))
    },
    'state-unknown',
  ],
  [
    'unknown state',
    async ({ callback }) => describeOutcome(await callback('kc', 'code=abc&state=made-up')),
    'state-unknown',
  ],
  ['no state', async ({ callback }) => describeOutcome(await callback('kc', 'code=abc')), 'state-unknown'],
  ['no parameters', async ({ callback }) => describeOutcome(await callback('kc', '')), 'state-unknown'],
  [
    'callback at the path of another provider',
    async ({ respond, callback }) => {
      const browser = newBrowser()
      const { search } = await respond('kc', 'anna', browser)
      return describeOutcome(await callback('other', search, { jar: browser.jar }))
    },
    'state-of-another-provider',
  ],
  [
    'code injection: the code of another transaction with the own state',
    async ({ respond, callback }) => {
      const browser = newBrowser()
      const stolen = (await respond('kc', 'victim')).searchParams.get('code') ?? ''
      const own = await respond('kc', 'mallory', browser)
      own.searchParams.set('code', stolen)
      return describeOutcome(await callback('kc', own.search, { jar: browser.jar }))
    },
    'code-rejected',
  ],
  [
    'a code that was used before',
    async ({ respond, callback }) => {
      const [first, second] = [newBrowser(), newBrowser()]
      const used = await respond('kc', 'anna', first)
      await callback('kc', used.search, { jar: first.jar })
      const own = await respond('kc', 'anna', second)
      own.searchParams.set('code', used.searchParams.get('code') ?? '')
      return describeOutcome(await callback('kc', own.search, { jar: second.jar }))
    },
    'code-rejected',
  ],
  [
    'mix-up: iss of another provider',
    async ({ respond, callback }) => {
      const browser = newBrowser()
      const own = await respond('kc', 'anna', browser)
      own.searchParams.set('iss', 'https://attacker.example')
      return describeOutcome(await callback('kc', own.search, { jar: browser.jar }))
    },
    'response-invalid',
  ],
  [
    'a parameter twice',
    async ({ respond, callback }) => {
      const browser = newBrowser()
      const { search } = await respond('kc', 'anna', browser)
      return describeOutcome(await callback('kc', `${search}&code=second`, { jar: browser.jar }))
    },
    'response-invalid',
  ],
  [
    'an error of the provider with a text in HTML',
    async ({ respond, callback }) => {
      const browser = newBrowser()
      const own = await respond('kc', 'anna', browser)
      const query = new URLSearchParams({
        error: 'access_denied',
        error_description: '<script>alert(1)</script>\nforged log line',
        state: own.searchParams.get('state') ?? '',
        iss: own.searchParams.get('iss') ?? '',
      })
      const response = await callback('kc', query.toString(), { jar: browser.jar })
      return response.body.includes('script') ? 'the text of the provider is shown' : describeOutcome(response)
    },
    'denied-at-provider',
  ],
  [
    'a sign-in with the transaction of a link',
    async ({ adminToken, call, callback }) => {
      const browser = newBrowser()
      const begun = await call('POST', `${oidc}/kc/link/start`, { token: await adminToken(), jar: browser.jar })
      const { search } = await browser.provider.signIn(begun.data.url, 'mallory')
      return describeOutcome(await callback('kc', search, { jar: browser.jar }))
    },
    'state-of-another-purpose',
  ],
]

onDatabase(t, 'callbacks that do not belong to their transaction open no session', async (t, db) => {
  const provider = await startProvider(t, { redirectUris: [redirectUri('kc'), redirectUri('other')] })
  const entry = entryOf(provider, { createAccounts: true })
  const product = await startOidc(t, db, { providers: { kc: entry, other: entry } })
  await product.adminToken()
  const results: string[] = []
  for (const [name, attack] of attacks) results.push(`${name}: ${await attack(product)}`)
  t.strictSame(
    results,
    attacks.map(([name]) => `${name}: ${rejected}`),
  )
  t.strictSame(
    await product.rejections(),
    attacks.map(([, , reason]) => `sign-in-oidc.${reason}`),
  )
  t.equal(await product.accounts.findByUsername('mallory'), undefined)
  t.equal(await product.accounts.findByUsername('victim'), undefined)
})

onDatabase(
  t,
  'every start sends PKCE, a nonce and its own redirect address, which no header can change',
  async (t, db) => {
    const { start, provider } = await startWithProvider(t, db)
    provider.rewrite.set('/.well-known/openid-configuration', (body) =>
      JSON.stringify({ ...JSON.parse(body), code_challenge_methods_supported: undefined }),
    )
    const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example', x_forwarded_host: 'evil.example' }
    const begun = await start('kc', { headers })
    const url = new URL(begun.data.url)
    t.match(url.searchParams.get('code_challenge'), /^[\w-]{43}$/)
    t.match(url.searchParams.get('nonce'), /^[\w-]{43}$/)
    t.match(url.searchParams.get('state'), /^[\w-]{43}$/)
    t.equal(url.searchParams.get('code_challenge_method'), 'S256')
    t.equal(url.searchParams.get('redirect_uri'), redirectUri('kc'))
    t.match(
      String(begun.headers['set-cookie']),
      /^plinth-oidc-[0-9a-f]{16}=[\w-]{43}; Max-Age=600; Path=\/api; HttpOnly; SameSite=Lax$/,
    )
    const other = await start('kc')
    t.not(new URL(other.data.url).searchParams.get('nonce'), url.searchParams.get('nonce'))
    const foreign = await start('kc', { headers: { 'sec-fetch-site': 'cross-site' } })
    t.equal(describeOutcome(foreign), '403 iam.origin-unproven', 'no other site begins a transaction')
  },
)

onDatabase(t, 'a link that began in one session cannot be completed in another', async (t, db) => {
  const product = await startWithProvider(t, db)
  const { call, accounts } = product
  const first = await product.adminToken()
  const second = (await call('POST', '/api/v1/auth/login', { body: administrator })).data.accessToken
  const link = async (startedBy: string, completedBy: string | undefined, user: string) => {
    const browser = newBrowser()
    const begun = await call('POST', `${oidc}/kc/link/start`, { token: startedBy, jar: browser.jar })
    const { search } = await browser.provider.signIn(begun.data.url, user)
    const body = { parameters: search }
    return call('POST', `${oidc}/kc/link/callback`, { token: completedBy, jar: browser.jar, body })
  }
  t.equal(describeOutcome(await link(first, second, 'mallory')), rejected)
  t.equal(describeOutcome(await link(first, undefined, 'mallory')), '401 iam.token-missing')
  const signIn = newBrowser()
  const { search: parameters } = await product.respond('kc', 'mallory', signIn)
  const mixed = await call('POST', `${oidc}/kc/link/callback`, { token: first, jar: signIn.jar, body: { parameters } })
  t.equal(describeOutcome(mixed), rejected, 'the transaction of a sign-in links nothing')
  t.equal((await product.db.query('select id from oidc_identity')).length, 0)
  t.equal(describeOutcome(await link(first, first, 'boss')), '200')
  const signedIn = await product.signIn('kc', 'boss')
  const me = await call('GET', '/api/v1/iam/users/me', { token: signedIn.data.accessToken })
  t.equal(me.data.username, administrator.username, 'the linked identity signs in')
  t.equal((await accounts.findByUsername('boss')) === undefined, true)
})

t.test('a transaction ends after ten minutes, and is taken once by parallel callbacks', async (t) => {
  const values = new Map<string, string>()
  let now = 0
  const store = {
    set: async (key: string, value: string) => void values.set(key, value),
    take: async (key: string) => {
      const value = values.get(key)
      values.delete(key)
      return value
    },
  }
  const transactions = new Transactions({ store, clock: { now: () => now } })
  const jar = new Jar()
  const reply = { header: (name: string, value: unknown) => jar.read({ [name]: value }) } as unknown as HttpReply
  const request = () => ({ headers: { cookie: jar.header }, contextPath: '', isHttps: true })
  const provider = { id: 'kc', issuer: 'https://id.example' }
  const begin = async () =>
    (await transactions.begin(provider, { purpose: 'sign-in', returnTo: null }, request(), reply)).state
  const take = (state: string, from = request()) =>
    transactions.take(state, { provider, purpose: 'sign-in' }, from, reply)
  const late = await begin()
  t.match([...jar.cookies.keys()].join(' '), /^__Host-plinth-oidc-[0-9a-f]{16}$/)
  now = 600_000
  t.equal(await take(late), 'state-expired')
  const state = await begin()
  const from = request()
  const results = await Promise.all([take(state, from), take(state, from)])
  t.equal(results.filter((result) => result === 'state-unknown').length, 1)
  const changed = await begin()
  const moved = { id: 'kc', issuer: 'https://another.example' }
  const after = await transactions.take(changed, { provider: moved, purpose: 'sign-in' }, request(), reply)
  t.equal(after, 'state-of-another-provider', 'the provider has another issuer now')
  for (let count = 0; count < 20; count++) await begin()
  t.equal(jar.cookies.size <= 5, true, 'the number of cookies is limited')
})

t.test('a return path never leads to another site', async (t) => {
  const rejectedPaths = [
    '//e',
    '/\\e',
    'https:e',
    'https://e',
    '/%0d%0a',
    '/..//e',
    '/%0D%0Aset-cookie:x',
    '/\te',
    '/a\nb',
    '\\\\e',
    '',
    'e',
    '/%5ce',
    '/.//e',
    '/a/..//e',
    '/\u0000',
    'javascript:alert(1)',
    ' /e',
    '/e e',
    `/${'a'.repeat(2_000)}`,
    null,
    7,
  ]
  t.strictSame(
    rejectedPaths.map(safeReturnPath),
    rejectedPaths.map(() => null),
  )
  const kept = ['/', '/admin/iam.users?page=2&sort=-id#row-7', '/a/b', '/%E4%B8%AD']
  t.strictSame(kept.map(safeReturnPath), kept)
})

onDatabase(t, 'the return path comes back after the sign-in, and another address does not', async (t, db) => {
  const product = await startWithProvider(t, db)
  const returned = async (returnTo: string) => {
    const browser = newBrowser()
    const { search } = await product.respond('kc', 'anna', browser, { returnTo })
    return (await product.callback('kc', search, { jar: browser.jar })).data.returnTo
  }
  t.equal(await returned('/admin/iam.users?page=2'), '/admin/iam.users?page=2')
  t.equal(await returned('//evil.example'), null)
  t.equal(await returned('/\\evil.example'), null)
})
