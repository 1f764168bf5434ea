/** Tests the install page, its redirects, the root path, and the protection before the installation. */
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { assertMembers } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import { http } from '@plinth/http'
import { definePlugin, type JsonValue } from '@plinth/kernel'
import t, { type Test } from 'tap'
import { Type } from 'typebox'
import { productPathOrRoot } from '../src/pages/product-pages.ts'
import { entryPlugin, pagePlugin } from './fixtures/page-plugin.ts'
import { type StartSettings, startInstall } from './fixtures/product.ts'

type Config = Readonly<Record<string, JsonValue>>
type Headers = Readonly<Record<string, string>>

async function start(t: Test, config: Config = {}, settings: StartSettings = {}) {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const started = await startInstall(t, db, { config, plugins: [pagePlugin()], ...settings })
  const { server } = started
  const get = (url: string, headers: Headers = {}, remoteAddress = '127.0.0.1') =>
    server.inject({ url, headers, remoteAddress })
  const goes = async (url: string, headers: Headers = {}) => {
    const { statusCode, headers: sent } = await get(url, headers)
    return [statusCode, sent.location]
  }
  return { ...started, get, goes }
}

const ctx = { 'platform.http.context-path': '/ctx' }
const forwarded = { 'x-forwarded-prefix': '/ctx' }

t.test('P01 P02 P03 P36 I-196 I-193 redirects to the page', async (t) => {
  const plain = await start(t)
  t.same(await plain.goes('/install'), [302, '/install/'], 'P01')
  t.equal((await plain.get('/install')).headers['cache-control'], 'no-store', 'P01')
  t.same(await plain.goes('/install?x=1&y=//evil'), [302, '/install/?x=1&y=//evil'], 'P03')
  t.same(await plain.goes('/install', forwarded), [302, '/ctx/install/'], 'P02 P36 a proxy that strips the prefix')
  t.same((await plain.get('/install', forwarded, '203.0.113.1')).headers.location, '/install/', 'P36 an untrusted peer')
  for (const bad of ['//evil', '/a/../b', 'https://evil', '/%2f', '/a\\b']) {
    t.same(await plain.goes('/install', { 'x-forwarded-prefix': bad }), [302, '/install/'], `P36 ${bad}`)
  }
  const under = await start(t, ctx)
  for (const url of ['/ctx/install', '/install']) t.same(await under.goes(url), [302, '/ctx/install/'], `P02 ${url}`)
  t.equal((await under.get('/ctx/install/')).statusCode, 200)
  t.equal((await under.get('/ctx/api/v1/install/status')).json().data.productPath, '/ctx/', 'P06 I-009')
  t.equal((await plain.get('/api/v1/install/status', forwarded)).json().data.productPath, '/ctx/', 'I-009')
})

t.test('P04 P05 P29 P30 P46 I-030 I-197 the page', async (t) => {
  const { get, server } = await start(t)
  const first = await get('/install/', { 'accept-language': 'zh-Hans-SG' })
  t.match(
    first,
    { statusCode: 200, headers: { 'content-type': /^text\/html/, 'cache-control': 'no-store' } },
    'P04 P29',
  )
  t.match(first.body, /lang="zh-CN".*src="\.\/assets\//s, 'P05')
  const nonce = /nonce="([^"]+)"/.exec(first.body)?.[1] ?? ''
  t.match(nonce, /^[A-Za-z0-9+/]{22}==$/)
  const policy = String(first.headers['content-security-policy'])
  t.equal(
    policy,
    `default-src 'self'; script-src 'self' 'nonce-${nonce}'; style-src 'self' 'nonce-${nonce}'; img-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'self'; frame-ancestors 'none'; form-action 'self'`,
    'P30',
  )
  t.notMatch(policy, /unsafe|upgrade-insecure/)
  t.not(/nonce="([^"]+)"/.exec((await get('/install/')).body)?.[1], nonce, 'P04 fresh for each answer')
  t.match(first.headers, { 'x-content-type-options': 'nosniff' })
  for (const url of ['/install', '/install/', '/install/assets/index-4f3a.js', '/install/nope', '/']) {
    const [head, whole] = [await server.inject({ method: 'HEAD', url }), await get(url)]
    assertMembers(t, [head.statusCode, head.body], [whole.statusCode, ''], `P46 ${url}`)
    t.match(head.headers, {
      'content-type': whole.headers['content-type'],
      'cache-control': whole.headers['cache-control'],
    })
  }
})

