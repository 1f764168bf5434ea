/** Calls the product from a separate thread, so that the product has its event loop to itself. */
import { Agent, request as send } from 'node:http'
import { parentPort, workerData } from 'node:worker_threads'
import { createResponseCheck, type FuzzResponse } from './judgement.ts'
import { randomFrom } from './random.ts'
import { type ApiDescription, type FuzzRequest, operationsOf, type Role, requestFor } from './requests.ts'

export interface CallerSettings {
  readonly url: string
  readonly description: ApiDescription
  readonly seed: number
  readonly calls: number
  readonly roles: readonly Role[]
  /** Only operations whose path starts with this prefix are called; empty for all. */
  readonly prefix: string
  readonly secrets: readonly string[]
}

interface Fault {
  readonly call: number
  readonly role: Role
  readonly request: string
  readonly broken: readonly string[]
  readonly answer: string
}

/**
 * A question of this thread to the test. `role`: a new token for this role, because the last one became invalid.
 * `turn`: the CPU time in ms of the product's longest event loop tick since the last such question.
 */
export type CallerCommand = { readonly role: Role } | { readonly turn: true }

export interface CallerReport {
  readonly calls: number
  readonly byStatus: Readonly<Record<string, number>>
  readonly byCode: Readonly<Record<string, number>>
  readonly operations: number
  /** Operations that returned success at least once. */
  readonly succeeded: readonly string[]
  readonly faults: readonly Fault[]
  /** CPU time in ms of the longest tick of the product's event loop during the test, whatever caused it. */
  readonly maxTickMs: number
}

/** Maximum CPU time in ms for which a request may block the event loop of the product. */
const tickLimitMs = 100
/** How often a request with a long tick is repeated. If the tick is long each time, the request is the cause. */
const repetitions = 5
/** Maximum size of a body in bytes. This is the default of `platform.http.body-limit`. */
const bodyLimit = 2 ** 20

const port = parentPort
if (port === null) throw new Error('runs as a worker thread')
const { url, description, seed, calls, roles, prefix, secrets } = workerData as CallerSettings
const agent = new Agent({ keepAlive: true, maxSockets: 4 })
const base = new URL(url)

function answerTo({ method, path, headers, body }: FuzzRequest): Promise<FuzzResponse> {
  return new Promise((resolve, reject) => {
    const sent = send(
      {
        host: base.hostname,
        port: base.port,
        agent,
        method,
        path,
        headers: { ...headers, ...(body === undefined ? {} : { 'content-length': body.length }) },
        timeout: 120_000,
      },
      (answer) => {
        // An event stream does not end, so only its beginning is checked.
        if (answer.headers['content-type'] === 'text/event-stream') {
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.alloc(0) })
          answer.destroy()
          return
        }
        const chunks: Buffer[] = []
        answer.on('data', (chunk: Buffer) => chunks.push(chunk))
        answer.on('end', () =>
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(chunks) }),
        )
        answer.on('error', reject)
      },
    )
    sent.on('timeout', () => sent.destroy(new Error('no answer within two minutes')))
    sent.on('error', reject)
    sent.end(body)
  })
}

function ask<T>(question: CallerCommand): Promise<T> {
  port?.postMessage(question)
  return new Promise((resolve) => port?.once('message', resolve))
}

const tokens = new Map<Role, string>()
async function tokenOf(role: Role, isVoid: boolean): Promise<string | undefined> {
  if (role === 'anonymous') return undefined
  if (isVoid || !tokens.has(role)) tokens.set(role, await ask<string>({ role }))
  return tokens.get(role)
}

let maxTickMs = 0
/**
 * Returns the CPU time for which a request blocks the event loop. If the tick was long, the request is repeated, and
 * the shortest time is returned, because garbage collection or a task may have run in the same tick.
 */
async function heldBy(request: FuzzRequest): Promise<number> {
  let least = await ask<number>({ turn: true })
  maxTickMs = Math.max(maxTickMs, least)
  for (let again = 0; again < repetitions && least > tickLimitMs; again++) {
    await answerTo(request)
    least = Math.min(least, await ask<number>({ turn: true }))
  }
  return least
}

const random = randomFrom(seed)
const rules = createResponseCheck(description, secrets)
const operations = operationsOf(description).filter(({ path }) => path.startsWith(prefix))
const byStatus: Record<string, number> = {}
const byCode: Record<string, number> = {}
const succeeded = new Set<string>()
const faults: Fault[] = []
/**
 * Ids, versions and names from responses, by the path of their collection. Later requests use them to refer to existing
 * objects.
 */
const seen = new Map<string, unknown[]>()
const maxSeen = 40

const collectionOf = (path: string) => path.split('/{', 1).join()

function remember(collection: string, value: unknown, depth = 0): void {
  if (typeof value !== 'object' || value === null || depth > 4) return
  for (const [name, member] of Object.entries(value)) {
    if (/^(?:id|version|key|code|name)$|Id$/.test(name) && (typeof member === 'number' || typeof member === 'string')) {
      const known = seen.get(collection) ?? []
      seen.set(collection, known)
      known[known.length < maxSeen ? known.length : random.integer(maxSeen)] = member
    } else remember(collection, member, depth + 1)
  }
}

const shown = ({ method, path, headers, body }: FuzzRequest) =>
  `${method} ${path.slice(0, 300)} ${JSON.stringify({ ...headers, authorization: '...' }).slice(0, 300)} ${body?.toString('latin1').slice(0, 600) ?? ''}`

for (let call = 0; call < calls; call++) {
  const chosen = operations[call % operations.length] as (typeof operations)[number]
  const role = random.pick(roles)
  const request = requestFor(chosen, await tokenOf(role, false), seen.get(collectionOf(chosen.path)) ?? [], random)
  try {
    const answer = await answerTo(request)
    byStatus[answer.status] = (byStatus[answer.status] ?? 0) + 1
    const held = await heldBy(request)
    const broken = [
      ...rules(request, answer),
      ...(held > tickLimitMs ? [`it holds the event loop for ${held.toFixed(0)} ms of CPU each time`] : []),
    ]
    if (broken.length > 0) {
      faults.push({
        call,
        role,
        request: shown(request),
        broken,
        answer: `${answer.status} ${answer.body.toString().slice(0, 400)}`,
      })
    }
    const isJson = String(answer.headers['content-type']).startsWith('application/json')
    const content = isJson && answer.body.length > 0 ? JSON.parse(answer.body.toString()) : {}
    const code = String(content?.code)
    byCode[code] = (byCode[code] ?? 0) + 1
    if (code === '200') {
      succeeded.add(chosen.operation.operationId)
      remember(collectionOf(chosen.path), content.data)
    }
    const isOwnToken = String(request.headers['authorization']).endsWith(tokens.get(role) ?? '\n')
    if (code === '401' && isOwnToken && role !== 'anonymous') await tokenOf(role, true)
  } catch (error) {
    // The server may close the connection while the caller is still sending a body that is too long. This is not an
    // error.
    const isCut = /EPIPE|ECONNRESET/.test(String(error)) && (request.body?.length ?? 0) > bodyLimit
    if (isCut) continue
    faults.push({ call, role, request: shown(request), broken: [`no answer: ${String(error)}`], answer: '' })
  }
}
agent.destroy()
port.postMessage({
  calls,
  byStatus,
  byCode,
  operations: operations.length,
  succeeded: [...succeeded],
  faults,
  maxTickMs,
} satisfies CallerReport)
port.close()
