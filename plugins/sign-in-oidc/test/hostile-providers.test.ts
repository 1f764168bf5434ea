/** Tests providers that fail, lie about themselves, or send the product elsewhere. */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onDatabase } from '@plinth/dev/testing/database'
import t, { type Test } from 'tap'
import {
  administrator,
  describeOutcome,
  entryOf,
  newBrowser,
  providersKey,
  redirectUri,
  rejected,
  secretsKey,
  startOidc,
  startWithProvider,
} from './fixtures/product.ts'
import { clientId, clientSecret, startProvider, type TestProvider } from './fixtures/provider.ts'

const unavailable = '503 sign-in-oidc.provider-unavailable'
const metadata = '/.well-known/openid-configuration'
const json = (response: ServerResponse, body: string) =>
  void response.setHeader('content-type', 'application/json').end(body)

/** Each case makes one address of the provider fail. */
const failures: readonly (readonly [name: string, path: string, fail: (response: ServerResponse) => void])[] = [
  ['metadata: no response', metadata, () => undefined],
  ['metadata: 10 MB', metadata, (response) => json(response, JSON.stringify({ filler: 'a'.repeat(10_000_000) }))],
  [
    'metadata: redirect to a metadata service',
    metadata,
    (response) => void response.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
  ],
  ['metadata: HTML', metadata, (response) => void response.setHeader('content-type', 'text/html').end('<html></html>')],
  ['metadata: 500', metadata, (response) => void response.writeHead(500).end()],
  ['token: no response', '/token', () => undefined],
  ['token: 10 MB', '/token', (response) => json(response, JSON.stringify({ filler: 'a'.repeat(10_000_000) }))],
  [
    'token: redirect',
    '/token',
    (response) => void response.writeHead(307, { location: 'http://169.254.169.254/' }).end(),
  ],
  ['token: HTML', '/token', (response) => void response.setHeader('content-type', 'text/html').end('<html></html>')],
  ['token: 500', '/token', (response) => void response.writeHead(500).end()],
  ['token: connection lost', '/token', (response) => void response.destroy()],
  ['keys: no response', '/jwks', () => undefined],
  ['keys: 500', '/jwks', (response) => void response.writeHead(500).end()],
]

onDatabase(t, 'a provider that fails gives 503 within 5 seconds, and no failed attempt', async (t, db) => {
  const product = await startWithProvider(t, db)
  const { provider, start, callback, call } = product
  await product.adminToken()
  const outcomes: string[] = []
  let slowest = 0
  for (const [name, path, fail] of failures) {
    // A changed entry is discovered again, so that the failure of one case does not answer the next.
    const entry = entryOf(provider, { createAccounts: true, clockTolerance: outcomes.length })
    const change = { key: providersKey, action: 'set', value: { kc: entry } }
    await product.centre.save([change] as never, { actor: { name: 'test' }, verify: false })
    const browser = newBrowser()
    const response = path === metadata ? undefined : await product.respond('kc', 'anna', browser)
    provider.takeover.set(path, (_request, reply) => fail(reply))
    const startedAt = performance.now()
    const failed = response ? await callback('kc', response.search, { jar: browser.jar }) : await start('kc')
    slowest = Math.max(slowest, performance.now() - startedAt)
    outcomes.push(`${name}: ${describeOutcome(failed)}`)
    provider.takeover.delete(path)
  }
  t.strictSame(
    outcomes,
    failures.map(([name]) => `${name}: ${unavailable}`),
  )
  t.ok(slowest < 7_000, `${Math.round(slowest)} ms`)
  t.strictSame(await product.rejections(), [], 'no failed attempt')
  const logIn = await call('POST', '/api/v1/auth/login', { body: administrator })
  t.equal(describeOutcome(logIn), '200', 'other ways to sign in work')
})

onDatabase(t, 'a provider that is down is not asked by every caller', async (t, db) => {
  const { provider, start } = await startWithProvider(t, db)
  provider.takeover.set('*', (_request, response) => void response.writeHead(500).end())
  const outcomes = await Promise.all(Array.from({ length: 10 }, () => start('kc')))
  t.strictSame(
    outcomes.map(describeOutcome),
    outcomes.map(() => unavailable),
  )
  t.equal(describeOutcome(await start('kc')), unavailable)
  t.equal(provider.requests.length, 1)
})

onDatabase(t, 'mix-up: the metadata of one provider name the endpoints of another', async (t, db) => {
  const honest = await startProvider(t, { redirectUris: [redirectUri('honest'), redirectUri('evil')] })
  const evil = await startProvider(t, { redirectUris: [redirectUri('evil')] })
  evil.rewrite.set(metadata, (body) => {
    const { token_endpoint, jwks_uri, ...own } = JSON.parse(body)
    const { authorization_endpoint } = { authorization_endpoint: `${honest.issuer}/auth` }
    return JSON.stringify({ ...own, token_endpoint, jwks_uri, authorization_endpoint })
  })
  const product = await startOidc(t, db, {
    providers: {
      honest: entryOf(honest, { createAccounts: true }),
      evil: entryOf(evil, { createAccounts: true }),
    },
  })
  const stolen: string[] = []
  evil.takeover.set('/token', (request, response) => {
    stolen.push(request.url ?? '')
    response.writeHead(400).end()
  })
  const browser = newBrowser()
  const { search } = await product.respond('evil', 'victim', browser)
  t.equal(describeOutcome(await product.callback('evil', search, { jar: browser.jar })), rejected)
  t.strictSame(stolen, [], 'the code of the honest provider is not sent to the other one')
})