t.test('P27 P28 P29 P45 files', async (t) => {
  const { get } = await start(t)
  const file = await get('/install/assets/index-4f3a.js')
  t.match(file, {
    statusCode: 200,
    headers: {
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
      vary: 'accept-encoding',
    },
  })
  t.equal(file.headers['content-encoding'], undefined)
  const small = await get('/install/assets/index-4f3a.js', { 'accept-encoding': 'gzip;q=0.5, br' })
  t.match(small, { headers: { 'content-encoding': 'br', vary: 'accept-encoding' }, body: 'compressed' }, 'P45')
  const rejected = await get('/install/assets/index-4f3a.js', { 'accept-encoding': 'br;q=0, gzip' })
  t.equal(rejected.headers['content-encoding'], undefined, 'P45')
  for (const url of ['/install/assets/nope.js', '/install/deep/link']) {
    const missing = await get(url)
    t.match(missing, { statusCode: 404, headers: { 'cache-control': 'no-store' } }, `P28 ${url}`)
    t.notMatch(missing.headers['content-type'], /html/, 'P28')
  }
})

t.test('P44 I-203 without built pages', async (t) => {
  for (const settings of [{ plugins: [] }, { plugins: [pagePlugin(false)] }]) {
    const { get } = await start(t, {}, settings)
    const { statusCode, body, headers } = await get('/install/')
    assertMembers(t, [statusCode, headers['cache-control']], [200, 'no-store'])
    t.match(body, 'href="../api/v1/install/status"', 'I-203')
    t.match(body, 'href="../docs/"', 'I-203')
    t.notMatch(body, /<script|style=/)
    const nonce = /<style nonce="([^"]+)">/.exec(body)?.[1]
    t.match(headers['content-security-policy'], `style-src 'self' 'nonce-${nonce}'`)
    t.match(body, '<link rel="icon" href="data:,">', 'the browser asks for no icon')
    t.match((await get('/install/', { 'accept-language': 'zh' })).body, /lang="zh-CN".*安装状态/s)
    t.equal((await get('/install/assets/index-4f3a.js')).statusCode, 404)
  }
})

