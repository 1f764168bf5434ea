/** Child processes of the benchmark: instances of the product, and callers that send HTTP requests. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CallersResult, Job } from './callers.ts'
import type { Call } from './product.ts'

/** Maximum milliseconds of a start, and of each other wait beyond the time of the measurement. */
const startLimitMs = 300_000
const callLimitMs = 120_000

/**
 * Waits for a promise, but not longer than a time limit.
 * @throws Error after the time limit
 */
async function within<T>(ms: number, what: string, work: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`${what}: no end after ${ms / 1_000} s`)), ms)
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

const execArgv = ['--disable-warning=ExperimentalWarning']
const children = new Set<ChildProcess>()

function start(file: string, words: readonly string[]): ChildProcess {
  const child = fork(join(import.meta.dirname, file), words, { execArgv })
  children.add(child)
  child.once('exit', () => children.delete(child))
  return child
}

/** Kills all processes that are still running. */
export function killAll(): void {
  for (const child of children) child.kill('SIGKILL')
}

/** Ends a process by closing its channel, and kills it if it does not end in time. */
async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  if (child.connected) child.disconnect()
  await within(callLimitMs, 'the end of a process', ended).catch(async () => {
    child.kill('SIGKILL')
    await ended
  })
}

export interface Instance {
  readonly port: number
  ask<T>(call: Call): Promise<T>
  end(): Promise<void>
}

/**
 * Starts an instance and waits until it listens.
 * @throws Error if the process ends before it listens, or does not listen in time
 */
export async function startInstance(config: Readonly<Record<string, unknown>>): Promise<Instance> {
  const values = Object.fromEntries(Object.entries(config).map(([key, value]) => [key, String(value)]))
  const child = start('product.ts', [JSON.stringify(values)])
  const ended = once(child, 'exit').then(() => undefined)
  const started = await within(startLimitMs, 'the start of an instance', Promise.race([once(child, 'message'), ended]))
  if (started === undefined) throw new Error('An instance did not start.')
  const [{ url }] = started as [{ url: string }]
  let last = 0
  const ask = <T>(call: Call) => {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const id = ++last
    const fail = () => reject(new Error(`An instance ended during ${call.call}.`))
    const listen = (message: { id: number; answer?: unknown; failure?: string }) => {
      if (message.id !== id) return
      child.off('message', listen).off('exit', fail)
      if (message.failure === undefined) resolve(message.answer as T)
      else reject(new Error(message.failure))
    }
    child.on('message', listen).once('exit', fail)
    child.send({ id, ...call })
    return within(callLimitMs, call.call, promise)
  }
  return { port: Number(new URL(url).port), ask, end: () => end(child) }
}

export interface Callers {
  run(job: Job): Promise<CallersResult>
  end(): Promise<void>
}

/** Starts a process that sends HTTP requests. */
export function startCallers(): Callers {
  const child = start('callers.ts', [])
  return {
    async run(job) {
      child.send(job)
      const [result] = await within(callLimitMs, 'the callers', once(child, 'message'))
      if ('error' in (result as object)) throw new Error((result as { error: string }).error)
      return result as CallersResult
    },
    end: () => end(child),
  }
}

const ticksPerSecond = 100
const database = /^(?:postgres|mariadbd)$/

/**
 * Returns the CPU milliseconds of the database servers, of Redis, and of all processes that this process started, by kind.
 * Processes that have ended are included in those of their parents. Linux only; elsewhere, all values are 0.
 */
export function cpuOfServers(): { readonly database: number; readonly redis: number } {
  const sums = { database: 0, redis: 0 }
  if (process.platform !== 'linux') return sums
  const all = new Map<number, { name: string; parent: number; ms: number }>()
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    try {
      const text = readFileSync(`/proc/${entry}/stat`, 'utf8')
      const name = text.slice(text.indexOf('(') + 1, text.lastIndexOf(')'))
      const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
      // Fields 14 to 17 of proc(5): user and system time, of the process and of its ended children.
      const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
      all.set(Number(entry), { name, parent: Number(fields[1]), ms: (ticks * 1_000) / ticksPerSecond })
    } catch {
      // The process has ended meanwhile.
    }
  }
  const isOwn = (id: number): boolean => {
    const found = all.get(id)
    return found !== undefined && (found.parent === process.pid || isOwn(found.parent))
  }
  for (const [id, { name, ms }] of all) {
    if (!isOwn(id)) continue
    if (database.test(name)) sums.database += ms
    if (name === 'redis-server') sums.redis += ms
  }
  return sums
}
