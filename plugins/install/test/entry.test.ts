/** Tests who has access to the installer, and what callers without access learn. */

import { createDatabase, serversUnderTest, type TestDialect } from '@plinth/dev/testing/database'
import { omitUndefined } from '@plinth/kernel'
import sharedStorePlugin from '@plinth/shared-store'
import t, { type Test } from 'tap'
import { FailedAttempts } from '../src/entry/install-token.ts'
import {
  databaseFormFor,
  databaseWithPassword,
  productDirectory,
  type StartSettings,
  secrets,
  startInstall,
} from './fixtures/product.ts'

const token = 'correct-horse-battery-staple-4711'
const tokenOf = { 'platform.install.token': token }

async function start(t: Test, settings: StartSettings = {}) {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  return startInstall(t, db, settings)
}

t.test('I-005 I-006 I-014 I-209 the installation status', async (t) => {
  const { look, execute, clock } = await start(t)
  const before = await look('status')
  t.equal(before.code, '200')
  t.same(before.data, {
    enabled: true,
    mode: 'auto',
    installed: false,
    installAllowed: true,
    allowReinstall: false,
    locked: false,
    installPath: '/install/',
    productPath: '/',
    rootRouteMode: 'redirect',
    rootRouteTarget: '/install/',
    snapshotAt: '2026-01-01T00:00:00.000Z',
  })
  t.equal(before.headers['cache-control'], 'no-store')
  await execute()
  await clock.advance(1500)
  const after = await look('status')
  t.match(after.data, { installed: true, installAllowed: false, locked: true, snapshotAt: /T00:00:01\.500Z$/ })
  t.same(Object.keys(after.data), Object.keys(before.data))
})

t.test('I-010 I-013 mode and switch', async (t) => {
  const cases = [
    { mode: 'auto', enabled: true, allowed: true },
    { mode: 'auto', enabled: false, allowed: false },
    { mode: 'disabled', enabled: true, allowed: false },
    { mode: 'forced', enabled: false, allowed: true },
  ]
  for (const { mode, enabled, allowed } of cases) {
    const config = { 'platform.install.mode': mode, 'platform.install.enabled': enabled }
    const { look, install, execute, accounts } = await start(t, { config })
    const about = `mode ${mode}, enabled ${enabled}`
    t.match((await look('status')).data, { mode, enabled, installAllowed: allowed }, about)
    const reason = allowed ? 'install.token.not-required' : 'install.token.not-allowed'
    t.match((await install('token/verify', { body: {} })).data, { valid: allowed, reason }, about)
    t.match((await execute()).data, { authorized: allowed, passed: allowed }, about)
    t.equal(await accounts.hasUsers(), allowed, about)
    // The mode `forced` never opens an installed product.
    if (mode === 'forced') t.match((await look('status')).data, { installed: true, installAllowed: false })
  }
})

t.test('I-011 I-012 I-019 installed, with and without permission to install again', async (t) => {
  const { look, execute, install } = await start(t, { config: { 'platform.install.allow-reinstall': true } })
  await execute()
  t.match((await look('status')).data, { installed: true, allowReinstall: true, installAllowed: true, locked: true })
  t.match((await install('token/verify', { body: {} })).data, { valid: true, installed: true })
  const again = await execute()
  t.match(again.data, { passed: true, locked: true, restartRequired: false })
  const administrator = again.data.records.find(({ stepCode }: { stepCode: string }) => stepCode === 'administrator')
  t.match(administrator, { status: /^passed$/, message: /already/ }, 'D63 the administrator is there already')
})

t.test('I-020 I-085 I-086 I-087 I-088 I-092 no token is configured, or only blanks', async (t) => {
  for (const configured of ['', '    ']) {
    const { install, look } = await start(t, { config: { 'platform.install.token': configured } })
    for (const body of [{}, { token: '' }, { token: 'whatever' }]) {
      const { code, data } = await install('token/verify', { body })
      t.equal(code, '200')
      t.same(data, {
        valid: true,
        tokenConfigured: false,
        installed: false,
        installAllowed: true,
        reason: 'install.token.not-required',
        hint: '',
        expiresAt: '',
      })
    }
    t.equal((await look('steps')).code, '200')
  }
})