t.test('I-030 I-189 I-190 I-192 the page is disabled: every path returns a response that says so', async (t) => {
  const off = { 'platform.install.page.enabled': false }
  const { get, goes, execute } = await start(t, off)
  t.equal((await get('/install/assets/index-4f3a.js')).statusCode, 404)
  t.equal((await get('/api/v1/install/status')).statusCode, 200)
  for (const url of ['/', '/install']) t.same(await goes(url), [302, '/install/'], url)
  const response = await get('/install/')
  t.match(response, { statusCode: 503, headers: { 'content-type': /^text\/html/, 'cache-control': 'no-store' } })
  t.match(response.body, /not installed yet, and its install page is turned off.*plinth install/s)
  t.notMatch(response.body, /<script|assets\//, 'nothing of the page itself')
  t.match((await get('/install/', { 'accept-language': 'zh' })).body, /产品尚未安装，且安装页面已关闭/)
  await execute()
  for (const url of ['/install', '/install/']) t.same(await goes(url), [302, '/'], `I-192 ${url}`)

  const forward = await start(t, { ...off, 'platform.install.root-route.mode': 'forward' })
  const root = await forward.get('/')
  assertMembers(t, [root.statusCode, root.body], [503, /<base href="\/install\/">.*install page is turned off/s])
  const guarded = await start(t, { ...off, 'platform.install.access-protection-enabled': true })
  t.same(await guarded.goes('/admin/'), [302, '/install/'])
  t.equal((await guarded.get('/install/')).statusCode, 503)

  const again = await start(t, { ...off, 'platform.install.allow-reinstall': true })
  await again.execute()
  t.notMatch((await again.get('/install/')).body, /not installed/)
})

t.test('E11 the pages contain the name of the site', async (t) => {
  const own = { 'platform.install.root-route.enabled': false }
  const { get, centre } = await start(t, own, { plugins: [] })
  t.match((await get('/')).body, /<title>test /)
  t.match((await get('/install/')).body, /<title>[^<·]+<\/title>/, 'nothing stands for a name that there is not')
  const save = (key: string, value: string) =>
    centre.save([{ key, action: 'set', value }], { actor: { name: 'test', traceId: '' } })
  await save('platform.site.name', 'Acme <&"> 商店')
  const escaped = 'Acme &lt;&amp;&quot;&gt; 商店'
  t.match((await get('/')).body, `<h1>${escaped} `, 'at once')
  t.match((await get('/install/')).body, ` · ${escaped}</title>`)
  await save('platform.site.title', 'The whole shop')
  t.match((await get('/')).body, '<title>The whole shop ')
  t.match((await get('/install/')).body, ' · The whole shop</title>')
})

t.test('P13 P14 P15 I-192 I-193 I-194 I-195 installed', async (t) => {
  const { goes, execute } = await start(t, { 'platform.view.root.target': '/admin/' })
  await execute()
  for (const url of ['/install', '/install/']) {
    t.same(await goes(url), [302, '/admin/'], `I-192 ${url}`)
    t.same(await goes(url, forwarded), [302, '/ctx/admin/'], `P13 ${url}`)
  }
  t.same(await goes('/'), [302, '/admin/'], 'I-191')
  t.same(await goes('/', forwarded), [302, '/ctx/admin/'])
  const treacherous = [
    '//evil.com/x',
    '/\\evil.com',
    '\\\\evil.com',
    '/%2Fevil.com',
    '/%5cevil.com',
    'https://evil.com',
    'javascript:alert(1)',
    '/\t/evil.com',
    '/\n/evil',
    'evil.com',
    '',
    '/./\\evil',
    '/..//evil.com',
  ]
  for (const target of treacherous) t.equal(productPathOrRoot(target), '/', `I-195 ${JSON.stringify(target)}`)
  const { centre } = await start(t)
  for (const key of ['platform.view.root.target', 'platform.install.root-route.target']) {
    const rejectedTargets = treacherous.filter((target) => target !== '')
    for (const value of rejectedTargets) {
      const { faults } = await centre.preview([{ key, action: 'set', value }])
      assertMembers(t, faults, [{ field: key, rule: 'refused' }], `${key} ${JSON.stringify(value)}`)
    }
    t.strictSame((await centre.preview([{ key, action: 'set', value: '/app/' }])).faults, [])
  }
  for (const target of ['/', '/admin/', '/a?b=//c', '/a//b', '/%E4%B8%AD']) t.equal(productPathOrRoot(target), target)
  for (const target of ['//evil.com/x', '/\\evil.com', '/install/', '/install']) {
    const config = { 'platform.view.root.target': target, 'platform.install.root-route.target': '//evil.com' }
    // An available back office does not change the redirect. The configured target is used even if it is wrong.
    const own = await start(t, config, { plugins: [pagePlugin(), entryPlugin('admin')] })
    t.equal((await own.get('/')).statusCode, 200, 'P15 the root path leads nowhere else')
    await own.execute()
    t.same(await own.goes('/install/'), [302, '/'], `P14 ${target}`)
    const isOwn = target.startsWith('/install')
    t.equal((await own.look('status')).data.productPath, isOwn ? target : '/', 'I-194')
    const root = await own.get('/')
    t.ok(root.statusCode === 200 || root.headers.location === target, 'no loop')
  }
})

t.test('a target that is not ASCII is reached too', async (t) => {
  const { goes, execute } = await start(t, {
    'platform.view.root.target': '/首页/?x=%20é',
    'platform.install.root-route.target': '/安装/',
    'platform.install.root-route.mode': 'redirect',
  })
  t.same(await goes('/'), [302, '/%E5%AE%89%E8%A3%85/'])
  await execute()
  for (const url of ['/', '/install/']) t.same(await goes(url), [302, '/%E9%A6%96%E9%A1%B5/?x=%20%C3%A9'], url)
})

t.test('I-191 a product whose only page is the back office redirects to it', async (t) => {
  const only = await start(t, {}, { plugins: [pagePlugin(), entryPlugin('admin')] })
  t.same(await only.goes('/'), [302, '/install/'], 'not before')
  await only.execute()
  for (const url of ['/', '/install/']) t.same(await only.goes(url, forwarded), [302, '/ctx/admin/'], url)
  t.equal((await only.look('status')).data.productPath, '/admin/')
  const root = await start(t, { 'platform.view.root.target': '/' }, { plugins: [pagePlugin(), entryPlugin('admin')] })
  await root.execute()
  t.equal((await root.look('status')).data.productPath, '/', 'configured')
  t.equal((await root.get('/')).statusCode, 200)
  const beside = await start(t, { 'platform.view.entries': ['pc'] }, { plugins: [pagePlugin(), entryPlugin('admin')] })
  const two = await start(t, {}, { plugins: [pagePlugin(), entryPlugin('admin'), entryPlugin('app')] })
  for (const { execute, get } of [beside, two]) {
    await execute()
    t.equal((await get('/')).statusCode, 200, 'which of two pages, nobody has said')
  }
})

t.test('I-003 installed, with permission to install again', async (t) => {
  const { get, goes, execute } = await start(t, {
    'platform.install.allow-reinstall': true,
    'platform.view.root.target': '/admin/',
  })
  await execute()
  t.equal((await get('/install/')).statusCode, 200)
  t.same(await goes('/install'), [302, '/install/'])
  t.same(await goes('/'), [302, '/admin/'], 'D63 the root path is not taken again')
})

t.test('P09 P10 P12 I-031 I-189 I-190 I-191 the root path', async (t) => {
  const plain = await start(t)
  t.same(await plain.goes('/'), [302, '/install/'], 'P09')
  t.same(await plain.goes('/', forwarded), [302, '/ctx/install/'], 'P09')
  const elsewhere = await start(t, { 'platform.install.root-route.target': '/welcome/' })
  t.same(await elsewhere.goes('/'), [302, '/welcome/'])

  const off: Config[] = [
    { 'platform.install.mode': 'disabled' },
    { 'platform.install.enabled': false },
    { 'platform.install.root-route.enabled': false },
  ]
  for (const config of off) {
    const { goes } = await start(t, { ...config, 'platform.view.root.target': '/admin/' })
    t.same(await goes('/'), [302, '/admin/'], `I-189 P12 ${JSON.stringify(config)}`)
  }
  t.equal((await (await start(t, { 'platform.view.root.enabled': false })).get('/')).statusCode, 404, 'I-189')

  const forward = await start(t, { 'platform.install.root-route.mode': 'forward' })
  const page = await forward.get('/')
  assertMembers(t, [page.statusCode, page.headers['cache-control']], [200, 'no-store'], 'P10')
  t.match(page.body, '<head class="x"><base href="/install/">', 'P10 assets still resolve')
  t.match(page.headers['content-security-policy'], /base-uri 'self'/)
  t.match((await forward.get('/', forwarded)).body, '<base href="/ctx/install/">')
  await forward.execute()
  t.match((await forward.get('/')).body, /is running/, 'I-191')
  t.match((await forward.get('/')).body, /href="\/docs\/"/)
  t.notMatch((await forward.get('/')).body, /install/i)
})

t.test('I-190 forwarding to another page of the product', async (t) => {
  const welcome = definePlugin({
    id: 'probe.welcome',
    version: '1.0.0',
    kernel: '^1.0.0',
    requires: { http },
    setup({ services }) {
      services.http.rawRoute({
        method: 'GET',
        path: '/welcome/here',
        summary: 'Welcome',
        access: 'public',
        hidden: true,
        produces: ['text/html'],
        handler: (_request, _, reply) => reply.type('text/html').send('<html><head></head><body>hello</body></html>'),
      })
    },
  })
  const config = {
    'platform.install.root-route.mode': 'forward',
    'platform.install.root-route.target': '/welcome/here',
  }
  const { get } = await start(t, config, { plugins: [welcome] })
  t.match(await get('/'), {
    statusCode: 200,
    body: '<html><head><base href="/welcome/"></head><body>hello</body></html>',
  })
})

/** Sends the path unchanged. `URL` and `inject` would normalise it. */
async function asWritten(base: string, path: string): Promise<IncomingMessage> {
  const { hostname, port } = new URL(base)
  const sent = request({ hostname, port, path, agent: false }).end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  response.resume()
  return response
}

t.test('P18 P24 I-184 paths that only look like the page', async (t) => {
  const { server } = await start(t)
  for (const url of [
    '//install//',
    '/install//evil.com',
    '/./install/',
    '/INSTALL/',
    '/installer',
    '/install-foo',
    '/api/v1/installx',
    '/install;x',
    '/install%2f',
    '/install/%5cevil',
    '/install/../etc/passwd',
    '/install/%2e%2e/x',
    '/install/..%2f..%2fetc/passwd',
  ]) {
    const { statusCode, headers } = await asWritten(server.url ?? '', url)
    t.ok(statusCode === 404 || statusCode === 400, `${url} ${statusCode}`)
    t.equal(headers.location, undefined, `P18 ${url}`)
  }
})

const shop = definePlugin({
  id: 'probe.shop',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { http },
  setup({ services }) {
    services.http.route({
      method: 'GET',
      path: '/api/v1/shop/items',
      summary: 'Items',
      access: 'public',
      response: Type.Null(),
      handler: () => null,
    })
  },
})

t.test('P20 P21 P23 P24 I-029 I-184 I-185 I-186 I-187 I-188 protection before the installation', async (t) => {
  const protection = { 'platform.install.access-protection-enabled': true }
  const { get, goes, execute, server, administrator } = await start(t, protection, { plugins: [pagePlugin(), shop] })
  const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
  for (const url of ['/admin/', '/admin', '/app/', '/pc/x', '/docs/', '/docs/openapi.json']) {
    t.same(await goes(url), [302, '/install/'], `I-185 ${url}`)
    t.same(await goes(url, { ...html, ...forwarded }), [302, '/ctx/install/'], `P20 ${url}`)
  }
  t.same(await goes('/anything', html), [302, '/install/'])
  for (const url of [
    '/install',
    '/install/',
    '/install/assets/index-4f3a.js',
    '/api/v1/install/status',
    '/health/live',
  ]) {
    t.not((await get(url)).statusCode, 503, `I-184 P23 ${url}`)
  }
  t.equal(
    (await server.inject({ method: 'POST', url: '/api/v1/install/token/verify', payload: {} })).json().code,
    '200',
  )
  const closed = [
    '/api/v1/shop/items',
    '/api/v1/installx',
    '/installer',
    '/install-foo',
    '/api/v1/nothing',
    '/api/v1/admin/install/status',
    '/storage/x',
    '/metrics',
  ]
  for (const url of closed) {
    const response = await get(url, url.startsWith('/api') ? html : {})
    t.match(
      response,
      { statusCode: 503, headers: { 'content-type': /json/, 'cache-control': 'no-store' } },
      `P21 P24 I-186 I-188 ${url}`,
    )
    t.match(response.json(), { code: /^503$/, message: /./, data: { reason: /^install\.required$/ } })
  }
  t.match((await get('/api/v1/shop/items', { 'accept-language': 'zh' })).json().message, /尚未安装/)
  const upgrade = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-key': 'x', ...html }
  t.equal((await get('/api/v1/ws', upgrade)).statusCode, 503, 'I-186 WebSocket')
  t.equal((await get('/ws', upgrade)).statusCode, 503)
  t.equal((await server.inject({ method: 'POST', url: '/admin/', headers: html })).statusCode, 503)
  t.same(await goes('/'), [302, '/install/'])

  await execute()
  t.equal((await get('/api/v1/shop/items')).json().code, '200', 'I-187 installed')
  t.equal((await get('/docs/')).statusCode, 200)
  t.equal((await (await administrator())('GET', 'status')).code, '200')

  for (const config of [
    {},
    { ...protection, 'platform.install.enabled': false },
    { ...protection, 'platform.install.mode': 'disabled' },
  ] as Config[]) {
    const open = await start(t, config, { plugins: [shop] })
    t.equal((await open.get('/api/v1/shop/items')).json().code, '200', `I-029 I-187 ${JSON.stringify(config)}`)
  }
})

t.test('P33 HTTPS behind a trusted proxy', async (t) => {
  const { server } = await start(t, { 'platform.install.require-https': true })
  const page = await server.inject({ url: '/install/', headers: { 'x-forwarded-proto': 'https' } })
  t.match(page.headers['strict-transport-security'], /max-age=/)
})

t.test('P42 languages', async (t) => {
  const { look } = await start(t)
  const cases: [string, string][] = [
    ['zh-CN', '站点'],
    ['zh-Hans-SG', '站点'],
    ['en-GB', 'Site'],
    ['fr', 'Site'],
    ['fr, zh;q=0.5', '站点'],
    ['', 'Site'],
    ['x'.repeat(10_000), 'Site'],
  ]
  for (const [language, label] of cases) {
    const { data } = await look('config/schema', { headers: { 'accept-language': language } })
    t.equal(data.groups[0].label, label, language.slice(0, 20))
  }
})

t.test('P47 the config centre cannot open the installer', async (t) => {
  const { execute, call } = await start(t)
  await execute()
  const { data } = await call('POST', '/api/v1/auth/login', {
    body: { username: 'founder', password: 'Adm1n-secret-word' },
  })
  const headers = { authorization: `Bearer ${data.accessToken}` }
  const changes: [string, JsonValue][] = [
    ['platform.install.installed', false],
    ['platform.install.allow-reinstall', true],
    ['platform.install.token', 'mine'],
    ['platform.install.config-file', '/etc/passwd'],
    ['platform.install.execution-log-file', '/etc/passwd'],
  ]
  for (const [key, value] of changes) {
    const body = { changes: [{ key, action: 'set', value }] }
    const response = await call('POST', '/api/v1/admin/system-config/changes', { headers, body })
    assertMembers(t, response, { code: '400', data: { errors: [{ field: key, rule: 'not-editable' }] } }, key)
  }
  const body = { changes: [{ key: 'platform.install.installed', action: 'reset' }] }
  t.equal((await call('POST', '/api/v1/admin/system-config/changes', { headers, body })).code, '400')
})
