import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock, Logger } from '@plinth/kernel'

/** Time of one event loop tick in which requests may begin, milliseconds. */
const turnMs = 20
/** Time of one tick in which requests may be rejected, from the first one on, milliseconds. */
const rejectingMs = 2
/** Duration of a tick after which connections may be waiting, milliseconds. */
const longTurnMs = 5
/** Maximum time in which connections are accepted and no request begins, milliseconds. */
const acceptingMs = 1_000
/** Number of ticks without a connection after which none is waiting. */
const quietTurns = 2

/**
 * Shares the event loop between current requests and connections in the queue of the system. Node.js accepts one
 * connection per tick. After a long tick no request begins until all connections are accepted, because each tick with
 * work would delay all of them. Their callers then wait in the load shedder, where the wait is limited and probes are
 * served.
 */
export class LoopShare {
  readonly #clock: Clock
  /** Time at which this tick began its first request. */
  #turnBegan: number | undefined
  /** Time at which this tick rejected its first request. */
  #rejectingBegan: number | undefined
  #turnsWithoutConnection = quietTurns
  #acceptingSince: number | undefined
  /** No phase that only accepts connections begins before this time. */
  #workUntil = 0
  #acceptedForMs = 0
  #isTurnWatched = false
  /** One function for all ticks, to avoid an allocation per tick. */
  readonly #turnEnds = () => {
    this.#isTurnWatched = false
    this.#endTurn(this.#clock.monotonic())
  }

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Reports that a connection was accepted in this tick. */
  connectionCame(): void {
    this.#turnsWithoutConnection = 0
    this.#watchTurn()
  }

  /** Returns true if a request may begin in this tick. */
  hasTime(now: number): boolean {
    if (this.#acceptingSince !== undefined) return false
    this.#turnBegan ??= now
    this.#watchTurn()
    return now - this.#turnBegan < turnMs
  }

  /** Returns true if a request may be rejected in this tick. */
  hasTimeToReject(now: number): boolean {
    if (this.#acceptingSince !== undefined) return false
    this.#rejectingBegan ??= now
    this.#watchTurn()
    return now - this.#rejectingBegan < rejectingMs
  }

  /**
   * Returns the time without phases that only accept connections. These phases do not count as time that a request
   * waits for a slot.
   */
  workingTime(now: number): number {
    return (this.#acceptingSince ?? now) - this.#acceptedForMs
  }

  #watchTurn(): void {
    if (this.#isTurnWatched) return
    this.#isTurnWatched = true
    setImmediate(this.#turnEnds)
  }

  #endTurn(now: number): void {
    const isLong = this.#turnBegan !== undefined && now - this.#turnBegan >= longTurnMs
    this.#turnBegan = undefined
    this.#rejectingBegan = undefined
    const isComing = this.#turnsWithoutConnection++ < quietTurns
    if (this.#acceptingSince === undefined) {
      if (isLong && isComing && now >= this.#workUntil) this.#acceptingSince = now
    } else if (!isComing || now - this.#acceptingSince >= acceptingMs) {
      const ms = now - this.#acceptingSince
      this.#acceptedForMs += ms
      this.#workUntil = now + ms
      this.#acceptingSince = undefined
    }
    if (this.#acceptingSince !== undefined) this.#watchTurn()
  }
}

declare module 'node:http' {
  interface IncomingMessage {
    /** Monotonic milliseconds of its arrival; undefined if it did not pass the load shedder. */
    arrivedAt?: number
    /** True while the request uses a slot of the load shedder. */
    isInWork?: boolean
    /** True if Node.js treats the request as an upgrade. The types of Node.js omit this member. */
    readonly upgrade?: boolean | null
  }
}

export interface OverloadBounds {
  /** Maximum number of concurrent requests. */
  readonly maxRequests: number
  /** Maximum number of requests that wait for a slot. */
  readonly maxWaiting: number
  /** Maximum time that a request may wait, milliseconds. */
  readonly maxWaitMs: number
}

interface Waiting {
  readonly response: ServerResponse
  /** In working time of the event loop. */
  readonly since: number
}

type Serve = (request: IncomingMessage, response: ServerResponse) => void
type Reject = (request: IncomingMessage, response: ServerResponse, retryAfterSeconds: number) => void

/** A request that is rejected when the event loop has time for it. */
interface Rejected {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly retryAfterSeconds: number
}

/** A caller with a much longer delay would not retry, and not all rejected callers do. */
const maxRetryAfterMs = 30_000
/** Weight of the last request in the pace. */
const paceWeight = 1 / 16
/** A time counts in full only if one of this many recent times was as long. */
const recentTimes = 16
/**
 * Fraction of the maximum wait. If all waiting requests will begin within it, they are served, even after a suspension.
 */
const shortQueue = 1 / 4

/**
 * Admits requests up to a limit, lets a limited number wait for a limited time, and rejects the others immediately.
 * Thus admitted requests get their responses soon under any load.
 *
 * Waiting requests begin one after another. A synchronous handler, as with SQLite, then ends before the next one
 * begins, and many of them do not form one long tick. The same applies to rejections: thousands that arrive in one tick
 * are distributed over several ticks. Admitted requests and liveness probes run between them.
 */
export class LoadShedder {
  readonly #bounds: OverloadBounds
  readonly #clock: Clock
  readonly #log: Logger
  readonly #serve: Serve
  readonly #reject: Reject
  readonly #loop: LoopShare
  readonly #waiting = new Map<IncomingMessage, Waiting>()
  /** Limited by the number of connections and their pipelined requests. */
  readonly #rejections = new Set<Rejected>()
  #inWork = 0
  /** Average milliseconds between two starts while others wait for a slot or for the event loop. */
  #pace = 0
  /** Time since which the next request could have begun: the last start, or the first wait after it. */
  #paceSince = 0
  /** The last intervals between starts, milliseconds. */
  readonly #recentMs: number[] = []
  /** Time at which all waiting and rejected requests are served if all rejected ones return. */
  #freeAt = 0
  #isPumpDue = false
  #isTimed = false
  #rejectedCount = 0

  /**
   * @param serve begins a request that has a slot
   * @param reject responds to a rejected request; it must be cheap, because it takes time from the others
   */
  constructor(parts: {
    readonly bounds: OverloadBounds
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
    this.#loop = new LoopShare(parts.clock)
  }

  /** Reports that a connection was accepted. */
  connectionCame(): void {
    this.#loop.connectionCame()
  }

  /**
   * Serves the request if a slot is free, immediately or after a wait, or rejects it. The caller must report its end
   * with `gone`.
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
      this.#pumpNextTurn()
    } else this.#turnAway(request, response, now)
  }

  /** Releases the slot when the response is complete. Sending needs no slot, however slowly it is read. */
  leave(request: IncomingMessage): void {
    if (request.isInWork !== true) return
    request.isInWork = false
    this.#inWork--
    // Not while the current response is being created.
    if (this.#waiting.size > 0) process.nextTick(() => this.#pump())
  }

  /** Reports the end of the response. Also releases the slot if the caller disconnected or no hook saw the response. */
  gone(request: IncomingMessage): void {
    if (this.#waiting.size > 0) this.#waiting.delete(request)
    this.leave(request)
  }

  #begin(request: IncomingMessage, response: ServerResponse): void {
    this.#inWork++
    request.isInWork = true
    this.#serve(request, response)
  }

  #pumpNextTurn(): void {
    if (this.#isPumpDue) return
    this.#isPumpDue = true
    setImmediate(() => {
      this.#isPumpDue = false
      this.#pump()
      this.#rejectSome()
    })
  }

  /** Rejects requests that have waited too long, and begins the next one. */
  #pump(): void {
    for (const [request, { response, since }] of this.#waiting) {
      const now = this.#clock.monotonic()
      const remainingMs = this.#bounds.maxWaitMs - (this.#loop.workingTime(now) - since)
      const hasPlace = this.#inWork < this.#bounds.maxRequests
      // After a suspension of the process all requests have waited long, but none needs to be rejected.
      const isShort = this.#waiting.size * this.#pace < this.#bounds.maxWaitMs * shortQueue
      const isLate = remainingMs <= 0 && !(hasPlace && isShort)
      if (!isLate && !hasPlace) {
        this.#pumpAfter(remainingMs)
        return
      }
      if (!this.#loop.hasTime(now)) break
      this.#waiting.delete(request)
      if (isLate) this.#turnAway(request, response, now)
      else {
        this.#notePace(now)
        this.#begin(request, response)
        break
      }
    }
    if (this.#waiting.size > 0) this.#pumpNextTurn()
    else if (this.#rejectedCount > 0 && this.#rejections.size === 0) {
      this.#log.info({ rejected: this.#rejectedCount }, 'no longer overloaded')
      this.#rejectedCount = 0
    }
  }

  /**
   * One long suspension must not change the pace: a process that got no CPU for some time must not reject requests that
   * it could serve immediately. An interval longer than all recent ones counts as the longest of them. It counts in
   * full when it occurs again.
   */
  #notePace(now: number): void {
    const ms = Math.min(now - this.#paceSince, this.#bounds.maxWaitMs)
    const usualMs = Math.min(ms, Math.max(0, ...this.#recentMs))
    this.#pace += (usualMs - this.#pace) * paceWeight
    this.#recentMs.push(ms)
    if (this.#recentMs.length > recentTimes) this.#recentMs.shift()
    this.#paceSince = now
  }

  /** Checks again when the oldest request has waited long enough. */
  #pumpAfter(ms: number): void {
    if (this.#isTimed) return
    this.#isTimed = true
    // Waiting requests have connections, which keep the process alive. The timer must not.
    this.#clock.sleep(ms, undefined, { keepsAlive: false }).then(() => {
      this.#isTimed = false
      this.#pump()
    })
  }

  /** Tells each caller when its turn would come, so that rejected callers do not all return together. */
  #turnAway(request: IncomingMessage, response: ServerResponse, now: number): void {
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
      this.#pumpNextTurn()
    }
  }

  /** Rejects requests from earlier ticks while this tick has time. */
  #rejectSome(): void {
    for (const rejected of this.#rejections) {
      if (!this.#loop.hasTimeToReject(this.#clock.monotonic())) break
      this.#rejections.delete(rejected)
      const { request, response, retryAfterSeconds } = rejected
      // The caller may have disconnected meanwhile.
      if (!response.destroyed) this.#reject(request, response, retryAfterSeconds)
    }
    if (this.#rejections.size > 0) this.#pumpNextTurn()
  }
}
