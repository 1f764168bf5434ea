import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock, Logger } from '@plinth/kernel'

/** Maximum milliseconds per event loop tick in which requests may begin. */
const tickMs = 20
/** Maximum milliseconds per event loop tick in which requests may be rejected. */
const rejectingMs = 2
/** Milliseconds. After a longer tick, new connections may be waiting in the operating system. */
const longTickMs = 5
/** Maximum milliseconds in which connections are accepted but no request begins. */
const acceptingMs = 1_000
/** Number of ticks without a new connection after which no connection is waiting. */
const quietTicks = 2

/**
 * Divides the event loop between requests and new connections. Node.js accepts one connection per tick, so busy ticks
 * delay all waiting connections. After a long tick, no request begins until all of them are accepted. Their requests
 * then wait in the load shedder, which limits the wait and serves probes.
 */
class EventLoopDivider {
  readonly #clock: Clock
  /** Time at which the first request of this tick began. */
  #tickBegan: number | undefined
  /** Time at which the first request of this tick was rejected. */
  #rejectingBegan: number | undefined
  #ticksWithoutConnection = quietTicks
  #acceptingSince: number | undefined
  /** Time until which no phase begins that only accepts connections. */
  #workUntil = 0
  #acceptedForMs = 0
  #isTickWatched = false
  /** One function for all ticks, so that no closure is created per tick. */
  readonly #tickEnds = () => {
    this.#isTickWatched = false
    this.#endTick(this.#clock.monotonic())
  }

  constructor(clock: Clock) {
    this.#clock = clock
  }

  connectionCame(): void {
    this.#ticksWithoutConnection = 0
    this.#watchTick()
  }

  /** Returns true if a request may begin in this tick. */
  hasTime(now: number): boolean {
    if (this.#acceptingSince !== undefined) return false
    this.#tickBegan ??= now
    this.#watchTick()
    return now - this.#tickBegan < tickMs
  }

  /** Returns true if a request may be rejected in this tick. */
  hasTimeToReject(now: number): boolean {
    if (this.#acceptingSince !== undefined) return false
    this.#rejectingBegan ??= now
    this.#watchTick()
    return now - this.#rejectingBegan < rejectingMs
  }

  /**
   * Returns milliseconds of a clock that stops while only connections are accepted, so that requests do not time out
   * meanwhile.
   */
  workingTime(now: number): number {
    return (this.#acceptingSince ?? now) - this.#acceptedForMs
  }

  #watchTick(): void {
    if (this.#isTickWatched) return
    this.#isTickWatched = true
    setImmediate(this.#tickEnds)
  }

  #endTick(now: number): void {
    const isLong = this.#tickBegan !== undefined && now - this.#tickBegan >= longTickMs
    this.#tickBegan = undefined
    this.#rejectingBegan = undefined
    const isComing = this.#ticksWithoutConnection++ < quietTicks
    if (this.#acceptingSince === undefined) {
      if (isLong && isComing && now >= this.#workUntil) this.#acceptingSince = now
    } else if (!isComing || now - this.#acceptingSince >= acceptingMs) {
      const ms = now - this.#acceptingSince
      this.#acceptedForMs += ms
      this.#workUntil = now + ms
      this.#acceptingSince = undefined
    }
    if (this.#acceptingSince !== undefined) this.#watchTick()
  }
}

declare module 'node:http' {
  interface IncomingMessage {
    /** Monotonic milliseconds; undefined if the request did not pass the load shedder. */
    arrivedAt?: number
    /** True while the request uses a slot of the load shedder. */
    isInWork?: boolean
    /** True for an upgrade, for example to WebSocket. The types of Node.js omit this member. */
    readonly upgrade?: boolean | null
  }
}

export interface OverloadLimits {
  /** Maximum number of requests that are handled at the same time. */
  readonly maxRequests: number
  /** Maximum number of requests that wait for a slot. */
  readonly maxWaiting: number
  /** Maximum time in milliseconds that a request may wait. */
  readonly maxWaitMs: number
}

interface Waiting {
  readonly response: ServerResponse
  /** Start of the wait, in milliseconds of `EventLoopDivider.workingTime`. */
  readonly since: number
}

type Serve = (request: IncomingMessage, response: ServerResponse) => void
type Reject = (request: IncomingMessage, response: ServerResponse, retryAfterSeconds: number) => void

interface Rejected {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly retryAfterSeconds: number
}

/**
 * Maximum time after which a rejected caller is told to retry. Callers would not wait much longer, and not all of them
 * retry.
 */
const maxRetryAfterMs = 30_000
/** Weight of the newest interval in the average. */
const paceWeight = 1 / 16
/** Number of recent intervals with which a new one is compared; see `#notePace`. */
const recentTimes = 16
/**
 * Fraction of the maximum waiting time. If all waiting requests can begin within this fraction, none of them is
 * rejected, even after a suspension of the process.
 */
const shortQueue = 1 / 4

/**
 * Limits how many requests run, how many wait and how long. All others are rejected immediately, so that accepted
 * requests get their responses soon under any load.
 *
 * Waiting requests begin one per tick, so that synchronous handlers, as with SQLite, do not block the event loop
 * together. Rejections are also distributed over several ticks. Probes and running requests continue in between.
 */
export class LoadShedder {
  readonly #bounds: OverloadLimits
  readonly #clock: Clock
  readonly #log: Logger
  readonly #serve: Serve
  readonly #reject: Reject
  readonly #loop: EventLoopDivider
  readonly #waiting = new Map<IncomingMessage, Waiting>()
  /**
   * Requests that a later tick rejects. The set stays small, because the number of connections and of their pipelined
   * requests is limited.
   */
  readonly #rejections = new Set<Rejected>()
  #inWork = 0
  /** Average milliseconds between the starts of two requests while requests are waiting. */
  #pace = 0
  /** Time of the last start, or the time at which the queue was no longer empty. */
  #paceSince = 0
  /** Latest intervals between two starts, in milliseconds. */
  readonly #recentMs: number[] = []
  /** Time at which all requests would be served if the rejected ones returned now. */
  #freeAt = 0
  #isPumpDue = false
  #isTimed = false
  #rejectedCount = 0

  /**
   * @param serve starts a request that has a slot
   * @param reject must be fast, because it takes time from other requests
   */
  constructor(parts: {
    readonly bounds: OverloadLimits
    readonly clock: Clock
    readonly log: Logger
    readonly serve: Serve
    readonly reject: Reject
  }) {
    this.#bounds = parts.bounds
    this.#clock = parts.clock
    this.#log = parts.log
    this.#serve = parts.serve
    this.#reject = parts.reject
    this.#loop = new EventLoopDivider(parts.clock)
  }

  connectionCame(): void {
    this.#loop.connectionCame()
  }

  /**
   * Serves the request, immediately or after a wait, or rejects it. The caller must call `gone` at the end of the
   * response.
   */
  enter(request: IncomingMessage, response: ServerResponse): void {
    const now = this.#clock.monotonic()
    request.arrivedAt = now
    const { maxRequests, maxWaiting, maxWaitMs } = this.#bounds
    const { size } = this.#waiting
    if (size === 0 && this.#inWork < maxRequests && this.#loop.hasTime(now)) this.#begin(request, response)
    else if (size < maxWaiting && size * this.#pace < maxWaitMs) {
      if (size === 0) this.#paceSince = now
      this.#waiting.set(request, { response, since: this.#loop.workingTime(now) })
      this.#pumpNextTick()
    } else this.#rejectWithRetry(request, response, now)
  }

  /** Releases the slot when the response is complete. Sending needs no slot, even if the client reads slowly. */
  leave(request: IncomingMessage): void {
    if (request.isInWork !== true) return
    request.isInWork = false
    this.#inWork--
    // The next request begins after the current response is created.
    if (this.#waiting.size > 0) process.nextTick(() => this.#pump())
  }

  /**
   * Reports the end of a response. Releases the slot if `leave` was not called, for example because the client
   * disconnected.
   */
  gone(request: IncomingMessage): void {
    if (this.#waiting.size > 0) this.#waiting.delete(request)
    this.leave(request)
  }

  #begin(request: IncomingMessage, response: ServerResponse): void {
    this.#inWork++
    request.isInWork = true
    this.#serve(request, response)
  }

  #pumpNextTick(): void {
    if (this.#isPumpDue) return
    this.#isPumpDue = true
    setImmediate(() => {
      this.#isPumpDue = false
      this.#pump()
      this.#rejectSome()
    })
  }

  /** Rejects requests that have waited too long, and begins the next request. */
  #pump(): void {
    for (const [request, { response, since }] of this.#waiting) {
      const now = this.#clock.monotonic()
      const remainingMs = this.#bounds.maxWaitMs - (this.#loop.workingTime(now) - since)
      const hasPlace = this.#inWork < this.#bounds.maxRequests
      // After a suspension of the process, all requests are late. If the queue is short, they are served anyway.
      const isShort = this.#waiting.size * this.#pace < this.#bounds.maxWaitMs * shortQueue
      const isLate = remainingMs <= 0 && !(hasPlace && isShort)
      if (!isLate && !hasPlace) {
        this.#pumpAfter(remainingMs)
        return
      }
      if (!this.#loop.hasTime(now)) break
      this.#waiting.delete(request)
      if (isLate) this.#rejectWithRetry(request, response, now)
      else {
        this.#notePace(now)
        this.#begin(request, response)
        break
      }
    }
    if (this.#waiting.size > 0) this.#pumpNextTick()
    else if (this.#rejectedCount > 0 && this.#rejections.size === 0) {
      this.#log.info({ rejected: this.#rejectedCount }, 'no longer overloaded')
      this.#rejectedCount = 0
    }
  }

  /**
   * Updates the average interval between starts. A single long suspension of the process must not raise it, because
   * requests would be rejected although the server is free. An interval longer than all recent ones counts only as much
   * as the longest of them.
   */
  #notePace(now: number): void {
    const ms = Math.min(now - this.#paceSince, this.#bounds.maxWaitMs)
    const usualMs = Math.min(ms, Math.max(0, ...this.#recentMs))
    this.#pace += (usualMs - this.#pace) * paceWeight
    this.#recentMs.push(ms)
    if (this.#recentMs.length > recentTimes) this.#recentMs.shift()
    this.#paceSince = now
  }

  #pumpAfter(ms: number): void {
    if (this.#isTimed) return
    this.#isTimed = true
    // The connections of waiting requests keep the process alive, so this timer must not.
    this.#clock.sleep(ms, undefined, { keepsAlive: false }).then(() => {
      this.#isTimed = false
      this.#pump()
    })
  }

  /** Rejects a request. Each rejected caller gets a later retry time, so that they do not all return together. */
  #rejectWithRetry(request: IncomingMessage, response: ServerResponse, now: number): void {
    if (this.#rejectedCount++ === 0) {
      this.#log.warn({ inWork: this.#inWork, waiting: this.#waiting.size }, 'overloaded: requests are rejected')
    }
    const freeAt = Math.max(this.#freeAt, now + this.#waiting.size * this.#pace) + this.#pace
    this.#freeAt = Math.min(freeAt, now + maxRetryAfterMs)
    const retryAfterSeconds = Math.max(1, Math.ceil((this.#freeAt - now) / 1000))
    if (this.#rejections.size === 0 && this.#loop.hasTimeToReject(now))
      this.#reject(request, response, retryAfterSeconds)
    else {
      this.#rejections.add({ request, response, retryAfterSeconds })
      this.#pumpNextTick()
    }
  }

  /** Rejects requests of earlier ticks while this tick has time. */
  #rejectSome(): void {
    for (const rejected of this.#rejections) {
      if (!this.#loop.hasTimeToReject(this.#clock.monotonic())) break
      this.#rejections.delete(rejected)
      const { request, response, retryAfterSeconds } = rejected
      // The caller may have disconnected in the meantime.
      if (!response.destroyed) this.#reject(request, response, retryAfterSeconds)
    }
    if (this.#rejections.size > 0) this.#pumpNextTick()
  }
}
