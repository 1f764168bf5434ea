/**
 * Tests that the way of signing in makes no difference to access: users with the same roles get the same results from
 * every operation, with each way.
 */
import { startForTest } from '@plinth/dev/testing'
import { http } from '@plinth/http'
import { accounts } from '@plinth/iam'
import type { Product } from '@plinth/kernel'
import { Secret, TOTP } from 'otpauth'
import t from 'tap'
import { privateKeyToAccount } from 'viem/accounts'
import product from '../examples/quickstart/plinth.config.ts'
import { SoftwareAuthenticator } from '../plugins/authenticators/test/fixtures/software-authenticator.ts'
import {
  clientId,
  clientSecret,
  ProviderBrowser,
  startProvider,
} from '../plugins/sign-in-oidc/test/fixtures/provider.ts'
import { permissionOperations } from './data-scope/requests.ts'
import { dataDirectory } from './fixtures/product-process.ts'

const origin = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: '' }
const password = 'Correct-horse-7'
const site = 'https://app.example.com'
const auth = '/api/v1/auth'

interface Person {
  readonly userId: number
  readonly username: string
  /** A number that is different for each person. */
  readonly number: number
}

/** Signs a person in and returns the token of the session. */
type Way = (person: Person) => Promise<string>

t.test('the way of signing in makes no difference to access', { timeout: 600_000 }, async (t) => {
  const root = await dataDirectory(t.teardown)
  const provider = await startProvider(t, { redirectUris: [`${site}/admin/sign-in/oidc/kc`] })
  const { issuer } = provider
  const config = {
    ...product.config,
    'platform.http.port': 0,
    'platform.install.installed': true,
    'platform.site.url': site,
    'platform.iam.password.hash.memory': '1MiB',
    'platform.iam.password.hash.passes': 1,
    'platform.rate-limit.enabled': false,
    'platform.mail.driver': 'none',
    'platform.outgoing-http.allow-http': true,
    'platform.outgoing-http.allowed-hosts': [provider.host],
    'platform.sign-in-oidc.providers': { kc: { issuer, clientId } },
    'platform.sign-in-oidc.client-secrets': { kc: { issuer, clientId, secret: clientSecret } },
  }
  const running = await startForTest({ ...product, root, config } as Product, { roles: ['web'] })
  t.teardown(() => running.stop('test ended'))
  const server = running.service(http)
  const people = running.service(accounts)
  const call = async (
    method: string,
    url: string,
    { token, body, cookie }: { readonly token?: string; readonly body?: object; readonly cookie?: string } = {},
  ) => {
    const response = await server.inject({
      method: method as 'GET',
      url,
      headers: {
        'sec-fetch-site': 'same-origin',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(cookie === undefined ? {} : { cookie }),
      },
      ...(body === undefined ? {} : { payload: body }),
    })
    const isJson = /json/.test(String(response.headers['content-type']))
    const envelope = isJson ? response.json() : { code: '200', data: null }
    return { ...envelope, cookie: String(response.headers['set-cookie'] ?? '').split(';')[0] }
  }
  const post = async (url: string, body: object, more: { readonly token?: string; readonly cookie?: string } = {}) => {
    const { code, data, ...rest } = await call('POST', url, { body, ...more })
    // A sign-in that waits for its second factor has this code too.
    if (code !== '200' && data?.pendingToken === undefined) throw new Error(`${url}: ${code} ${data?.reason}`)
    return { ...rest, data }
  }

  const byPassword: Way = async ({ username }) => (await post(`${auth}/login`, { username, password })).data.accessToken
  const pendingOf = async ({ username }: Person): Promise<string> =>
    (await post(`${auth}/login`, { username, password })).data.pendingToken

  const byWallet: Way = async ({ userId, number }) => {
    const wallet = privateKeyToAccount(`0x${number.toString(16).padStart(64, '0')}`)
    const address = wallet.address.toLowerCase()
    const external = { provider: 'evm', chainType: 'evm', subject: address, proof: 'ecrecover' }
    await people.bindExternal(userId, external, origin)
    const { data } = await post(`${auth}/wallet/challenge`, { chainType: 'evm', address })
    const { challengeId, message } = data
    const signature = await wallet.signMessage({ message })
    return (await post(`${auth}/wallet/login`, { challengeId, address, signature })).data.accessToken
  }

  /** Adds a passkey and returns the device and the recovery codes. */
  const addPasskey = async (person: Person) => {
    const token = await byPassword(person)
    const device = new SoftwareAuthenticator({ origin: site })
    const { data } = await post(`${auth}/passkeys/options`, {}, { token })
    const { challengeId, options } = data
    const added = await post(`${auth}/passkeys`, { challengeId, response: device.create(options) }, { token })
    return { device, recoveryCodes: added.data.recoveryCodes as readonly string[] }
  }
  const byPasskey: Way = async (person) => {
    const { device } = await addPasskey(person)
    const { data } = await post(`${auth}/passkey/options`, {})
    const { challengeId, options } = data
    return (await post(`${auth}/passkey/login`, { challengeId, response: device.get(options) })).data.accessToken
  }
  const bySecondPasskey: Way = async (person) => {
    const { device } = await addPasskey(person)
    const pendingToken = await pendingOf(person)
    const { data } = await post(`${auth}/second-factor/passkey/options`, { pendingToken })
    const { challengeId, options } = data
    const body = { pendingToken, challengeId, response: device.get(options) }
    return (await post(`${auth}/second-factor/passkey`, body)).data.accessToken
  }
  const byRecoveryCode: Way = async (person) => {
    const { recoveryCodes } = await addPasskey(person)
    const body = { pendingToken: await pendingOf(person), code: recoveryCodes[0] }
    return (await post(`${auth}/second-factor/recovery-code`, body)).data.accessToken
  }
  const byTotp: Way = async (person) => {
    const token = await byPassword(person)
    const { setUpId, secret } = (await post(`${auth}/totp/options`, {}, { token })).data
    const totp = new TOTP({ secret: Secret.fromBase32(secret) })
    await post(`${auth}/totp`, { setUpId, code: totp.generate() }, { token })
    // The code of the set-up counts as used, and the next one is accepted already.
    const code = totp.generate({ timestamp: Date.now() + 30_000 })
    const body = { pendingToken: await pendingOf(person), code }
    return (await post(`${auth}/second-factor/totp`, body)).data.accessToken
  }

  const byProvider: Way = async (person) => {
    const browser = new ProviderBrowser()
    const atProvider = async (kind: string, token?: string) => {
      const more = token === undefined ? {} : { token }
      const begun = await post(`${auth}/oidc/kc/${kind}start`, {}, more)
      const back = await browser.signIn(begun.data.url, person.username, site)
      return post(`${auth}/oidc/kc/${kind}callback`, { parameters: back.search }, { ...more, cookie: begun.cookie })
    }
    await atProvider('link/', await byPassword(person))
    return (await atProvider('')).data.accessToken
  }
  const ways: Readonly<Record<string, Way>> = {
    wallet: byWallet,
    passkey: byPasskey,
    'password and passkey': bySecondPasskey,
    'password and one-time code': byTotp,
    'password and recovery code': byRecoveryCode,
    provider: byProvider,
  }

  await people.createSuperAdministrator({ username: 'root', password }, origin)
  const token = await byPassword({ userId: 0, username: 'root', number: 0 })
  const { data: declared } = await call('GET', '/api/v1/admin/iam/permissions', { token })
  const permissions = declared.map(({ code }: { readonly code: string }) => code)
  const roles: Readonly<Record<string, readonly string[]>> = {
    none: [],
    some: permissions.slice(0, 20),
    all: permissions,
  }
  const operations = permissionOperations(await server.openapi())

  let number = 0
  /** Returns the result of each operation for a new user who signs in this way. Requests have no valid id and no body. */
  const resultsOf = async (way: Way, roleId: number) => {
    const username = `user-${++number}`
    const user = await people.create({ username, password, roleIds: [roleId] }, origin)
    const session = await way({ userId: user.id, username, number })
    const results: string[] = []
    for (const { method, path } of operations) {
      const body = method === 'GET' ? {} : { body: {} }
      const { code, data } = await call(method, path.replace(/\{\w+\}/g, '4711'), { token: session, ...body })
      results.push(`${method} ${path} ${code} ${data?.reason ?? ''}`)
    }
    return results
  }
  for (const [code, held] of Object.entries(roles)) {
    const body = { code, name: code, dataScope: 'self', permissions: held }
    const { data: role } = await post('/api/v1/admin/iam/roles', body, { token })
    const expected = await resultsOf(byPassword, role.id)
    const denied = expected.filter((line) => line.endsWith('403 iam.permission-denied')).length
    t.equal(denied === 0, code === 'all', `${denied} of ${operations.length} operations are denied`)
    for (const [name, way] of Object.entries(ways))
      t.strictSame(await resultsOf(way, role.id), expected, `${name} with ${held.length} permissions`)
  }
})
