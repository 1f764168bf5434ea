// Measures the cost of token and permission checks on a request, and of a login: node bench/iam/run.ts [--rounds 9]
// [--seconds 1]
import assert from 'node:assert/strict'
import { argon2Sync } from 'node:crypto'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { BenchChildProcess } from '../kernel/child-process.ts'
import { type Bar, barsText, ratioText, sectionText } from '../kernel/report.ts'
import { median, ratio, rotated } from '../kernel/statistics.ts'
import { paths, type RouteName } from './paths.ts'

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '9' }, seconds: { type: 'string', default: '1' } },
})
const seconds = Number(values.seconds)
const connections = 64

interface Server {
  readonly url: string
  readonly accessToken: string
  readonly apiToken: string
  readonly password: string
}
interface Leg {
  readonly requestsPerSecond: number
  readonly cpuMicroseconds: number
  readonly p99Milliseconds: number
}
interface LoadResult {
  readonly requests: number
  readonly failed: number
  readonly seconds: number
  readonly p99Milliseconds: number
}

/** The measured routes with their credentials. Each is compared with the public route that has the same method. */
const kinds = {
  public: { route: 'public', method: 'GET' },
  user: { route: 'user', method: 'GET' },
  permission: { route: 'permission', method: 'GET' },
  'session cookie': { route: 'permission', method: 'GET' },
  'API token': { route: 'permission', method: 'GET' },
  'public again': { route: 'public', method: 'GET' },
  'public write': { route: 'public', method: 'POST' },
  'permission write': { route: 'permission', method: 'POST' },
} as const satisfies Record<string, { readonly route: RouteName; readonly method: 'GET' | 'POST' }>
type Name = keyof typeof kinds
const names = Object.keys(kinds) as readonly Name[]
/**
 * Returns the routes with which a route is compared. The public GET is measured twice per round, and other routes are
 * compared with the mean of both.
 */
const basesOf = (name: Name): readonly Name[] =>
  kinds[name].method === 'GET' ? ['public', 'public again'] : ['public write']
const legs = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, Leg[]>
const server = new BenchChildProcess(join(import.meta.dirname, 'server.ts'))
const load = new BenchChildProcess(join(import.meta.dirname, 'load.mjs'))

async function measure(job: object): Promise<Leg> {
  const cpu = async () => (await server.ask<{ cpuMicroseconds: number }>({})).cpuMicroseconds
  const before = await cpu()
  const done = await load.ask<LoadResult>({ connections, seconds, ...job })
  const used = (await cpu()) - before
  assert.equal(done.failed, 0, 'requests failed under load')
  return {
    requestsPerSecond: done.requests / done.seconds,
    cpuMicroseconds: used / done.requests,
    p99Milliseconds: done.p99Milliseconds,
  }
}

try {
  const { url, accessToken, apiToken, password } = await server.next<Server>()
  const headers = { authorization: `Bearer ${accessToken}` }
  const writing = { 'content-type': 'application/json', ...headers }
  const article = JSON.stringify({ title: 'A title' })
  // Requests to public routes have the same header, so that all routes receive the same bytes.
  const jobOf = (name: Name) => {
    const { route, method } = kinds[name]
    const target = `${url}${paths[route]}/7`
    if (name === 'session cookie') return { url: target, headers: { cookie: `plinth-session=${accessToken}` } }
    if (name === 'API token') return { url: target, headers: { authorization: `Bearer ${apiToken}` } }
    return method === 'GET' ? { url: target, headers } : { url: target, method, headers: writing, body: article }
  }
  for (const [name, path] of Object.entries(paths)) {
    const write = { method: 'POST', headers: writing, body: article }
    for (const request of [{ headers }, write]) {
      const response = await (await fetch(`${url}${path}/7`, request)).json()
      assert.deepEqual(response, { code: '200', message: 'success', data: { id: 7, title: 'A title' } }, name)
    }
    const anonymous = (await (await fetch(`${url}${path}/7`)).json()) as { code: string }
    assert.equal(anonymous.code, name === 'public' ? '200' : '401')
  }
  for (const name of names) await load.ask({ ...jobOf(name), connections, seconds: 1 })
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const name of rotated(names, round)) legs[name].push(await measure(jobOf(name)))
  }
  const body = JSON.stringify({ username: 'admin', password })
  const login = await measure({
    url: `${url}/api/v1/auth/login`,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
    connections: 4,
  })
  report(login, await server.ask<Checks>({ measure: 'check' }))
} finally {
  await Promise.all([server.end(), load.end()])
}