t.test('I-023 I-089 I-090 I-094 token check', async (t) => {
  const { install, clock } = await start(t, { config: tokenOf })
  const verify = async (body: object, sent?: string) =>
    (await install('token/verify', omitUndefined({ body, token: sent }))).data
  const good = await verify({ token })
  t.hasStrict(good, { valid: true, tokenConfigured: true, reason: 'install.token.valid' })
  t.equal(Date.parse(good.expiresAt) - clock.now(), 30 * 60_000, 'I-023 30 minutes')
  for (const [body, sent] of [
    [{}, undefined],
    [{ token: '' }, undefined],
    [{ token: `${token}x` }, undefined],
    [{}, token],
  ] as const) {
    t.hasStrict(await verify(body, sent), { valid: false, reason: 'install.token.invalid', expiresAt: '' })
  }
  t.equal((await install('token/verify', { body: { token: 5 } })).code, '400')
})

t.test('I-023 the validity is configurable', async (t) => {
  const { install, clock } = await start(t, { config: { ...tokenOf, 'platform.install.token-ttl': '90s' } })
  const { data } = await install('token/verify', { body: { token } })
  t.equal(Date.parse(data.expiresAt) - clock.now(), 90_000)
})

/** All operations that require access, with their response to a caller without access. */
const guarded = [
  ['GET', 'config/defaults', undefined],
  ['GET', 'config/schema', undefined],
  ['GET', 'steps', undefined],
  ['POST', 'preflight', { authorized: false, passed: false, checks: [] }],
  ['POST', 'config/validate', { authorized: false, passed: false, checks: [] }],
  ['POST', 'config/plan', { authorized: false, passed: false, checks: [], entries: [], restartRequired: false }],
  ['POST', 'config/write', { authorized: false, passed: false, checks: [], entries: [], restartRequired: false }],
  ['POST', 'migrate', { authorized: false, migrated: false, pendingBefore: 0, applied: 0, upToDate: false }],
  ['POST', 'execute', { authorized: false, passed: false, sessionId: '', records: [] }],
  ['POST', 'sessions/none/retry', { authorized: false, passed: false, sessionId: '', records: [] }],
  ['POST', 'administrator', { authorized: false, ready: false, created: false, userId: null, username: '' }],
  ['POST', 'lock', { authorized: false, locked: false, lockedAt: '', status: { installed: Boolean } }],
  ['GET', 'execution-logs', { authorized: false, records: [] }],
  ['GET', 'sessions/none', { authorized: false, sessionId: 'none', records: [] }],
] as const

t.test('I-042 I-093 I-097 I-149 nothing is done without the token in the header', async (t) => {
  const { call, form, accounts, look, db } = await start(t, { config: tokenOf })
  const elsewhere = { 'x-installtoken': token, authorization: `Bearer ${token}`, cookie: `token=${token}` }
  for (const [method, path, rejected] of guarded) {
    const body = { ...(path === 'administrator' ? form.administrator : form), token }
    const url = `/api/v1/install/${path}?token=${token}&x-install-token=${token}`
    const response = await call(method, url, { headers: elsewhere, ...(method === 'POST' ? { body } : {}) })
    if (rejected === undefined) t.hasStrict(response, { code: '403', data: { reason: 'install.token.invalid' } }, path)
    else t.match(response, { code: /^200$/, data: rejected }, path)
  }
  t.equal(await accounts.hasUsers(), false)
  t.match((await look('status')).data, { installed: false })
  const [{ count } = { count: -1 }] = await db.query<{ count: number }>('select count(*) as count from install_record')
  t.equal(Number(count), 0, 'I-042 no check was run')
  for (const [method, path] of guarded) {
    const body = method === 'POST' ? { body: {} } : {}
    const { code, data } = await call(method, `/api/v1/install/${path}`, { token, ...body })
    t.notMatch(data, { authorized: false }, path)
    if (path === 'lock') break
    if (!path.endsWith('retry')) t.equal(code, '200', path)
  }
})

t.test('I-073 I-091 after the installation everything is closed', async (t) => {
  const { call, install, execute, form, accounts } = await start(t, { config: tokenOf })
  t.match((await execute({ token })).data, { passed: true })
  t.hasStrict((await install('token/verify', { body: { token } })).data, {
    valid: false,
    installed: true,
    reason: 'install.token.not-allowed',
    expiresAt: '',
  })
  for (const [method, path, rejected] of guarded) {
    const { administrator } = form
    const intruder = { ...administrator, username: 'intruder' }
    const body = path === 'administrator' ? intruder : { ...form, administrator: intruder }
    const response = await call(method, `/api/v1/install/${path}`, { token, ...(method === 'POST' ? { body } : {}) })
    if (rejected === undefined)
      t.hasStrict(response, { code: '403', data: { reason: 'install.token.not-allowed' } }, path)
    else t.match(response.data, rejected, path)
  }
  t.equal(await accounts.findByUsername('intruder'), undefined)
})

