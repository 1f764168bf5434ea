import type { InboxApi } from './api.ts'

/** Milliseconds between two polls without a realtime connection. */
const pollMs = 20_000
/** Milliseconds until the first attempt to connect again. */
const reconnectMs = 2_000
const maxDelayMs = 300_000
const openTimeoutMs = 10_000
const beatMs = 30_000
/** Close code of a connection whose token is no longer valid. */
const tokenEnded = 4401

/**
 * Returns the milliseconds until the next attempt: doubled after each failure, at most five minutes, and 20 % more or
 * less, so that clients do not return at the same time.
 *
 * @param random 0 to 1
 */
export const delayAfter = (failures: number, baseMs: number, random: number): number =>
  Math.min(baseMs * 2 ** failures, maxDelayMs) * (0.8 + 0.4 * random)

export interface LiveEvents {
  /** Reads the list and the count again. */
  sync(): Promise<void>
  /** A message of the server: `notification.created` or `notification.read`. */
  push(event: string, data: unknown): void
  /** True while the browser has no network. */
  offline(isOffline: boolean): void
}

/**
 * Keeps an inbox current: through a WebSocket, or by polling if there is none. Each connection begins with a
 * synchronisation. Does nothing while the page is hidden or offline, except that an open WebSocket stays open.
 */
export class Live {
  readonly #api: InboxApi
  readonly #events: LiveEvents
  readonly #usesSocket: () => boolean
  #socket: WebSocket | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #beat: ReturnType<typeof setInterval> | undefined
  #isHeard = true
  #stopped: AbortController | undefined
  #isTicking = false
  /** True if another tick was requested during the current one. */
  #isAwaited = false
  #failures = 0
  #socketFailures = 0
  /** Time before which no WebSocket is opened, in milliseconds since the epoch. */
  #socketFrom = 0

  constructor(api: InboxApi, events: LiveEvents, usesSocket: () => boolean) {
    this.#api = api
    this.#events = events
    this.#usesSocket = usesSocket
  }

  start(): void {
    if (this.#stopped !== undefined) return
    this.#stopped = new AbortController()
    this.#failures = 0
    this.#socketFailures = 0
    this.#socketFrom = 0
    const { signal } = this.#stopped
    document.addEventListener('visibilitychange', () => this.#wake(), { signal })
    for (const name of ['online', 'offline'])
      globalThis.addEventListener(name, () => this.#networkChanged(), { signal })
    this.#networkChanged()
  }

  stop(): void {
    this.#stopped?.abort()
    this.#stopped = undefined
    clearTimeout(this.#timer)
    this.#drop()
  }

  get #isActive(): boolean {
    return this.#stopped !== undefined && !document.hidden && navigator.onLine
  }

  #networkChanged(): void {
    this.#events.offline(!navigator.onLine)
    if (!navigator.onLine) this.#drop()
    this.#wake()
  }

  #wake(): void {
    clearTimeout(this.#timer)
    if (this.#isActive && this.#socket === undefined) void this.#tick()
  }

  async #tick(): Promise<void> {
    if (!this.#isActive) return
    this.#isAwaited = this.#isTicking
    if (this.#isTicking) return
    this.#isTicking = true
    try {
      if (this.#usesSocket() && this.#socket === undefined && Date.now() >= this.#socketFrom) {
        // Without a token, the synchronisation fails too, and shows the error.
        await this.#connect().catch(() => {})
      }
      await this.#events.sync()
      this.#failures = 0
    } catch {
      this.#failures++
    } finally {
      this.#isTicking = false
      if (this.#isAwaited) void this.#tick()
      // A connection without a synchronisation could have missed items.
      else if (this.#socket === undefined || this.#failures > 0)
        this.#schedule(delayAfter(this.#failures, pollMs, Math.random()))
    }
  }

  #schedule(delayMs: number): void {
    clearTimeout(this.#timer)
    if (this.#isActive) this.#timer = setTimeout(() => void this.#tick(), delayMs)
  }

  /** Opens a WebSocket. Resolves when it is open, and if that fails. @throws InboxError without a token */
  async #connect(): Promise<void> {
    const stopped = this.#stopped
    const token = await this.#api.token()
    if (!this.#isActive || this.#stopped !== stopped) return
    const socket = new WebSocket(this.#api.socketUrl(), ['bearer', token])
    const settled = Promise.withResolvers<void>()
    const timer = setTimeout(() => socket.close(), openTimeoutMs)
    socket.onopen = () => {
      clearTimeout(timer)
      settled.resolve()
      // After a restart, the token may be that of another user.
      if (this.#stopped !== stopped) return this.#detach(socket)
      this.#socket = socket
      this.#isHeard = true
      this.#beat = setInterval(() => this.#checkBeat(socket), beatMs)
    }
    socket.onclose = ({ code }) => {
      clearTimeout(timer)
      settled.resolve()
      this.#closed(code, this.#socket === socket)
    }
    socket.onmessage = ({ data }) => {
      this.#isHeard = true
      this.#receive(data)
    }
    await settled.promise
  }

  #closed(code: number, wasOpen: boolean): void {
    clearInterval(this.#beat)
    this.#socket = undefined
    if (code === tokenEnded) this.#api.forget()
    const delayMs = delayAfter(this.#socketFailures, reconnectMs, Math.random())
    this.#socketFailures++
    this.#socketFrom = Date.now() + delayMs
    // After a failed handshake, the current tick continues with polling.
    if (wasOpen) this.#schedule(delayMs + 1)
  }

  #receive(text: unknown): void {
    const message: { readonly type?: unknown; readonly event?: unknown; readonly data?: unknown } = JSON.parse(
      String(text),
    )
    if (message.type === 'gap')
      void this.#events.sync().catch(() => this.#schedule(delayAfter(1, reconnectMs, Math.random())))
    else if (typeof message.event === 'string') this.#events.push(message.event, message.data)
  }

  #checkBeat(socket: WebSocket): void {
    // The close event of a lost connection may take minutes.
    if (!this.#isHeard) {
      this.#detach(socket)
      this.#closed(0, true)
      return
    }
    // Only a connection that has lasted is a success. Otherwise a server that closes each one would be called constantly.
    this.#socketFailures = 0
    this.#isHeard = false
    socket.send('{"type":"ping"}')
  }

  #drop(): void {
    clearInterval(this.#beat)
    if (this.#socket !== undefined) this.#detach(this.#socket)
    this.#socket = undefined
  }

  #detach(socket: WebSocket): void {
    socket.onclose = null
    socket.onmessage = null
    socket.close()
  }
}
