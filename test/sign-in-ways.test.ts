/**
 * Tests that the way of signing in makes no difference to access: users with the same roles get the same results from
 * every operation, with each way.
 */
import { startForTest } from '@plinth/dev/testing'
import { http } from '@plinth/http'
import { accounts } from '@plinth/iam'
import type { Product } from '@plinth/kernel'
import t from 'tap'
import { privateKeyToAccount } from 'viem/accounts'
import product from '../examples/quickstart/plinth.config.ts'
import { permissionOperations } from './data-scope/requests.ts'
import { dataDirectory } from './fixtures/product-process.ts'

const origin = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: '' }
const password = 'Correct-horse-7'

/** An account and the call function of the product. */
interface Person {
  readonly userId: number
  readonly username: string
}

// biome-ignore lint/suspicious/noExplicitAny: responses of many routes
type Call = (method: string, url: string, options?: { token?: string; body?: object }) => Promise<any>

/** Signs a person in and returns the token of the session. */
type Way = (person: Person, call: Call, number: number) => Promise<string>

const byPassword: Way = async ({ username }, call) =>
  (await call('POST', '/api/v1/auth/login', { body: { username, password } })).data.accessToken

t.test('the way of signing in makes no difference to access', { timeout: 300_000 }, async (t) => {
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
  const people = running.service(accounts)
  const call: Call = async (method, url, { token, body } = {}) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const payload = body === undefined ? {} : { payload: body }
    const response = await server.inject({ method: method as 'GET', url, headers, ...payload })
    return /json/.test(String(response.headers['content-type'])) ? response.json() : { code: '200', data: null }
  }

  const byWallet: Way = async ({ userId }, call, number) => {
    const wallet = privateKeyToAccount(`0x${number.toString(16).padStart(64, '0')}`)
    const address = wallet.address.toLowerCase()
    await people.bindExternal(
      userId,
      { provider: 'evm', chainType: 'evm', subject: address, proof: 'ecrecover' },
      {
        ...origin,
      },
    )
    const challenge = await call('POST', '/api/v1/auth/wallet/challenge', { body: { chainType: 'evm', address } })
    const { challengeId, message } = challenge.data
    const signature = await wallet.signMessage({ message })
    const opened = await call('POST', '/api/v1/auth/wallet/login', { body: { challengeId, address, signature } })
    return opened.data.accessToken
  }
  const ways: Readonly<Record<string, Way>> = { password: byPassword, wallet: byWallet }

  await people.createSuperAdministrator({ username: 'root', password }, origin)
  const rootToken = await byPassword({ userId: 0, username: 'root' }, call, 0)
  const as = (body: object) => ({ token: rootToken, body })
  const { data: declared } = await call('GET', '/api/v1/admin/iam/permissions', { token: rootToken })
  const permissions = declared.map(({ code }: { code: string }) => code)
  const roles: Readonly<Record<string, readonly string[]>> = {
    none: [],
    some: permissions.slice(0, 20),
    all: permissions,
  }
  const operations = permissionOperations(await server.openapi())

  /** Returns the result of each operation for a new user who signs in this way. Requests have no valid id and no body. */
  let number = 0
  const resultsOf = async (way: Way, roleId: number) => {
    const username = `user-${++number}`
    const user = await people.create({ username, password, roleIds: [roleId] }, origin)
    const token = await way({ userId: user.id, username }, call, number)
    const results: string[] = []
    for (const { method, path } of operations) {
      const url = path.replace(/\{\w+\}/g, '4711')
      const { code, data } = await call(method, url, { token, ...(method === 'GET' ? {} : { body: {} }) })
      results.push(`${method} ${path} ${code} ${data?.reason ?? ''}`)
    }
    return results
  }
  for (const [code, held] of Object.entries(roles)) {
    const body = { code, name: code, dataScope: 'self', permissions: held }
    const { data: role } = await call('POST', '/api/v1/admin/iam/roles', as(body))
    const expected = await resultsOf(byPassword, role.id)
    for (const [name, way] of Object.entries(ways))
      t.strictSame(await resultsOf(way, role.id), expected, `${name} with ${held.length} permissions`)
  }
})