t.test('I-024 I-025 I-026 source networks', async (t) => {
  const { install, look, running } = await start(t, {
    config: {
      'platform.install.cidr-check-enabled': true,
      'platform.rate-limit.annotation.client-ip.trusted-proxies': ['10.0.0.0/8'],
    },
  })
  const result = async (remoteAddress: string, headers: Record<string, string> = {}) =>
    (await install('token/verify', { body: {}, remoteAddress, headers })).data.valid
  t.equal(await result('127.0.0.1'), true)
  t.equal(await result('::1'), true)
  t.equal(await result('::ffff:127.0.0.1'), true, 'I-026')
  t.equal(await result('192.0.2.7'), false, 'I-025')
  t.equal(await result('192.0.2.7', { 'x-forwarded-for': '127.0.0.1' }), false, 'P35 D11 a forged header opens nothing')
  t.equal(
    await result('10.0.0.1', { 'x-forwarded-for': '127.0.0.1' }),
    false,
    'E6 nor what anybody sends from a trusted one',
  )
  t.equal(await result('10.0.0.1', { 'x-forwarded-for': '192.0.2.7' }), false)
  t.equal(await result('127.0.0.1', { 'x-forwarded-for': '192.0.2.7' }), true, 'this machine is no trusted proxy here')
  t.match((await look('status', { remoteAddress: '192.0.2.7' })).data, { installAllowed: true })
  t.same(running.config.explain('platform.install.allowed-cidrs')?.effective.value, ['127.0.0.1/32', '::1/128'])
  const networks = ['10.0.0.1/32', '203.0.113.0/24']
  const wider = await start(t, {
    config: { 'platform.install.cidr-check-enabled': true, 'platform.install.allowed-cidrs': networks },
  })
  const through = async (remoteAddress: string, client: string) =>
    (await wider.install('token/verify', { body: {}, remoteAddress, headers: { 'x-forwarded-for': client } })).data
  t.match(await through('10.0.0.1', '203.0.113.7'), { valid: true }, 'D11 E6 proxy and client are both allowed')
  t.match(await through('10.0.0.2', '203.0.113.7'), { valid: false, hint: /allowed-cidrs/ }, 'D11 E6 the proxy is not')
  t.match(await through('10.0.0.1', '198.51.100.7'), { valid: false, hint: /allowed-cidrs/ }, 'the client is not')
  const open = await start(t)
  t.equal((await open.install('token/verify', { body: {}, remoteAddress: '192.0.2.7' })).data.valid, true, 'I-024 off')
})

t.test('I-027 HTTPS', async (t) => {
  const { install } = await start(t, { config: { 'platform.install.require-https': true } })
  const result = async (headers: Record<string, string>, remoteAddress = '127.0.0.1') =>
    (await install('token/verify', { body: {}, headers, remoteAddress })).data
  t.hasStrict(await result({}), { valid: false, reason: 'install.token.not-allowed', installAllowed: true })
  t.match(await result({ 'x-forwarded-proto': 'https' }), { valid: true }, 'P33 a trusted proxy speaks HTTPS')
  t.match(await result({ 'x-forwarded-proto': 'https' }, '203.0.113.5'), { valid: false }, 'anybody else does not')
})

t.test('I-095 five wrong tokens per minute and address', async (t) => {
  const { install, look, clock } = await start(t, { config: tokenOf })
  const from = { remoteAddress: '203.0.113.9' }
  const wrong = () => look('steps', { token: 'wrong', ...from })
  for (let attempt = 0; attempt < 5; attempt++) t.equal((await wrong()).code, '403')
  const rejected = await wrong()
  t.hasStrict(rejected, { status: 200, code: '429', data: { reason: 'install.token.too-many-failures' } })
  t.equal(rejected.headers['retry-after'], '60')
  t.equal((await look('steps', { token, ...from })).code, '429', 'the right one is no hint either')
  t.equal((await install('token/verify', { body: { token }, ...from })).code, '429')
  t.equal((await look('steps', { token, remoteAddress: '203.0.113.10' })).code, '200', 'others are not held up')
  await clock.advance(60_000)
  t.equal((await look('steps', { token, ...from })).code, '200')
  for (let attempt = 0; attempt < 9; attempt++) await install('token/verify', { body: {}, ...from })
  t.equal((await look('steps', { token, ...from })).code, '200', 'asking without a token is no guess')
})

