/**
 * Clients of two instances behind a proxy: reads, writes, uploads, tasks, events and WebSockets. They behave as the
 * documents demand: they send a request again after a connection error, and a write with its idempotency key.
 */
import { createHash, randomBytes } from 'node:crypto'
import { Agent, request } from 'node:https'
import { setTimeout as pause } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { contextPath, host } from '../deploy/behind-proxy.ts'

/** Kinds of requests. */
export const kinds = ['read', 'write', 'upload', 'task', 'event'] as const
export type Kind = (typeof kinds)[number]

interface Target {
  /** Port of the proxy. */
  readonly port: number
  /** Certificate of the proxy. */
  readonly ca: string
  readonly authorization: string
  /** Id of the user who receives all messages. */
  readonly userId: number
  /**
   * True if an instance is killed. The clients then also repeat a request after a 502, 503 or 504. Without a kill, such
   * a response is a failure.
   */
  readonly isKill: boolean
}

interface Call {
  readonly method?: 'GET' | 'POST'
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Number of parts in which the body is sent, with a pause between two parts. */
  readonly parts?: number
}

interface Answer {
  readonly status: number
  readonly body: Buffer
}

/** What the clients of one kind noticed. */
export interface Tally {
  /** Requests, without repeated ones. */
  requests: number
  /** Attempts that ended with a connection error, or with a response that asked for another attempt. */
  repeated: number
  /** Requests that failed although they were repeated, or that must not be repeated. */
  readonly failures: string[]
}

const requestLimitMs = 60_000
/** Pause of a client between two requests, in milliseconds. */
const restMs = 20
/** Pause between two attempts of a request, in milliseconds, unless the response names a longer one. */
const repetitionMs = 100
/** Maximum number of attempts of one request. */
const maxAttempts = 50
const uploadBytes = 3 * 1024 * 1024
/** Duration in milliseconds of the tasks that the clients queue. */
const taskMs = 1_500

/** An upload that was acknowledged. */
interface Upload {
  readonly url: string
  readonly hash: string
}

const hashOf = (content: Uint8Array) => createHash('sha256').update(content).digest('hex')

class Clients {
  readonly #target: Target
  readonly #agent: Agent
  readonly tallies: Readonly<Record<Kind, Tally>>

  constructor(target: Target) {
    this.#target = target
    this.#agent = new Agent({ keepAlive: true, ca: target.ca, servername: host })
    const empty = () => ({ requests: 0, repeated: 0, failures: [] })
    this.tallies = { read: empty(), write: empty(), upload: empty(), task: empty(), event: empty() }
  }

  /**
   * Sends a request once.
   * @throws Error if the connection fails or no response arrives within a minute
   */
  send(path: string, { method = 'GET', body, headers, parts = 1 }: Call = {}): Promise<Answer> {
    const { port, authorization } = this.#target
    const json = body === undefined ? {} : { 'content-type': 'application/json', 'content-length': `${body.length}` }
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    const sent = request({
      method,
      path: `${contextPath}${path}`,
      host: '127.0.0.1',
      port,
      agent: this.#agent,
      timeout: requestLimitMs,
      headers: { host, authorization, ...json, ...headers },
    })
    sent.on('error', reject)
    sent.on('timeout', () => sent.destroy(new Error('no response within a minute')))
    sent.on('response', (response) => {
      const chunks: Buffer[] = []
      response.on('error', reject)
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks) }))
    })
    if (body === undefined) sent.end()
    else void sendInParts(sent, body, parts)
    return promise
  }

  /** Sends a request, and repeats it after a connection error if it may be repeated. Returns `data` of the response. */
  async call(kind: Kind, path: string, call: Call, mayRepeat: boolean): Promise<unknown> {
    const tally = this.tallies[kind]
    tally.requests += 1
    for (let attempt = 1; ; attempt++) {
      let waitMs = repetitionMs
      const answer = await this.send(path, call).catch((error: Error) => error)
      if (!(answer instanceof Error)) {
        const { code, data, message } = envelopeOf(answer)
        if (answer.status === 200 && code === '200') return data
        const isUnavailable = answer.status >= 502 && answer.status <= 504
        const { reason, retryAfter = 0 } = Object(data) as { reason?: string; retryAfter?: number }
        // The key of a call that was killed stays blocked for `platform.idempotency.lease`.
        const isOpen = code === '409' && reason === 'idempotency.in-progress'
        waitMs = Math.max(waitMs, retryAfter * 1_000)
        if (!(mayRepeat && attempt < maxAttempts && this.#target.isKill && (isUnavailable || isOpen))) {
          tally.failures.push(`${path}: ${answer.status} ${code} ${message}, attempt ${attempt}`)
          return undefined
        }
      } else if (!mayRepeat || attempt === maxAttempts) {
        tally.failures.push(`${path}: ${answer.message}, attempt ${attempt}`)
        return undefined
      }
      tally.repeated += 1
      await pause(waitMs)
    }
  }

  end(): void {
    this.#agent.destroy()
  }
}

