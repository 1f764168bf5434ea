import { createDatabase } from '@plinth/dev/testing/database'
import { http } from '@plinth/http'
import { definePlugin, key } from '@plinth/kernel'
import t, { type Test } from 'tap'
import { adminPassword, startIam, system } from './fixtures/product.ts'

type Headers = Readonly<Record<string, string>>

const login = '/api/v1/auth/login'
const me = '/api/v1/iam/users/me'
const own = { origin: 'http://shop.test', host: 'shop.test' }
const body = { username: 'admin', password: adminPassword }

const files = definePlugin({
  id: 'shop',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { http },
  config: {
    'platform.shop.key': key.string({
      title: { en: 'Key', 'zh-CN': '密钥' },
      default: '',
      sensitive: true,
      reload: 'restart',
    }),
  },
  setup: ({ services }) =>
    services.http.rawRoute({
      method: 'GET',
      path: '/api/v1/shop/file',
      summary: 'A file',
      access: 'user',
      produces: ['text/plain'],
      handler: (_request, _, reply) => reply.type('text/plain').send('content'),
    }),
})

async function start(t: Test, config = {}) {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const iam = await startIam(t, db, { plugins: [files], config })
  await iam.accounts.createAdministrator({ username: 'admin', password: adminPassword }, system)
  const send = async (method: string, url: string, headers: Headers, payload?: object) => {
    const sent = { method: method as 'GET', url, headers, ...(payload === undefined ? {} : { payload }) }
    const response = await iam.server.inject(sent)
    const isJson = String(response.headers['content-type']).startsWith('application/json')
    // test/new-devices.test.ts tests the cookie of the device.
    const cookies = [response.headers['set-cookie'] ?? []].flat().filter((line) => !line.includes('plinth-device'))
    const set = cookies.join('\n')
    return { set, text: response.body, ...(isJson ? response.json() : {}), headers: response.headers }
  }
  /** Signs in as a page of this site does. Returns the cookie in the form in which a browser sends it. */
  const signIn = async (headers: Headers = own) => {
    const { set } = await send('POST', login, headers, { ...body, session: 'cookie' })
    return set.split(';', 1)[0] as string
  }
  return { iam, send, signIn }
}

t.test(
  'a browser gets its session in a cookie that no script can read, and the response contains no token',
  async (t) => {
    const { send } = await start(t)
    const plain = await send('POST', login, own, { ...body, session: 'cookie' })
    t.match(plain, { code: /^200$/, data: { accessToken: null, tokenType: 'Bearer', expiresAt: /Z$/ } })
    t.match(plain.set, /^plinth-session=[^;]+; Path=\/api; HttpOnly; SameSite=Strict$/, 'no Secure without HTTPS')
    t.equal(plain.headers['cache-control'], 'no-store')
    const proxied = {
      ...own,
      'x-forwarded-proto': 'https',
      'x-forwarded-prefix': '/shop',
      'sec-fetch-site': 'same-origin',
    }
    t.match(
      (await send('POST', login, proxied, { ...body, session: 'cookie' })).set,
      /^__Host-plinth-session-[0-9a-f]{12}=[^;]+; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
      'with HTTPS no other host or path can set it',
    )
    const bearer = await send('POST', login, own, body)
    t.equal(bearer.set, '')
    t.type(bearer.data.accessToken, 'string', 'a bearer token as before')
    t.equal((await send('POST', login, own, { ...body, session: 'both' })).code, '400')
    t.equal((await send('POST', login, own, { ...body, password: 'wrong', session: 'cookie' })).set, '')
  },
)