t.test('I-095 concurrent guesses have no advantage', async (t) => {
  const { look } = await start(t, { config: tokenOf })
  const answers = await Promise.all(Array.from({ length: 40 }, () => look('steps', { token: 'wrong' })))
  t.equal(answers.filter(({ code }) => code === '403').length, 5)
  t.equal(answers.filter(({ code }) => code === '429').length, 35)
})

t.test(
  'I-095 D11 a caller who forges addresses reaches the limit of the connection, then the common limit',
  async (t) => {
    const { look, install, clock } = await start(t, { config: tokenOf })
    const guess = async (remoteAddress: string, client: string, given = 'wrong') =>
      (await look('steps', { token: given, remoteAddress, headers: { 'x-forwarded-for': client } })).code
    const codes = async (calls: readonly (() => Promise<string>)[]) => {
      const found: string[] = []
      for (const call of calls) found.push(await call())
      return found.join(' ')
    }
    const rotating = Array.from({ length: 8 }, (_, turn) => () => guess('10.0.0.1', `198.51.100.${turn}`))
    t.equal(await codes(rotating), '403 403 403 403 403 429 429 429', 'through one proxy')
    t.equal(
      await guess('10.0.0.1', '203.0.113.7', token),
      '200',
      'who knows a token that nobody can guess is not locked out',
    )
    t.equal(await guess('10.0.0.1', '198.51.100.99'), '429', 'and guessing goes on being refused')
    const elsewhere = Array.from({ length: 60 }, (_, turn) => () => guess(`10.1.${turn}.1`, `192.0.2.${turn}`))
    const all = (await codes(elsewhere)).split(' ')
    t.same([all.indexOf('429'), all.lastIndexOf('403')], [45, 44], 'fifty of all together')
    t.equal(await guess('10.2.0.1', '203.0.113.8', token), '200')
    t.hasStrict(await install('token/verify', { body: { token: 'wrong' }, remoteAddress: '203.0.113.9' }), {
      code: '429',
    })
    await clock.advance(60_000)
    t.equal(await guess('10.0.0.1', '198.51.100.1'), '403', 'the budgets come back')
  },
)

t.test('I-095 a weak token has the limits of all callers, except on the same machine', async (t) => {
  const weak = 'weak'
  const { look } = await start(t, { config: { 'platform.install.token': weak } })
  const ask = async (given: string, options: object) => (await look('steps', { token: given, ...options })).code
  for (let turn = 0; turn < 50; turn++) await ask('wrong', { remoteAddress: `10.3.${turn}.1` })
  t.equal(await ask(weak, { remoteAddress: '203.0.113.9' }), '429', 'the right one is no hint')
  t.equal(await ask(weak, { headers: { 'x-forwarded-for': '203.0.113.9' } }), '429')
  t.equal(await ask(weak, {}), '200', 'a caller on the same machine is not locked out')
  for (let turn = 0; turn < 5; turn++) await ask('wrong', {})
  t.equal(await ask(weak, {}), '429', 'but guesses no more than others')
})

t.test('I-095 E4 addresses of one IPv6 network count together, and memory is limited', async (t) => {
  const { look } = await start(t, { config: tokenOf })
  const guess = async (remoteAddress: string) => (await look('steps', { token: 'wrong', remoteAddress })).code
  for (let host = 1; host <= 5; host++) t.equal(await guess(`2001:db8:0:7::${host}`), '403')
  t.equal(await guess('2001:db8:0:7:ffff::9'), '429')
  t.equal(await guess('2001:db8:0:8::1'), '403')

  let now = 0
  const attempts = new FailedAttempts({ monotonic: () => now })
  const from = (client: string) => ({ client, peer: `peer of ${client}` })
  for (let turn = 0; turn < 5; turn++) attempts.record(from('first'), 'all')
  t.ok(attempts.waits(from('first')).ownMs > 0)
  for (let turn = 0; turn < 20_000; turn++) attempts.record(from(`stranger ${turn}`), 'all')
  t.equal(attempts.waits(from('first')).ownMs, 0, 'the oldest was forgotten')
  t.ok(attempts.waits(from('first')).sharedMs > 0, 'the budget of all was not')
  now = 60_000
  t.same(attempts.waits(from('first')), { ownMs: 0, sharedMs: 0 })
})

