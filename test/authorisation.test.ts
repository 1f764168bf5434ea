/**
 * Tests every operation of the quickstart with every kind of credential. A new way of signing in is a new row of
 * `credentials`. The caller has no permission, so an operation that needs one must reject every credential.
 */
import { randomBytes } from 'node:crypto'
import { startForTest } from '@plinth/dev/testing'
import { http } from '@plinth/http'
import { accounts, identity } from '@plinth/iam'
import type { Product } from '@plinth/kernel'
import t from 'tap'
import product from '../examples/quickstart/plinth.config.ts'
import { dataDirectory } from './fixtures/product-process.ts'

const password = 'Correct-horse-7'
const origin = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: '' }
const page = { origin: 'http://shop.test', host: 'shop.test' }

interface Expected {
  /** Result of each operation that needs a permission. */
  readonly permission: readonly string[]
  /** Result of each operation for signed-in users; absent: anything except a rejected credential. */
  readonly user?: readonly string[]
}

/** The credential is accepted, and its user lacks the permission. */
const accepted: Expected = { permission: ['403 iam.permission-denied'] }
const rejected = (...results: readonly string[]): Expected => ({ permission: results, user: results })

t.test('no credential reaches an operation without the permission', { timeout: 300_000 }, async (t) => {
  const root = await dataDirectory(t.teardown)
  const config = {
    ...product.config,
    'platform.http.port': 0,
    'platform.install.installed': true,
    'platform.iam.password.hash.memory': '1MiB',
    'platform.iam.password.hash.passes': 1,
    'platform.rate-limit.enabled': false,
    'platform.mail.driver': 'none',
  }
  const running = await startForTest({ ...product, root, config } as Product, { roles: ['web'] })
  t.teardown(() => running.stop('test ended'))
  const server = running.service(http)
  type Headers = Readonly<Record<string, string>>
  const send = async (method: string, url: string, headers: Headers, payload?: object) => {
    const response = await server.inject({ method: method as 'GET', url, headers, ...(payload ? { payload } : {}) })
    const isJson = /json/.test(String(response.headers['content-type']))
    return { ...(isJson ? response.json() : { code: '200', data: null }), set: response.headers['set-cookie'] }
  }
  const people = running.service(accounts)
  const bearer = (token: string): Headers => ({ authorization: `Bearer ${token}` })
  const logIn = (username: string, headers: Headers = {}, session: 'token' | 'cookie' = 'token') =>
    send('POST', '/api/v1/auth/login', headers, { username, password, session })
  await people.createSuperAdministrator({ username: 'root', password }, origin)
  const asRoot = bearer((await logIn('root')).data.accessToken)
  const user = await people.create({ username: 'mia', password }, origin)
  const open = (secondFactor?: string) => {
    const attempt = { ...origin, method: 'test', identifier: 'mia', setHeader() {} }
    return running
      .service(identity)
      .openSession(user.id, secondFactor === undefined ? attempt : { ...attempt, secondFactor })
  }
  const session = (await logIn('mia')).data.accessToken
  const [set = ''] = [(await logIn('mia', page, 'cookie')).set].flat()
  const content = { name: 'script', dataScope: 'self', expiresAt: new Date(Date.now() + 86_400_000).toISOString() }
  const created = await send('POST', '/api/v1/iam/users/me/api-tokens', bearer(session), content)
  const ended = (await open()).accessToken
  await send('POST', '/api/v1/auth/logout', bearer(ended))
  // The role requires a second factor, so a correct password is only half of a sign-in.
  const role = { code: 'careful', name: 'Careful', dataScope: 'self', permissions: [] }
  const { id: roleId, version } = (await send('POST', '/api/v1/admin/iam/roles', asRoot, role)).data
  const rules = {
    secondFactorFrom: new Date(0).toISOString(),
    sessionLifetime: null,
    sessionIdleTimeout: null,
    version,
  }
  t.equal((await send('PUT', `/api/v1/admin/iam/roles/${roleId}/sign-in-policy`, asRoot, rules)).code, '200')
  await people.create({ username: 'half', password, roleIds: [roleId] }, origin)
  const { pendingToken } = (await logIn('half')).data
  t.match(pendingToken, /^plinthpending_/)

  const cookie = `${set.split(';', 1)[0]}`
  const credentials: Readonly<Record<string, readonly [Headers, Expected]>> = {
    'a session by password': [bearer(session), accepted],
    'a session by another way of signing in': [bearer((await open()).accessToken), accepted],
    'a session with a second factor': [bearer((await open('totp')).accessToken), accepted],
    'a session cookie': [{ ...page, cookie }, accepted],
    'an API token': [
      bearer(created.data.token),
      { permission: ['403 iam.permission-denied', '403 iam.session-required'] },
    ],
    'half of a sign-in': [bearer(pendingToken), rejected('401 iam.token-invalid')],
    'half of a sign-in as a cookie': [
      { ...page, cookie: `plinth-session=${pendingToken}` },
      rejected('401 iam.token-invalid'),
    ],
    'an ended session': [bearer(ended), rejected('401 iam.token-invalid')],
    'an unknown session': [
      bearer(`plinth_${randomBytes(32).toString('base64url')}`),
      rejected('401 iam.token-invalid'),
    ],
    'an API token as a cookie': [
      { ...page, cookie: `plinth-session=${created.data.token}` },
      rejected('401 iam.api-token-misplaced'),
    ],
    'the device cookie': [{ ...page, cookie: 'plinth-device=x' }, rejected('401 iam.token-missing')],
    nothing: [{}, rejected('401 iam.token-missing')],
  }
  const wrong: string[] = []
  let operations = 0
  for (const [path, methods] of Object.entries((await server.openapi()).paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      if (!operation.security.some((way) => 'bearer' in way)) continue
      operations++
      const url = path.replaceAll(/\{\w+\}/g, '1')
      for (const [name, [headers, expected]] of Object.entries(credentials)) {
        const results = operation['x-permission'] === undefined ? expected.user : expected.permission
        // Operations that end the session of the caller would change the next requests.
        if (results === undefined) continue
        const { code, data } = await send(method.toUpperCase(), url, headers, method === 'get' ? undefined : {})
        const result = `${code} ${data?.reason}`
        if (!results.includes(result)) wrong.push(`${name}: ${method.toUpperCase()} ${path} -> ${result}`)
      }
    }
  }
  t.strictSame(wrong, [])
  t.ok(operations > 150, `${operations} operations`)
  t.comment(`${operations} operations x ${Object.keys(credentials).length} credentials`)
  const me = async (headers: Headers) => (await send('GET', '/api/v1/iam/users/me', headers)).code
  const usable = await Promise.all(
    Object.entries(credentials).map(async ([name, [headers, { user: results }]]) => [name, await me(headers), results]),
  )
  t.strictSame(
    usable.filter(([, code, results]) => (code === '200') !== (results === undefined)),
    [],
    'accepted credentials work for the own account, and only they',
  )
})