/** Nanoseconds of one check without HTTP: of a session token and of an API token. */
interface Checks {
  readonly nanoseconds: number
  readonly apiToken: number
}

function report(login: Leg, checks: Checks): void {
  const of = (name: Name, figure: keyof Leg) => legs[name].map((leg) => leg[figure])
  const base = (name: Name, figure: keyof Leg) => {
    const bases = basesOf(name).map((one) => of(one, figure))
    return of(name, figure).map((_, round) => bases.reduce((sum, one) => sum + (one[round] ?? 0), 0) / bases.length)
  }
  const throughput = (name: Name) => ratio(of(name, 'requestsPerSecond'), base(name, 'requestsPerSecond'))
  const cpu = (name: Name) => ratio(of(name, 'cpuMicroseconds'), base(name, 'cpuMicroseconds'))
  const table = [
    ['route', 'requests/s', 'requests/s, ratio', 'CPU per request', 'CPU, ratio', 'p99 ms'],
    ...names.map((name) => [
      name,
      median(of(name, 'requestsPerSecond')).toFixed(0),
      ratioText(throughput(name)),
      `${median(of(name, 'cpuMicroseconds')).toFixed(1)} us`,
      ratioText(cpu(name)),
      median(of(name, 'p99Milliseconds')).toFixed(1),
    ]),
  ]
  const hash = rawHashMilliseconds()
  const notes = [
    `A check of a known token without HTTP: ${checks.nanoseconds.toFixed(0)} ns for a session, ${checks.apiToken.toFixed(0)} ns for an API token.`,
    `Logins: ${login.requestsPerSecond.toFixed(1)} per second at ${(login.cpuMicroseconds / 1000).toFixed(1)} ms CPU; one argon2id hash alone takes ${hash.toFixed(1)} ms.`,
    'Ratios are to the public route of the same kind. "public" and "public again" are the same route: what differs there is noise.',
  ]
  const bars: Bar[] = (['user', 'permission', 'permission write'] as const).map((name) => ({
    // The rate per CPU second is less affected by other programs on the host than the rate per second. It is the
    // maximum rate of a server under full load.
    name: `requests per CPU second with a cached token (${name}) / ${basesOf(name)[0]} route`,
    measured: ratio(base(name, 'cpuMicroseconds'), of(name, 'cpuMicroseconds')),
    bar: { atLeast: 0.9 },
    unit: 'ratio',
  }))
  // Sessions of all sign-in methods have the same kind of token, so these are all credentials of requests.
  for (const name of ['session cookie', 'API token'] as const)
    bars.push({
      name: `requests per CPU second with the credential "${name}" / with a session token (permission)`,
      measured: ratio(of('permission', 'cpuMicroseconds'), of(name, 'cpuMicroseconds')),
      bar: { atLeast: 0.95 },
      unit: 'ratio',
    })
  console.log(
    `${sectionText({ title: 'Token and permission checks', tables: [table], notes, bars })}\n\n${barsText(bars)}`,
  )
}

/** Returns how long the password hash alone takes with the default parameters. A login cannot be faster. */
function rawHashMilliseconds(): number {
  const parameters = { message: 'x', nonce: Buffer.alloc(16), parallelism: 1, tagLength: 32, memory: 19_456, passes: 2 }
  const samples = Array.from({ length: 9 }, () => {
    const startedAt = performance.now()
    argon2Sync('argon2id', parameters)
    return performance.now() - startedAt
  })
  return median(samples)
}