t.test('E6 a page whose host name was pointed to this machine cannot install without a token', async (t) => {
  const site = { environment: { PLATFORM_SITE_URL: 'https://shop.example.com/start' } }
  const { call, install, look, form, accounts, server } = await start(t, site)
  const rebound = (host: string) => ({ host, 'sec-fetch-site': 'same-origin', origin: `http://${host}` })
  const foreign = [
    'evil.example:3000',
    'localhost.evil.example',
    'shop.example.com.evil.example',
    '127.0.0.1.evil.example',
    '127.1',
    '0x7f000001',
    '[::1',
    'evil.example/localhost',
    'localhost@evil.example',
  ]
  for (const host of foreign) {
    const headers = rebound(host)
    const result = (await install('token/verify', { body: {}, headers })).data
    t.hasStrict(result, { valid: false, installAllowed: false, reason: 'install.token.not-allowed' }, host)
    t.match(result.hint, /PLATFORM_INSTALL_TOKEN or PLATFORM_SITE_URL/, 'it says how to go on')
    t.match((await look('status', { headers })).data, { installAllowed: false }, host)
  }
  const headers = rebound('evil.example')
  for (const [method, path, rejected] of guarded) {
    const body = path === 'administrator' ? form.administrator : form
    for (const forged of [{}, { 'x-forwarded-host': 'localhost' }, { 'x-forwarded-host': 'shop.example.com' }]) {
      const sent = {
        headers: { ...headers, ...forged, origin: `http://${Object.values(forged)[0] ?? 'evil.example'}` },
      }
      const response = await call(method, `/api/v1/install/${path}`, {
        ...sent,
        ...(method === 'POST' ? { body } : {}),
      })
      if (rejected === undefined) t.match(response, { code: /^403$/, message: /localhost, an IP address/ }, path)
      else t.match(response.data, rejected, path)
    }
  }
  const chinese = await install('lock', { headers: { ...headers, 'accept-language': 'zh-CN' } })
  t.match(chinese.data, { authorized: false, message: /未配置安装令牌/ })
  t.match((await look('status')).data, { installed: false, installAllowed: true })
  t.equal(await accounts.hasUsers(), false)

  const own = [
    'localhost',
    'LOCALHOST:3000',
    'shop.localhost:3000',
    'localhost.',
    '127.0.0.1:3000',
    '[::1]:3000',
    '192.168.1.5:8080',
    '203.0.113.9',
    '[2001:db8::1]',
    'shop.example.com',
    'SHOP.example.com:443',
  ]
  for (const host of own) {
    t.match((await install('token/verify', { body: {}, headers: { host } })).data, { valid: true, hint: '' }, host)
  }
  const proxied = { host: '127.0.0.1:3000', 'x-forwarded-host': 'other.example', origin: 'https://other.example' }
  t.match(
    (await install('token/verify', { body: {}, headers: proxied })).data,
    { valid: true },
    'a trusted proxy names it',
  )
  t.equal((await server.inject({ url: '/install/', headers })).statusCode, 200, 'the page shows why')
})

t.test('E6 a proxy that an operator configured, and a token, open the installer under any host', async (t) => {
  const key = 'platform.rate-limit.annotation.client-ip.trusted-proxies'
  const named = await start(t, { config: { [key]: ['10.0.0.1/32'] } })
  const through = async (remoteAddress: string) =>
    (await named.install('token/verify', { body: {}, remoteAddress, headers: { host: 'shop.example.com' } })).data.valid
  t.equal(await through('10.0.0.1'), true)
  t.equal(await through('10.0.0.2'), false, 'another machine of the network')
  t.equal(await through('127.0.0.1'), false)
  const withToken = await start(t, { config: tokenOf })
  const headers = { host: 'shop.example.com' }
  t.match((await withToken.install('token/verify', { body: { token }, headers })).data, { valid: true })
  const later = await start(t)
  t.equal((await later.look('steps', { headers })).code, '403')
  await later.centre.save([{ key: 'platform.site.url', action: 'set', value: 'https://shop.example.com' }], {
    actor: { name: 'test', traceId: '' },
  })
  t.equal((await later.look('steps', { headers })).code, '200', 'the address of the site counts at once')
})