async function sendInParts(sent: ReturnType<typeof request>, body: string, parts: number): Promise<void> {
  const size = Math.ceil(body.length / parts)
  for (let from = 0; from < body.length && !sent.destroyed; from += size) {
    sent.write(body.slice(from, from + size))
    if (from + size < body.length) await pause(200)
  }
  sent.end()
}

function envelopeOf({ body, status }: Answer): { code: string; data: unknown; message: string } {
  try {
    return JSON.parse(body.toString())
  } catch {
    return { code: String(status), data: null, message: body.toString().slice(0, 100) }
  }
}

/** An item of the inbox, as a WebSocket client and a list receive it. */
interface Item {
  readonly id: number
  readonly content: string
}

const inbox = '/api/v1/notifications/inbox'

/** A realtime client that connects again when its connection ends, and then reads what it missed. */
class Socket {
  readonly #clients: Clients
  readonly #target: Target
  #current: WebSocket | undefined
  #isEnough = false
  #newest = 0
  /** How often each item was pushed, by id. */
  readonly pushed = new Map<number, number>()
  /** Ids of all items that the client knows. */
  readonly known = new Set<number>()
  connections = 0
  /** Close codes of the connections. */
  readonly codes: Record<string, number> = {}
  readonly failures: string[] = []

  constructor(clients: Clients, target: Target) {
    this.#clients = clients
    this.#target = target
  }

  async run(): Promise<void> {
    while (!this.#isEnough) {
      await this.#connection()
      if (!this.#isEnough) await pause(100)
    }
  }

  stop(): void {
    this.#isEnough = true
    this.#current?.close()
  }

  #connection(): Promise<void> {
    const { port, ca, authorization } = this.#target
    const { promise, resolve } = Promise.withResolvers<void>()
    const socket = new WebSocket(`wss://127.0.0.1:${port}${contextPath}/api/v1/ws`, [], {
      agent: new Agent({ ca, servername: host }),
      headers: { host, authorization },
      handshakeTimeout: 30_000,
    })
    this.#current = socket
    socket.on('error', () => undefined)
    socket.on('close', (code) => {
      this.codes[code] = (this.codes[code] ?? 0) + 1
      resolve()
    })
    socket.on('message', (message) => {
      const { type, event, data } = JSON.parse(String(message)) as { type?: string; event?: string; data?: Item }
      if (type === 'connected') this.connections += 1
      if (type === 'connected' || type === 'gap') void this.#load()
      if (event !== 'notification.created' || data === undefined) return
      this.pushed.set(data.id, (this.pushed.get(data.id) ?? 0) + 1)
      this.#learn(data.id)
    })
    return promise
  }

  #learn(id: number): void {
    this.known.add(id)
    this.#newest = Math.max(this.#newest, id)
  }

  /** Reads the items that may have been missed: all pages down to a page without a new item. */
  async #load(): Promise<void> {
    let next: string | null = null
    for (;;) {
      const cursor: string = next === null ? '' : `&cursor=${encodeURIComponent(next)}`
      const found = await this.#clients.call('read', `${inbox}?size=100${cursor}`, {}, true)
      if (found === undefined) {
        this.failures.push('the inbox could not be read')
        return
      }
      const page = found as { items: readonly Item[]; next: string | null }
      const hasNew = page.items.some(({ id }) => !this.known.has(id))
      for (const { id } of page.items) this.#learn(id)
      if (!hasNew || page.next === null) return
      next = page.next
    }
  }
}