t.test('a write with the cookie must prove that a page of this site sent it', async (t) => {
  const { iam, send, signIn } = await start(t)
  const cookie = await signIn()
  const change = (headers: Headers) => send('PUT', me, { cookie, host: own.host, ...headers }, { mobile: null })
  const rejected: readonly (readonly [string, Headers])[] = [
    ['another site', { origin: 'https://evil.test' }],
    ['a sandboxed page', { origin: 'null' }],
    ['another port', { origin: 'http://shop.test:8080' }],
    ['a sister site', { origin: 'http://www.shop.test', 'sec-fetch-site': 'same-site' }],
    ['a browser that tells the site alone', { 'sec-fetch-site': 'cross-site' }],
    ['our origin, said across sites', { origin: own.origin, 'sec-fetch-site': 'cross-site' }],
    ['nobody says', {}],
    ['a person at the address bar', { 'sec-fetch-site': 'none' }],
  ]
  for (const [name, headers] of rejected) {
    t.hasStrict(await change(headers), { code: '403', data: { reason: 'iam.origin-unproven' } }, name)
    const signing = await send('POST', login, { host: own.host, ...headers }, { ...body, session: 'cookie' })
    t.hasStrict(signing, { code: '403', set: '' }, `${name}: nobody is signed in either`)
  }
  const form = { ...own, cookie, origin: 'https://evil.test', 'content-type': 'application/x-www-form-urlencoded' }
  const posted = await iam.server.inject({ method: 'POST', url: '/api/v1/auth/logout', headers: form, payload: 'a=b' })
  t.equal(posted.json().data.reason, 'iam.origin-unproven', 'a form of another site ends no session')

  t.equal((await change({ origin: own.origin })).code, '200')
  t.equal((await change({ 'sec-fetch-site': 'same-origin' })).code, '200')
  const token = await iam.login('admin', adminPassword)
  const program = { authorization: `Bearer ${token}`, cookie, host: own.host, origin: 'https://evil.test' }
  t.equal((await send('PUT', me, program, { mobile: null })).code, '200', 'a bearer token needs no origin')
})

t.test('reads and downloads by link need only the cookie, and signing out removes it', async (t) => {
  const { send, signIn } = await start(t)
  const cookie = await signIn()
  const others = `theme=dark; ${cookie}; x=plinth-session`
  t.equal((await send('GET', me, { cookie: others })).data.username, 'admin')
  t.equal((await send('GET', '/api/v1/shop/file', { cookie })).text, 'content')
  t.equal((await send('GET', me, { cookie: 'plinth-session=nonsense' })).data.reason, 'iam.token-invalid')
  t.equal((await send('GET', me, { cookie: `not-${cookie}` })).data.reason, 'iam.token-missing')

  const ended = await send('POST', '/api/v1/auth/logout', { ...own, cookie })
  t.equal(ended.code, '200')
  t.equal(ended.set, 'plinth-session=; Max-Age=0; Path=/api; HttpOnly; SameSite=Strict')
  t.equal((await send('GET', me, { cookie })).data.reason, 'iam.token-invalid')
})

t.test('with HTTPS only the prefixed cookie is accepted, and each context path has its own cookie', async (t) => {
  const { send } = await start(t)
  const https = { host: own.host, origin: 'https://shop.test', 'x-forwarded-proto': 'https' }
  const signIn = async (headers: Headers) =>
    (await send('POST', login, headers, { ...body, session: 'cookie' })).set.split(';', 1)[0] as string
  const [atRoot, shop, club] = [
    await signIn(https),
    await signIn({ ...https, 'x-forwarded-prefix': '/shop' }),
    await signIn({ ...https, 'x-forwarded-prefix': '/club' }),
  ]
  t.match(atRoot, /^__Host-plinth-session=/)
  t.equal(new Set([atRoot, shop, club].map((cookie) => cookie.split('=')[0])).size, 3)
  const me$ = (headers: Headers) => send('GET', me, { ...https, ...headers })
  t.equal((await me$({ cookie: `${shop}; ${club}; ${atRoot}` })).code, '200')
  t.equal((await me$({ cookie: atRoot.replace('__Host-', '') })).data.reason, 'iam.token-missing', 'without the prefix')
  t.equal((await me$({ cookie: shop })).data.reason, 'iam.token-missing', 'of another context path')
  for (const blank of ['\xa0', '\ufeff', '\v']) {
    const foreign = `${blank}${atRoot}`
    t.equal((await me$({ cookie: foreign })).data.reason, 'iam.token-missing', 'another host can set this name')
    t.equal((await me$({ cookie: `${foreign}; ${atRoot}` })).code, '200', 'and does not end the own login')
  }
  const ended = await send('POST', '/api/v1/auth/logout', { ...https, cookie: atRoot })
  t.equal(ended.set, '__Host-plinth-session=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict; Secure')
})