t.test('I-098 secrets of the defaults are returned only to callers who may see them', async (t) => {
  const environment = {
    PLATFORM_CACHE_PASSWORD: secrets.cache,
    PLATFORM_DATABASE_PASSWORD: secrets.database,
  }
  const { look } = await start(t, { environment, plugins: [sharedStorePlugin] })
  const cacheOf = async (options: object) => (await look('config/defaults', options)).data.cache
  const local = await look('config/defaults', { headers: { host: 'localhost:3000' } })
  t.equal(local.headers['cache-control'], 'no-store')
  t.match(local.data, {
    site: { name: '', title: '', url: '', defaultLocale: 'en', timeZone: 'UTC' },
    database: { type: 'h2', url: /^sqlite:/, host: '', port: null, database: 'test', username: '', password: '' },
    cache: { enabled: false, host: '127.0.0.1', port: 6379, database: 0, password: secrets.cache, passwordSet: true },
    storage: { publicDisk: 'public', localDisk: 'local' },
  })
  const strangers = [
    { remoteAddress: '192.0.2.1' },
    { headers: { host: 'localhost', 'x-forwarded-for': '127.0.0.1' } },
    { headers: { host: 'localhost', via: '1.1 proxy' } },
    { headers: { host: 'localhost', 'x-forwarded-proto': 'https' } },
    { headers: { host: 'localhost', 'x-original-host': 'shop.example' } },
    { headers: { host: 'localhost', referer: 'https://shop.example/install/' } },
    { headers: { host: '127.0.0.1:3000', origin: 'https://shop.example' } },
    { headers: { host: '192.168.1.5' } },
    { remoteAddress: '10.0.0.5', headers: { host: 'localhost', 'x-real-ip': '127.0.0.1' } },
  ]
  for (const options of strangers) {
    t.match(await cacheOf(options), { password: '', passwordSet: true }, JSON.stringify(options))
  }
  t.notMatch(JSON.stringify((await look('status')).data), secrets.cache)
  t.equal((await look('config/defaults', { headers: { host: 'evil.example' } })).code, '403', 'E6')

  const withToken = await start(t, { environment, plugins: [sharedStorePlugin], config: tokenOf })
  const far = { remoteAddress: '192.0.2.1' }
  t.equal((await withToken.look('config/defaults', { token, ...far })).data.cache.password, secrets.cache)
  t.equal((await withToken.look('config/defaults', far)).code, '403')
})

t.test('P37 P38 P39 requests that other sites make a browser send', async (t) => {
  const { call, install, look, form, accounts, server } = await start(t)
  const evil = [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: 'http://localhost:81' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'none', origin: 'https://evil.example' },
  ]
  for (const [method, path] of guarded) {
    if (method !== 'POST') continue
    for (const headers of evil) {
      const response = await call('POST', `/api/v1/install/${path}`, { body: form, headers })
      t.hasStrict(
        response,
        { code: '403', data: { reason: 'install.cross-site' } },
        `${path} ${JSON.stringify(headers)}`,
      )
    }
  }
  const bare = {
    method: 'POST',
    url: '/api/v1/install/lock',
    headers: { 'content-type': 'text/plain', ...evil[0] },
  } as const
  t.hasStrict((await server.inject(bare)).json(), { code: '403' }, 'P37 no body, text/plain')
  t.match((await look('status')).data, { installed: false })

  for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data']) {
    const payload = type.startsWith('application') ? 'site.name=x' : JSON.stringify(form)
    const request = {
      method: 'POST',
      url: '/api/v1/install/execute',
      headers: { 'content-type': type },
      payload,
    } as const
    t.match(await server.inject(request), { statusCode: 415 }, `P38 ${type}`)
  }
  t.equal(await accounts.hasUsers(), false)

  const headers = { origin: 'https://evil.example', 'access-control-request-headers': 'x-install-token' }
  const preflight = await server.inject({ method: 'OPTIONS', url: '/api/v1/install/execute', headers })
  t.ok([404, 405].includes(preflight.statusCode), 'P39')
  for (const response of [preflight, await server.inject({ url: '/api/v1/install/status', headers })]) {
    t.notOk(
      Object.keys(response.headers).some((name) => name.startsWith('access-control-')),
      'P39',
    )
  }

  const own = [
    {},
    { origin: 'http://localhost:80' },
    { origin: 'http://localhost' },
    { 'sec-fetch-site': 'same-origin', origin: 'https://shop.example', host: '127.0.0.1:3000' },
    { 'sec-fetch-site': 'none' },
    { origin: 'https://shop.example', 'x-forwarded-host': 'shop.example' },
  ]
  for (const headers of own) {
    t.equal((await install('token/verify', { body: {}, headers })).code, '200', JSON.stringify(headers))
  }
})

