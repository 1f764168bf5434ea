import { randomUUID } from 'node:crypto'
import { service } from '@plinth/kernel'
import type { RunningProduct } from '@plinth/kernel/host'
import { measureWork } from './process-watch.ts'

interface Request {
  readonly method: string
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly payload?: object
}
/**
 * The parts of the services `http` and `iam.accounts` that this file uses. The kernel depends on no plugin, so it
 * declares them itself.
 */
interface Route {
  readonly method: string
  readonly path: string
  readonly plugin: string
  readonly access: string | { readonly permission: string; readonly scope: string }
}
interface Server {
  readonly routes: readonly Route[]
  inject(request: Request): Promise<{ readonly statusCode: number; readonly body: string }>
}
interface Accounts {
  createAdministrator(user: object, actor: object): Promise<unknown>
}
const http = service<Server>('http')
const accounts = service<Accounts>('iam.accounts')

const administrator = { username: 'verify', password: 'Correct-horse-battery-7' }
const actor = { name: 'verify', clientIp: '127.0.0.1', traceId: 'verify', userAgent: 'verify' }

const userCount = 10

/** Creates an administrator and users. Does nothing in a product without accounts. */
export async function createTestUsers(running: RunningProduct): Promise<void> {
  if (!running.plan.providers.has(accounts.id) || !running.plan.providers.has(http.id)) return
  await running.service(accounts).createAdministrator(administrator, actor)
  const headers = { authorization: `Bearer ${await signIn(running)}` }
  for (let number = 1; number <= userCount; number++) {
    const payload = { username: testUserName(number), password: administrator.password }
    const request = { method: 'POST', url: '/api/v1/admin/iam/users', headers, payload }
    const { statusCode, body } = await running.service(http).inject(request)
    if (statusCode !== 200) throw new Error(`The user ${payload.username} was not created: ${body}`)
  }
}

/** Returns the name of a user without roles in a filled product. @param number from 1 */
export const testUserName = (number: number): string => `user-${number}`

/** Returns an access token of a user, by default the administrator; `undefined` in a product without accounts. */
export async function signIn(running: RunningProduct, username = administrator.username): Promise<string | undefined> {
  if (!running.plan.providers.has(accounts.id) || !running.plan.providers.has(http.id)) return undefined
  const request = { method: 'POST', url: '/api/v1/auth/login', payload: { ...administrator, username } }
  const { body } = await running.service(http).inject(request)
  return JSON.parse(body).data?.accessToken
}

interface RouteCall {
  readonly route: string
  readonly status: number
  /** Body of the response. */
  readonly text: string
  readonly lagMs: number
}

/** Creates an operator with a role. Returns an access token, or `undefined` in a product without accounts. */
export async function createOperator(
  running: RunningProduct,
  dataScope: string,
  permissions: readonly string[],
): Promise<string | undefined> {
  const administratorToken = await signIn(running)
  if (administratorToken === undefined) return undefined
  const headers = { authorization: `Bearer ${administratorToken}` }
  const create = async (kind: string, payload: object): Promise<number> => {
    const request = { method: 'POST', url: `/api/v1/admin/iam/${kind}`, headers, payload }
    const { body } = await running.service(http).inject(request)
    const { code, data } = JSON.parse(body)
    if (code !== '200') throw new Error(`The operator with the scope ${dataScope} was not created: ${body}`)
    return data.id
  }
  const name = `operator-${dataScope}`
  const role = await create('roles', { code: name, name, dataScope, permissions })
  await create('users', { username: name, password: administrator.password, roleIds: [role] })
  return signIn(running, name)
}

/** Returns the routes of a plugin. */
export const routesOf = (running: RunningProduct, plugin: string): readonly Route[] =>
  running.plan.providers.has(http.id) ? running.service(http).routes.filter((route) => route.plugin === plugin) : []

interface CallOptions {
  readonly token?: string | undefined
  /** Value of all path parameters. */
  readonly id?: string
}

/**
 * Calls each route once. The body is empty. Writes have an idempotency key, so that a handler that makes no claim of its
 * key is found.
 */
export async function callRoutes(
  running: RunningProduct,
  routes: readonly Route[],
  { token, id = '1' }: CallOptions = {},
): Promise<readonly RouteCall[]> {
  const calls: RouteCall[] = []
  for (const { method, path } of routes) {
    const url = path.replaceAll(/:[^/]+|\*/g, id)
    const hasBody = !['GET', 'HEAD', 'DELETE'].includes(method)
    const headers = {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(hasBody ? { 'idempotency-key': randomUUID() } : {}),
    }
    const request = { method, url, headers, ...(hasBody ? { payload: {} } : {}) }
    const { result, lagMs } = await measureWork(() => running.service(http).inject(request))
    const { statusCode, body } = result
    const code = /^\{"code":"(\d+)"/.exec(body)?.[1]
    calls.push({ route: `${method} ${path}`, status: Number(code ?? statusCode), text: body, lagMs })
  }
  return calls
}

/** The part of the service `metrics` that this file uses. The kernel depends on no plugin, so it declares it itself. */
interface Metrics {
  getSingleMetric(name: string): { get(): Promise<{ readonly values: readonly Sample[] }> } | undefined
}
interface Sample {
  readonly value: number
  readonly labels: Readonly<Record<string, string | number | undefined>>
}
const metrics = service<Metrics>('metrics')

/** Returns how many requests of a plugin were rejected because it does not declare their host. */
export async function countRejectedRequests(running: RunningProduct, plugin: string): Promise<number> {
  if (!running.plan.providers.has(metrics.id)) return 0
  const counter = running.service(metrics).getSingleMetric('platform_outgoing_http_requests_total')
  const { values } = (await counter?.get()) ?? { values: [] }
  const rejected = values.filter(({ labels }) => labels['plugin'] === plugin && labels['outcome'] === 'host-undeclared')
  return rejected.reduce((sum, { value }) => sum + value, 0)
}