t.test('two cookies with the name are rejected and cleared, in either order', async (t) => {
  const { iam, send, signIn } = await start(t)
  const cookie = await signIn()
  await iam.accounts.createAdministrator({ username: 'eve', email: 'eve@example.com', password: adminPassword }, system)
  const planted = `plinth-session=${await iam.login('eve', adminPassword)}`
  for (const both of [`${planted}; ${cookie}`, `${cookie}; ${planted}`]) {
    const response = await send('GET', me, { ...own, host: 'www.shop.test', cookie: both })
    t.hasStrict(response, { code: '401', data: { reason: 'iam.session-ambiguous' } })
    const cleared: readonly string[] = response.set.split('\n')
    for (const place of ['Path=/api;', 'Path=/api/v1;', 'Path=/;', 'Domain=shop.test'])
      t.ok(
        cleared.some((one) => one.startsWith('plinth-session=; Max-Age=0; ') && `${one};`.includes(place)),
        place,
      )
    t.equal((await send('POST', '/api/v1/auth/logout', { ...own, cookie: both })).data.reason, 'iam.session-ambiguous')
  }
  t.equal((await send('GET', me, { ...own, cookie })).data.username, 'admin', 'the login itself stays valid')
})

t.test('the API description lists the cookie as an authentication method', async (t) => {
  const { iam } = await start(t)
  const document = await iam.server.openapi()
  t.same(document.paths[me]?.['get']?.security, [{ bearer: [] }, { cookie: [] }])
  t.same(document.paths[login]?.['post']?.security, [])
  t.match(document.components.securitySchemes, { cookie: { type: 'apiKey', in: 'cookie', name: 'plinth-session' } })
})

t.test('an administrator can enter a reason, and the audit masks secrets in it', async (t) => {
  const { iam, send } = await start(t, { 'platform.shop.key': 'hush-hush-42' })
  const authorization = `Bearer ${await iam.login('admin', adminPassword)}`
  const users = '/api/v1/admin/iam/users'
  const { data: mia } = await send('POST', users, { authorization }, { username: 'mia', password: 'secret1' })
  const disable = (reason: string, enabled = false) =>
    send('PUT', `${users}/${mia.id}`, { authorization, 'x-reason': reason }, { enabled })
  t.equal((await disable(encodeURIComponent('离职 — left the company'))).code, '200')
  const newest = async () => (await send('GET', '/api/v1/admin/iam/audits?size=1', { authorization })).data.items[0]
  t.match(await newest(), { action: 'user.update', reason: '离职 — left the company' })
  await send('PUT', `${users}/${mia.id}`, { authorization }, { enabled: true })
  t.equal((await newest()).reason, null)
  for (const reason of [
    '%E4%',
    encodeURIComponent('a\nb'),
    encodeURIComponent('理'.repeat(201)),
    '%20%20',
    '%E3%80%80',
  ]) {
    t.hasStrict(await disable(reason), { code: '400', data: { reason: 'iam.reason-invalid' } }, reason.slice(0, 20))
  }
  t.equal((await disable(encodeURIComponent('理'.repeat(200)))).code, '200')
  t.equal((await disable('lost%20hush-hush-42', true)).code, '200')
  t.notMatch((await newest()).reason, /hush-hush/)
  t.match((await newest()).reason, /^lost /)
  const { paths } = await iam.server.openapi()
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, { parameters = [] }] of Object.entries(methods)) {
      const takes = parameters.some(({ name, in: place }) => name === 'X-Reason' && place === 'header')
      t.equal(takes, path.includes('/admin/') && method !== 'get', `${method} ${path}`)
    }
  }
})
