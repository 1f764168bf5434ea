/**
 * Program of a process that sends HTTP requests. Each message to the process is a job, and the process responds with its
 * figures. It uses plain sockets, because otherwise the cost of a client library would be measured too.
 */
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { Meter, type Sample } from './meter.ts'

export interface Job {
  readonly ports: readonly number[]
  readonly path: string
  readonly token: string
  readonly seconds: number
  /** Number of connections to each port, each of which sends its next request after a response. */
  readonly callers?: number
  /** Requests per second at random times, independent of the responses. Replaces `callers`. */
  readonly perSecond?: number
}

export interface CallersResult {
  readonly sample: Sample
  /** Response times in milliseconds, with `perSecond` only. They begin when the request was due. */
  readonly timesMs: readonly number[]
  /** CPU time of this process in milliseconds. */
  readonly cpuMs: number
}

const connectLimitMs = 10_000
const responseLimitMs = 30_000

/** A connection that sends one request at a time. */
class Connection {
  readonly #socket: Socket
  readonly #text: string
  #received = ''
  #settle: ((status: number) => void) | undefined
  /** True after the connection failed. */
  isLost = false

  private constructor(socket: Socket, text: string) {
    this.#socket = socket
    this.#text = text
    socket.setNoDelay(true)
    socket.setEncoding('latin1')
    socket.on('data', (part: string) => this.#read(part))
    socket.on('close', () => {
      this.isLost = true
      this.#settle?.(0)
    })
    socket.on('error', () => undefined)
    socket.setTimeout(responseLimitMs, () => socket.destroy())
  }

  static open(port: number, { path, token }: Job): Promise<Connection> {
    const lines = [`GET ${path} HTTP/1.1`, `Host: 127.0.0.1:${port}`, `Authorization: Bearer ${token}`, '', '']
    return new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => resolve(new Connection(socket, lines.join('\r\n'))))
      socket.once('error', reject)
      socket.setTimeout(connectLimitMs, () => socket.destroy(new Error('no connection')))
    })
  }

  /** Sends the request. @throws Error if the connection fails, or for another status than 200 */
  async send(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<number>()
    this.#settle = resolve
    if (this.isLost) resolve(0)
    else this.#socket.write(this.#text)
    const status = await promise
    if (status !== 200) throw new Error(status === 0 ? 'A connection failed.' : `Status ${status}`)
  }

  end(): void {
    this.#socket.destroy()
  }

  #read(part: string): void {
    this.#received += part
    const headEnd = this.#received.indexOf('\r\n\r\n')
    if (headEnd < 0) return
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(this.#received.slice(0, headEnd))?.[1])
    if (this.#received.length < headEnd + 4 + length) return
    const status = Number(this.#received.slice(9, 12))
    this.#received = ''
    const settle = this.#settle
    this.#settle = undefined
    settle?.(Number.isNaN(length) ? 0 : status)
  }
}

/** Sends requests from connections that each wait for the response. */
async function closed(job: Job, meter: Meter): Promise<Sample> {
  const { ports, callers = 1, seconds } = job
  const all = await Promise.all(
    ports.flatMap((port) => Array.from({ length: callers }, () => Connection.open(port, job))),
  )
  const end = performance.now() + seconds * 1_000
  meter.begin()
  const running = Promise.all(
    all.map(async (connection) => {
      // A failed connection is not opened again.
      while (performance.now() < end && !connection.isLost) await meter.measure(() => connection.send()).catch(report)
    }),
  )
  await pause(Math.max(0, end - performance.now()))
  const sample = meter.end()
  await running
  for (const connection of all) connection.end()
  return sample
}

/** Returns random numbers from 0 to 1 that are the same in each run (mulberry32). */
function randomNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Sends requests at random times (a Poisson process). A request without an idle connection opens a new one. */
async function open(job: Job, meter: Meter, timesMs: number[]): Promise<Sample> {
  const { ports, perSecond = 1, seconds } = job
  const random = randomNumbers(49)
  const idle: Connection[] = []
  const pending = new Set<Promise<void>>()
  const opened: Connection[] = []
  const request = async (dueAt: number, port: number) => {
    await meter.measure(async () => {
      let connection = idle.pop()
      if (connection === undefined) {
        connection = await Connection.open(port, job)
        opened.push(connection)
      }
      await connection.send()
      idle.push(connection)
    })
    timesMs.push(performance.now() - dueAt)
  }
  const begin = performance.now()
  meter.begin()
  let dueAt = begin
  for (let n = 0; ; n++) {
    dueAt += (-Math.log(1 - random()) * 1_000) / perSecond
    if (dueAt > begin + seconds * 1_000) break
    const waitMs = dueAt - performance.now()
    if (waitMs > 1) await pause(waitMs)
    const running = request(dueAt, ports[n % ports.length] ?? 0)
      .catch(report)
      .finally(() => pending.delete(running))
    pending.add(running)
  }
  await Promise.all(pending)
  for (const connection of opened) connection.end()
  return meter.end()
}

/** Writes the first error. All errors are counted. */
let isReported = false
function report(error: Error): void {
  if (!isReported) console.error(error.message)
  isReported = true
}

async function run(job: Job): Promise<CallersResult> {
  const meter = new Meter()
  const timesMs: number[] = []
  const before = process.cpuUsage()
  const sample = await (job.perSecond === undefined ? closed(job, meter) : open(job, meter, timesMs))
  const { user, system } = process.cpuUsage(before)
  return { sample, timesMs, cpuMs: (user + system) / 1_000 }
}

process.on('message', async (job: Job) => {
  const result = await run(job).catch((error: Error) => ({ error: String(error.stack) }))
  if (process.connected) process.send?.(result)
})
process.once('disconnect', () => process.exit())
