import { createHook } from 'node:async_hooks'
import dns from 'node:dns'
import { syncBuiltinESMExports } from 'node:module'
import { Socket } from 'node:net'

/** Values that all code of the process shares, by name. Changes are found by comparing identity. */
type SharedValues = ReadonlyMap<string, unknown>

const types = [
  Object,
  Array,
  Function,
  String,
  Number,
  Boolean,
  BigInt,
  Symbol,
  Date,
  RegExp,
  Error,
  Promise,
  Map,
  Set,
  WeakMap,
  WeakSet,
  ArrayBuffer,
  Uint8Array,
  Buffer,
  URL,
]

/** Returns the environment variables, the global variables, and the methods of built-in classes and objects. */
export function snapshotSharedValues(): SharedValues {
  const values = new Map<string, unknown>()
  const add = (owner: string, object: object) => {
    for (const [name, { value, get, set }] of Object.entries(Object.getOwnPropertyDescriptors(object))) {
      values.set(`${owner}.${name}`, value ?? get ?? set)
    }
  }
  // Node.js creates some global values at their first read.
  for (const name of Object.getOwnPropertyNames(globalThis)) Reflect.get(globalThis, name)
  for (const [name, value] of Object.entries(process.env)) values.set(`process.env.${name}`, value)
  add('globalThis', globalThis)
  for (const [name, object] of Object.entries({ console, JSON, Math, Reflect, process })) {
    const methods = Object.entries(object).filter(([, value]) => typeof value === 'function')
    add(name, Object.fromEntries(methods))
  }
  for (const type of types) {
    add(type.name, type)
    add(`${type.name}.prototype`, type.prototype)
  }
  return values
}

/** Returns the names of values that were added, changed or removed. */
export function changedSharedValues(before: SharedValues, after: SharedValues): readonly string[] {
  const names = [...new Set([...before.keys(), ...after.keys()])]
  return names.filter((name) => before.has(name) !== after.has(name) || !Object.is(before.get(name), after.get(name)))
}

/** Returns the number of listeners for each event of the process. */
export const listenerCounts = (): ReadonlyMap<string, number> =>
  new Map(process.eventNames().map((event) => [String(event), process.listenerCount(event)]))

export const addedListeners = (before: ReadonlyMap<string, number>): readonly string[] =>
  [...listenerCounts()].filter(([event, count]) => count > (before.get(event) ?? 0)).map(([event]) => event)

interface Opened {
  readonly type: string
  /** File and line in the plugin that opened the resource. */
  readonly place: string
  readonly resource: WeakRef<object>
}

/** Types of resources that end automatically, or that belong to another resource. */
const ignoredTypes = /^(?:PROMISE|TickObject|Immediate|.*REQ(?:UEST)?.*|.*REQ|Microtask|RANDOMBYTES.*|.*WRAP_REQ)$/i

/** Records the timers and handles that code below a directory opens, directly or through a library. */
export class OpenResourceRecorder {
  /** Resources by the id that Node.js assigns. */
  readonly #opened = new Map<number, Opened>()

  constructor(directory: string) {
    createHook({
      init: (id, type, _trigger, resource) => {
        if (ignoredTypes.test(type)) return
        const place = stackBelow(directory)
        if (place !== undefined) this.#opened.set(id, { type, place, resource: new WeakRef(resource) })
      },
      destroy: (id) => this.#opened.delete(id),
      trackPromises: false,
    }).enable()
  }

  /** Returns the resources that are still open. Each is returned only once. */
  async stillOpen(): Promise<readonly Pick<Opened, 'type' | 'place'>[]> {
    // Node.js reports the end of a resource one tick later.
    for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve))
    const open = [...this.#opened].filter(([, one]) => isOpen(one))
    for (const [id] of open) this.#opened.delete(id)
    return open.map(([, { type, place }]) => ({ type, place }))
  }
}

/**
 * Returns true if a resource is still active. A timer runs even if it does not keep the process alive. Another handle
 * that does not keep the process alive may already be closed.
 */
function isOpen({ type, resource }: Opened): boolean {
  const handle: { hasRef?(): boolean } | undefined = resource.deref()
  return type === 'Timeout' || handle?.hasRef?.() === true
}

