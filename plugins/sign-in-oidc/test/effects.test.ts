/** Tests the effect of each configuration key of the sign-in with providers. */
import { assertKeyEffect, type KeyValues } from '@plinth/dev/testing'
import { createDatabase, type TestDatabase } from '@plinth/dev/testing/database'
import t from 'tap'
import { entryOf, newBrowser, redirectUri, startOidc } from './fixtures/product.ts'
import { clientId, clientSecret, startProvider } from './fixtures/provider.ts'

const provider = await startProvider(t, { redirectUris: [redirectUri('kc')] })
const kc = entryOf(provider, { createAccounts: true })

async function start(config: KeyValues, db?: TestDatabase) {
  const used = db ?? (await createDatabase('sqlite'))
  if (db === undefined) t.teardown(() => used.drop())
  return startOidc(t, used, { providers: { kc }, config })
}

/** Returns the providers as the page of administrators shows them. */
async function listed(config: KeyValues) {
  const { call, adminToken } = await start(config)
  const { data } = await call('GET', '/api/v1/admin/oidc/providers', { token: await adminToken() })
  return data.items.map((one: { readonly status: string; readonly redirectUri: string }) => [
    one.status,
    one.redirectUri,
  ])
}

t.test('providers and their secrets decide who can be used', async (t) => {
  const [providers] = await assertKeyEffect(t, 'platform.sign-in-oidc.providers', {
    compared: {},
    changed: { kc } as never,
    observe: listed,
  })
  t.strictSame([providers?.before, providers?.after], [[], [['ready', redirectUri('kc')]]])
  const [secrets] = await assertKeyEffect(t, 'platform.sign-in-oidc.client-secrets', {
    compared: {},
    changed: { kc: { issuer: provider.issuer, clientId, secret: clientSecret } },
    observe: listed,
  })
  t.strictSame([secrets?.before[0]?.[0], secrets?.after[0]?.[0]], ['secret-missing', 'ready'])
  const [page] = await assertKeyEffect(t, 'platform.sign-in-oidc.page', { changed: '/welcome', observe: listed })
  t.strictSame(page?.after, [['ready', 'https://app.example.com/welcome/kc']])
})

/** Returns the parameters of the address at the provider that ends its session. */
async function logoutOf({ call }: Pick<Awaited<ReturnType<typeof start>>, 'call'>, token: string) {
  const { data } = await call('POST', '/api/v1/auth/oidc/logout', { token, body: {} })
  return new URL(data.url).searchParams
}

t.test('the provider is told to which page it returns after the logout', async (t) => {
  const [found] = await assertKeyEffect(t, 'platform.sign-in-oidc.logout-page', {
    changed: '/bye',
    observe: async (config) => {
      const product = await start(config)
      const { data } = await product.signIn('kc', 'jane')
      return (await logoutOf(product, data.accessToken)).get('post_logout_redirect_uri')
    },
  })
  t.strictSame([found?.before, found?.after], ['https://app.example.com/admin', 'https://app.example.com/bye'])
})

t.test('stored ID tokens are encrypted with the key', async (t) => {
  const key = 'platform.sign-in-oidc.token-key'
  const [one = '', other = ''] = [1, 2].map((byte) => Buffer.alloc(32, byte).toString('base64'))
  const [found] = await assertKeyEffect(t, 'platform.sign-in-oidc.token-key', {
    compared: one,
    changed: other,
    observe: async (config) => {
      const db = await createDatabase('sqlite')
      t.teardown(() => db.drop())
      const { data } = await (await start({ [key]: one }, db)).signIn('kc', 'jane')
      return (await logoutOf(await start(config, db), data.accessToken)).has('id_token_hint')
    },
  })
  t.strictSame([found?.before, found?.after], [true, false])
})

t.test('starts are limited per network', async (t) => {
  const starts = async (config: KeyValues) => {
    const product = await start({
      'platform.rate-limit.enabled': true,
      'platform.sign-in-oidc.rate-limit.ip-max-attempts': 1,
      ...config,
    })
    const outcomes = []
    for (let count = 0; count < 2; count++) {
      const { code, headers } = await product.start('kc', { jar: newBrowser().jar, from: '203.0.113.7' })
      outcomes.push(code === '429' ? Math.ceil(Number(headers['retry-after']) / 60) : code)
    }
    return outcomes
  }
  const [attempts] = await assertKeyEffect(t, 'platform.sign-in-oidc.rate-limit.ip-max-attempts', {
    changed: 2,
    observe: starts,
  })
  t.strictSame(
    [attempts?.before, attempts?.after],
    [
      ['200', 5],
      ['200', '200'],
    ],
  )
  const [window] = await assertKeyEffect(t, 'platform.sign-in-oidc.rate-limit.ip-window', {
    changed: '30m',
    observe: starts,
  })
  t.strictSame(
    [window?.before, window?.after],
    [
      ['200', 5],
      ['200', 30],
    ],
  )
})
