/**
 * Program of a process with callers. It uses plain sockets, because otherwise the cost of a client library would be
 * measured too. Each message to the process is a job, and the process responds with the exchanges.
 */
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

/**
 * Callers that all start at the same time. Each of them writes once, or repeatedly until the time is over. They wait as
 * long as Retry-After says.
 */
export interface Job {
  readonly port: number
  readonly token: string
  /** Part of every code that is written, so that each job writes different codes. */
  readonly name: string
  readonly callers: number
  /**
   * True if all connections are opened before the first write. Otherwise each caller opens its connection when it
   * starts.
   */
  readonly isKept: boolean
  /** Seconds in which each caller writes again after its first write; 0 if each caller writes once. */
  readonly seconds: number
}

export interface Exchange {
  readonly status: number
  readonly retryAfter: string | undefined
  /**
   * Milliseconds from the start of the connection to the end of the response. On an open connection, the time begins
   * with the request.
   */
  readonly ms: number
  /** End of the exchange in milliseconds since the first exchange started. */
  readonly endedAt: number
}

export interface CallersResult {
  readonly exchanges: readonly Exchange[]
  /** CPU time of the callers in milliseconds. */
  readonly cpuMs: number
  /** Longest tick of the callers' event loop in milliseconds. It limits the accuracy of `ms`. */
  readonly stallMs: number
}

const open = (port: number) =>
  new Promise<Socket>((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket))
    socket.once('error', reject)
  })

function requestOf({ port, token, name }: Job, caller: number, write: number): string {
  const code = `${name}-${caller}-${write}`
  const body = JSON.stringify({ code, name: code, permissions: [] })
  const lines = [
    'POST /api/v1/admin/iam/roles HTTP/1.1',
    `Host: 127.0.0.1:${port}`,
    `Authorization: Bearer ${token}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
  ]
  return `${lines.join('\r\n')}\r\n\r\n${body}`
}

/** Reads one response. The status is 0 if the connection is closed. */
const answerOn = (socket: Socket) =>
  new Promise<Pick<Exchange, 'status' | 'retryAfter'>>((resolve) => {
    let text = ''
    const settle = (status: number) => {
      socket.off('data', read).off('close', cut)
      resolve({ status, retryAfter: /\r\nretry-after: (\d+)/i.exec(text)?.[1] })
    }
    const cut = () => settle(0)
    const read = (chunk: Buffer) => {
      text += chunk.toString('latin1')
      const end = text.indexOf('\r\n\r\n')
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(text)?.[1])
      if (end >= 0 && text.length >= end + 4 + length) settle(Number(text.slice(9, 12)))
    }
    socket.on('data', read).once('close', cut)
  })

async function run(job: Job): Promise<CallersResult> {
  const { port, callers, isKept, seconds } = job
  const sockets = isKept ? await Promise.all(Array.from({ length: callers }, () => open(port))) : []
  const exchanges: Exchange[] = []
  let stallMs = 0
  let turnAt = performance.now()
  const beginning = turnAt
  const watch = setInterval(() => {
    stallMs = Math.max(stallMs, performance.now() - turnAt)
    turnAt = performance.now()
  })
  const cpu = process.cpuUsage()
  const caller = async (_: unknown, index: number) => {
    let socket = sockets[index]
    for (let write = 0; ; write++) {
      const begunAt = performance.now()
      socket ??= connect(port, '127.0.0.1').on('error', () => {})
      const response = answerOn(socket)
      socket.write(requestOf(job, index, write))
      const { status, retryAfter } = await response
      const endedAt = performance.now()
      exchanges.push({ status, retryAfter, ms: endedAt - begunAt, endedAt: endedAt - beginning })
      const waitMs = 1000 * Number(status === 503 ? retryAfter : 0)
      if (endedAt + waitMs - beginning >= 1000 * seconds) break
      if (waitMs > 0) await pause(waitMs)
    }
    socket?.destroy()
  }
  await Promise.all(Array.from({ length: callers }, caller))
  clearInterval(watch)
  const { user, system } = process.cpuUsage(cpu)
  return { exchanges, cpuMs: (user + system) / 1000, stallMs }
}

process.on('message', async (job: Job) => process.send?.(await run(job)))
process.once('disconnect', () => process.exit())