t.test('the guard covers the whole prefix, in every notation of the path', async (t) => {
  const { server, accounts, form, look } = await start(t, { config: tokenOf })
  const paths = [
    '',
    '/',
    '//',
    '/execute/',
    '/execute/x',
    '//execute',
    '/./execute',
    '/%65xecute',
    '/execute%2f',
    '/EXECUTE',
    '/execute;x',
  ]
  for (const path of paths) {
    for (const prefix of ['/api/v1/install', '//api/v1/install', '/api//v1/install', '/API/v1/install']) {
      const response = await server.inject({ method: 'POST', url: `${prefix}${path}`, payload: form })
      t.ok(response.statusCode === 404 || response.json().data.authorized === false, `${prefix}${path}`)
    }
  }
  t.equal(await accounts.hasUsers(), false)
  t.match((await look('status')).data, { installed: false })
})

async function emptyDatabase(t: Test, dialect: TestDialect) {
  const db = await createDatabase(dialect)
  t.teardown(() => db.drop())
  return { ...databaseFormFor(db), password: secrets.database }
}

for (const { dialect, skip } of serversUnderTest) {
  t.test(
    `I-049 I-096 the defaults are those of the running product, on a server and with a site (${dialect})`,
    { skip, timeout: 600_000 },
    async (t) => {
      // In a PostgreSQL test the tables belong to a separate user, who may log in with any password.
      const form =
        dialect === 'mariadb'
          ? await databaseWithPassword(t, dialect, secrets.database)
          : await emptyDatabase(t, dialect)
      const directory = productDirectory(t)
      const config = {
        'platform.database.type': dialect,
        'platform.database.host': form.host,
        'platform.database.name': form.database,
        'platform.database.username': form.username,
        'platform.site.name': 'Acme',
        'platform.site.title': 'Acme shop',
        'platform.site.url': 'https://shop.example.com',
        'platform.site.time-zone': 'Asia/Shanghai',
        'platform.i18n.default-locale': 'zh-CN',
        'platform.cache.host': 'cache.internal',
        'platform.cache.port': 6380,
        'platform.cache.database': 3,
      }
      const db = { dialect, directory, config, drop: async () => {} }
      const {
        look,
        install,
        form: usual,
      } = await startInstall(t, db, {
        environment: { PLATFORM_DATABASE_PASSWORD: secrets.database, PLATFORM_CACHE_PASSWORD: secrets.cache },
        plugins: [sharedStorePlugin],
      })
      const shown = { type: form.type, host: '127.0.0.1', database: form.database, username: form.username }
      const local = (await look('config/defaults', { headers: { host: 'localhost:3000' } })).data
      t.match(local, {
        site: {
          name: 'Acme',
          title: 'Acme shop',
          url: 'https://shop.example.com',
          defaultLocale: 'zh-CN',
          timeZone: 'Asia/Shanghai',
        },
        database: { ...shown, password: secrets.database, passwordSet: true },
        cache: { host: 'cache.internal', port: 6380, database: 3, password: secrets.cache, passwordSet: true },
        storage: { publicDisk: 'public', localDisk: 'local' },
      })
      const far = (await look('config/defaults', { headers: { host: 'shop.example.com' }, remoteAddress: '192.0.2.1' }))
        .data
      t.match(far, {
        database: { ...shown, password: '', passwordSet: true },
        cache: { password: '', passwordSet: true },
      })
      const plan = (await install('config/plan', { body: { ...usual, database: { ...usual.database, ...form } } })).data
      t.match(plan, { authorized: true })
      for (const [whose, text] of Object.entries({
        'connection of the defaults': local.database.url,
        'defaults from afar': JSON.stringify(far),
        plan: JSON.stringify(plan),
      })) {
        t.notMatch(text, secrets.database, whose)
      }
      t.match(
        local.database.url,
        new RegExp(`//(?:${form.username}(?::\\*+)?@)?127\\.0\\.0\\.1(?::\\d+)?/${form.database}$`),
      )
    },
  )
}