/** Saves providers as the config centre does. Returns the reason why they are rejected. */
async function saveOutcome(
  { centre }: { readonly centre: { save: (...of: never) => Promise<unknown> } },
  values: Readonly<Record<string, unknown>>,
): Promise<string> {
  const changes = Object.entries(values).map(([key, value]) => ({ key, action: 'set', value }))
  const save = centre.save as (changes: unknown, options: object) => Promise<unknown>
  return save.call(centre, changes, { actor: { name: 'test' } }).then(
    () => 'saved',
    (error: { data?: { errors?: readonly { rule: string }[] } }) =>
      error.data?.errors?.map(({ rule }) => rule).join(' ') ?? 'another error',
  )
}

async function startHtml(t: Test) {
  const server = createServer((_request, response) => void response.end('<html></html>'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

onDatabase(t, 'a provider is only saved if it says exactly this issuer', async (t, db) => {
  const provider = await startProvider(t, { redirectUris: [redirectUri('kc')] })
  const liar = await startProvider(t, { redirectUris: [redirectUri('kc')] })
  liar.rewrite.set(metadata, (body) => JSON.stringify({ ...JSON.parse(body), issuer: provider.issuer }))
  const script = await startProvider(t, { redirectUris: [redirectUri('kc')] })
  script.rewrite.set(metadata, (body) =>
    JSON.stringify({ ...JSON.parse(body), authorization_endpoint: 'javascript:alert(1)' }),
  )
  const html = await startHtml(t)
  const hosts = [provider.host, liar.host, script.host, new URL(html).host]
  const product = await startOidc(t, db, { providers: {}, hosts })
  const entry = (issuer: string, id = 'kc') => ({ [providersKey]: { [id]: { issuer, clientId } } })
  const cases: readonly (readonly [name: string, values: object, outcome: string])[] = [
    ['issuer with a path that it does not have', entry(`${provider.issuer}/`), 'refused'],
    ['address of the metadata', entry(`${provider.issuer}${metadata}`), 'refused'],
    ['address of the metadata of a liar', entry(`${liar.issuer}${metadata}`), 'refused'],
    ['metadata with another issuer', entry(liar.issuer), 'refused'],
    ['an authorization endpoint that is a script', entry(script.issuer), 'refused'],
    ['HTML', entry(html), 'refused'],
    ['HTTP to another host', entry('http://id.example.com'), 'refused'],
    ['a private address that is not allowed', entry('https://10.0.0.1'), 'refused'],
    ['an IPv4 address in IPv6', entry('https://[::ffff:169.254.169.254]'), 'refused'],
    ['a user name in the address', entry(`http://user@${provider.host}`), 'refused'],
    ['a fragment', entry(`${provider.issuer}#a`), 'pattern'],
    ...['password', 'wallet', 'evm', 'code', 'passkey', 'totp', 'recovery-code', 'api-token'].map(
      (id) => [`the id ${id}`, entry(provider.issuer, id), 'refused'] as const,
    ),
    ['an id with a slash', entry(provider.issuer, 'a/b'), 'pattern'],
    ['the right issuer', entry(provider.issuer), 'saved'],
  ]
  const outcomes: string[] = []
  for (const [name, values] of cases) outcomes.push(`${name}: ${await saveOutcome(product, values as never)}`)
  t.strictSame(
    outcomes,
    cases.map(([name, , outcome]) => `${name}: ${outcome}`),
  )
})

onDatabase(t, 'a client secret is only sent to the issuer for which it was entered', async (t, db) => {
  const evil = await startProvider(t, { redirectUris: [redirectUri('kc')] })
  const provider = await startProvider(t, { redirectUris: [redirectUri('kc')] })
  const product = await startOidc(t, db, {
    providers: { kc: entryOf(provider, { createAccounts: true }) },
    hosts: [evil.host],
  })
  const sent: string[] = []
  const record = (target: TestProvider) =>
    target.takeover.set('/token', (request, response) => {
      let body = String(request.headers.authorization ?? '')
      request.on('data', (part) => {
        body += part
      })
      request.on('end', () => {
        sent.push(body)
        response.writeHead(400).end()
      })
    })
  record(evil)
  const changed = { kc: entryOf(evil, { createAccounts: true }) }
  t.equal(await saveOutcome(product, { [providersKey]: changed }), 'saved')
  const browser = newBrowser()
  const response = await product.respond('kc', 'anna', browser)
  await product.callback('kc', response.search, { jar: browser.jar })
  t.equal(sent.length, 1)
  t.notMatch(sent.join(), clientSecret, 'not in the body')
  t.notMatch(sent.join(), Buffer.from(`${clientId}:${clientSecret}`).toString('base64'), 'not in the header')
  // The secret of the former issuer cannot be saved for the new one, neither masked nor unchanged.
  const former = { issuer: provider.issuer, clientId, secret: clientSecret }
  t.equal(await saveOutcome(product, { [secretsKey]: { kc: former } }), 'refused')
  const token = await product.adminToken()
  const item = await product.call('GET', `/api/v1/admin/system-config/keys/${secretsKey}`, { token })
  t.notMatch(item.body, clientSecret)
  const { value } = item.data.effective ?? item.data
  t.equal(await saveOutcome(product, { [secretsKey]: value }), 'masked', 'the value that a page shows')
})