/** Module whose resources are ignored: `fetch` shares its connections and timers between all callers. */
const ignoredModule = 'node:internal/deps/undici'

/**
 * Returns the innermost stack frame below a directory. Returns `undefined` if no code below the directory is running.
 */
function stackBelow(directory: string): string | undefined {
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = 50
  const { stack = '' } = new Error('place')
  Error.stackTraceLimit = limit
  if (stack.includes(ignoredModule)) return undefined
  const frame = stack.split('\n').find((line) => line.includes(directory))
  return frame?.slice(frame.indexOf(directory) + directory.length + 1).replace(/\)$/, '')
}

const loopback = /^(?:localhost|127\..+|::1|\[::1\]|::ffff:127\..+|0\.0\.0\.0)$/

/**
 * Rejects all connections to other machines and reports their hosts, so that the verification sends nothing.
 *
 * @param allowed hosts of databases
 */
export function watchConnections(allowed: readonly string[], onHost: (host: string) => void): void {
  const isNear = (host: string | undefined) => host === undefined || loopback.test(host) || allowed.includes(host)
  const { lookup } = dns
  // Libraries resolve a host name before they connect. This query would also go to another machine, a name server.
  const replacement = (host: string, ...parts: unknown[]) => {
    if (isNear(host)) return Reflect.apply(lookup, dns, [host, ...parts])
    onHost(host)
    const error = Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), { code: 'ENOTFOUND' })
    process.nextTick(parts.at(-1) as (error: Error) => void, error)
  }
  dns.lookup = Object.assign(replacement, lookup) as typeof lookup
  syncBuiltinESMExports()
  const { connect } = Socket.prototype
  Socket.prototype.connect = function (this: Socket, ...parts: unknown[]) {
    const host = hostIn(parts)
    if (host === undefined || isNear(host)) return Reflect.apply(connect, this, parts)
    onHost(host)
    const error = Object.assign(new Error(`connect ECONNREFUSED ${host}`), { code: 'ECONNREFUSED' })
    process.nextTick(() => this.destroy(error))
    return this
  } as typeof connect
}

/** Returns the host in the arguments of `Socket.connect`: options, a list with options, or port and host. */
function hostIn([first, second]: readonly unknown[]): string | undefined {
  const options = Array.isArray(first) ? first[0] : first
  const { host, path } = Object(options)
  if (typeof path === 'string') return undefined
  return typeof host === 'string' ? host : typeof second === 'string' ? second : undefined
}

const pollMs = 20

/** Processor time of the main thread in milliseconds. Unlike the time of a clock, it does not depend on other programs. */
function threadTime(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

interface Measured<T> {
  readonly result: T
  /** Longest processor time in milliseconds for which the work blocked the event loop. */
  readonly lagMs: number
  /** Processor time of the main thread, and the time in which it waited, in milliseconds. */
  readonly durationMs: number
}

/**
 * Runs work and measures it. Only processor time and waits count, so that a busy machine does not change the result: the
 * time in which the thread is ready but does not run belongs to other programs.
 */
export async function measureWork<T>(work: () => Promise<T>): Promise<Measured<T>> {
  const [begun, utilization] = [threadTime(), performance.eventLoopUtilization()]
  let [last, lagMs] = [begun, 0]
  const poll = () => {
    const now = threadTime()
    lagMs = Math.max(lagMs, now - last)
    last = now
  }
  const timer = setInterval(poll, pollMs)
  try {
    const result = await work()
    const { idle } = performance.eventLoopUtilization(utilization)
    const durationMs = threadTime() - begun + idle
    // Waits for one more timer, so that blocking at the end of the work is measured too.
    await new Promise((resolve) => setTimeout(resolve, pollMs))
    poll()
    return { result, lagMs: Math.round(lagMs), durationMs: Math.round(durationMs) }
  } finally {
    clearInterval(timer)
  }
}

/** Maximum milliseconds of processor time for which a plugin may block the event loop. */
export const maxBlockedMs = 1000

/** Returns the memory in use after a garbage collection, in bytes. Requires `--expose-gc`. */
export async function measureUsedMemory(): Promise<number> {
  for (let round = 0; round < 2; round++) {
    await new Promise((resolve) => setImmediate(resolve))
    globalThis.gc?.()
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