/** Starts all clients. They run until `stop`. */
export function startLoad(target: Target) {
  const clients = new Clients(target)
  const { tallies } = clients
  let isEnough = false
  const sent: string[] = []
  const uploads: Upload[] = []
  const repeat = async (work: (n: number) => Promise<unknown>, pauseMs = restMs) => {
    for (let n = 0; !isEnough; n++) {
      await work(n)
      await pause(pauseMs)
    }
  }
  const read = (n: number) => clients.call('read', n % 2 === 0 ? '/api/v1/iam/users/me' : `${inbox}?size=5`, {}, true)
  const write = (client: string) => async (n: number) => {
    const content = `${client}-${n}`
    const body = JSON.stringify({ channels: ['database'], recipientUserIds: [target.userId], subject: 'x', content })
    const headers = { 'idempotency-key': `rolling-${client}-${n}` }
    const results = await clients.call('write', '/api/v1/notifications/send', { method: 'POST', body, headers }, true)
    if (results !== undefined) sent.push(content)
  }
  const upload = async () => {
    const content = randomBytes(uploadBytes)
    const body = JSON.stringify({ name: 'picture.png', content: content.toString('base64') })
    // The operation has no idempotency key. A repeated upload stores another file, and the first one expires unused.
    const call = { method: 'POST', body, parts: 10 } as const
    const stored = await clients.call('upload', '/api/v1/admin/storage/uploads', call, true)
    if (stored !== undefined) uploads.push({ url: (stored as { url: string }).url, hash: hashOf(content) })
  }
  // These two operations of the test plugin have no idempotency key, so they are repeated only after a kill.
  const task = () => clients.call('task', `/api/v1/probe/tasks?ms=${taskMs}`, { method: 'POST' }, target.isKill)
  const event = (n: number) =>
    clients.call('event', `/api/v1/probe/events/subject-${n % 4}`, { method: 'POST' }, target.isKill)
  const sockets = Array.from({ length: 4 }, () => new Socket(clients, target))
  const running = Promise.all([
    ...Array.from({ length: 4 }, () => repeat(read)),
    ...Array.from({ length: 4 }, (_, client) => repeat(write(`writer-${client}`), 50)),
    ...Array.from({ length: 2 }, () => repeat(upload)),
    repeat(task, 300),
    repeat(event, 100),
  ])
  const listening = Promise.all(sockets.map((socket) => socket.run()))
  return {
    tallies,
    /** Contents of the acknowledged messages. */
    sent,
    uploads,
    sockets,
    /** Stops all clients except the sockets, and waits for their last responses. */
    async stop() {
      isEnough = true
      await running
    },
    /** Reads the whole inbox of the user. */
    async inbox(): Promise<readonly Item[]> {
      const items: Item[] = []
      let next: string | null = null
      do {
        const cursor: string = next === null ? '' : `&cursor=${encodeURIComponent(next)}`
        const { body } = await clients.send(`${inbox}?size=100${cursor}`)
        const { data } = JSON.parse(body.toString()) as { data: { items: readonly Item[]; next: string | null } }
        items.push(...data.items)
        next = data.next
      } while (next !== null)
      return items
    },
    /** Returns how many acknowledged uploads are missing or changed. */
    async damagedUploads(): Promise<number> {
      let damaged = 0
      for (const { url, hash } of uploads) {
        const { pathname, search } = new URL(url, 'http://product')
        const path = pathname.startsWith(contextPath) ? pathname.slice(contextPath.length) : pathname
        const { status, body } = await clients.send(`${path}${search}`)
        if (status !== 200 || hashOf(body) !== hash) damaged += 1
      }
      return damaged
    },
    async end() {
      for (const socket of sockets) socket.stop()
      await listening
      clients.end()
    },
  }
}

export type Load = ReturnType<typeof startLoad>
