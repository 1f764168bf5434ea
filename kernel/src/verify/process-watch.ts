import { createHook } from 'node:async_hooks'
import dns from 'node:dns'
import { syncBuiltinESMExports } from 'node:module'
import { Socket } from 'node:net'

/** Values of the process that all plugins share, by name; each is compared by identity. */
export type SharedValues = ReadonlyMap<string, unknown>

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

/** Returns the variables of the process, the globals, and the methods of built-in classes and objects. */
export function sharedValues(): SharedValues {
  const values = new Map<string, unknown>()
  const add = (owner: string, object: object) => {
    for (const [name, { value, get, set }] of Object.entries(Object.getOwnPropertyDescriptors(object))) {
      values.set(`${owner}.${name}`, value ?? get ?? set)
    }
  }
  // Node.js creates some globals when they are read.
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

/** Returns the names of the values that were added, changed or removed. */
export function changedValues(before: SharedValues, after: SharedValues): readonly string[] {
  const names = [...new Set([...before.keys(), ...after.keys()])]
  return names.filter((name) => before.has(name) !== after.has(name) || !Object.is(before.get(name), after.get(name)))
}

/** Returns the number of listeners on the process by event. */
export const listenerCounts = (): ReadonlyMap<string, number> =>
  new Map(process.eventNames().map((event) => [String(event), process.listenerCount(event)]))

export const addedListeners = (before: ReadonlyMap<string, number>): readonly string[] =>
  [...listenerCounts()].filter(([event, count]) => count > (before.get(event) ?? 0)).map(([event]) => event)

/** A timer or a handle that has not ended. */
interface Opened {
  readonly type: string
  /** File and line of the plugin. */
  readonly place: string
  readonly resource: WeakRef<object>
}

/** Types of resources that end without a call of the plugin, or that belong to another resource. */
const passing = /^(?:PROMISE|TickObject|Immediate|.*REQ(?:UEST)?.*|.*REQ|Microtask|RANDOMBYTES.*|.*WRAP_REQ)$/i

/** Records the timers and handles that code below a directory opens, directly or through a library. */
export class OpenedWatch {
  /** By the id that Node.js gives each resource. */
  readonly #opened = new Map<number, Opened>()

  constructor(directory: string) {
    createHook({
      init: (id, type, _trigger, resource) => {
        if (passing.test(type)) return
        const place = stackBelow(directory)
        if (place !== undefined) this.#opened.set(id, { type, place, resource: new WeakRef(resource) })
      },
      destroy: (id) => this.#opened.delete(id),
      trackPromises: false,
    }).enable()
  }

  /** Returns the resources that are still open. Reports each of them once. */
  async stillOpen(): Promise<readonly Pick<Opened, 'type' | 'place'>[]> {
    // Node.js reports the end of a resource in a later turn of the event loop.
    for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve))
    const open = [...this.#opened].filter(([, one]) => isOpen(one))
    for (const [id] of open) this.#opened.delete(id)
    return open.map(([, { type, place }]) => ({ type, place }))
  }
}

/** A timer that does not keep the process alive still runs. A handle that does not keep it alive may be closed. */
function isOpen({ type, resource }: Opened): boolean {
  const handle: { hasRef?(): boolean } | undefined = resource.deref()
  return type === 'Timeout' || handle?.hasRef?.() === true
}

/** `fetch` keeps connections and timers for all its callers. */
const ofNode = 'node:internal/deps/undici'

/** Returns the innermost frame below a directory, or `undefined` if the current stack has none. */
function stackBelow(directory: string): string | undefined {
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = 50
  const { stack = '' } = new Error('place')
  Error.stackTraceLimit = limit
  if (stack.includes(ofNode)) return undefined
  const frame = stack.split('\n').find((line) => line.includes(directory))
  return frame?.slice(frame.indexOf(directory) + directory.length + 1).replace(/\)$/, '')
}

const loopback = /^(?:localhost|127\..+|::1|\[::1\]|::ffff:127\..+|0\.0\.0\.0)$/

/**
 * Rejects every connection to another machine, so that the verification sends nothing, and reports its host.
 *
 * @param allowed hosts of databases
 */
export function watchConnections(allowed: readonly string[], onHost: (host: string) => void): void {
  const isNear = (host: string | undefined) => host === undefined || loopback.test(host) || allowed.includes(host)
  const { lookup } = dns
  // Libraries find the address of a host before they connect. A query to a name server leaves the machine too.
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

/** Returns the host of the arguments of `connect`: an object, which Node.js also passes in a list, or port and host. */
function hostIn([first, second]: readonly unknown[]): string | undefined {
  const options = Array.isArray(first) ? first[0] : first
  const { host, path } = Object(options)
  if (typeof path === 'string') return undefined
  return typeof host === 'string' ? host : typeof second === 'string' ? second : undefined
}

const pollMs = 20

/** Runs work and returns its result with the longest time in which the event loop could not run a timer. */
export async function withLag<T>(work: () => Promise<T>): Promise<{ readonly result: T; readonly lagMs: number }> {
  let [last, lagMs] = [performance.now(), 0]
  const poll = () => {
    const now = performance.now()
    lagMs = Math.max(lagMs, now - last - pollMs)
    last = now
  }
  const timer = setInterval(poll, pollMs)
  try {
    const result = await work()
    // A timer that was blocked runs now.
    await new Promise((resolve) => setTimeout(resolve, pollMs))
    poll()
    return { result, lagMs: Math.round(lagMs) }
  } finally {
    clearInterval(timer)
  }
}

/** Time in which a plugin may block the event loop, in milliseconds. */
export const blockedMs = 1000

/** Like `withLag`, but repeats work that blocks for too long, because a busy machine may have delayed it. */
export async function withLeastLag<T>(work: () => Promise<T>): ReturnType<typeof withLag<T>> {
  const first = await withLag(work)
  if (first.lagMs <= blockedMs) return first
  const second = await withLag(work)
  return second.lagMs < first.lagMs ? second : first
}

/** Returns the memory in use after a garbage collection, in bytes. Requires `--expose-gc`. */
export async function usedMemory(): Promise<number> {
  for (let round = 0; round < 2; round++) {
    await new Promise((resolve) => setImmediate(resolve))
    globalThis.gc?.()
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
