import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock, Logger } from '@plinth/kernel'
import { LoopShare } from './loop-share.ts'

declare module 'node:http' {
  interface IncomingMessage {
    /** Monotonic milliseconds of its arrival; absent for one that passed no valve. */
    arrivedAt?: number
    /** Whether it takes a place of the overload valve. */
    isInWork?: boolean
  }
}

export interface OverloadBounds {
  /** Requests that are worked on at a time. */
  readonly maxRequests: number
  /** Requests that may wait for a place. */
  readonly maxWaiting: number
  /** Milliseconds that one may wait. */
  readonly maxWaitMs: number
}

interface Waiting {
  readonly response: ServerResponse
  /** In the working time of the event loop. */
  readonly since: number
}

type Serve = (request: IncomingMessage, response: ServerResponse) => void
type Refuse = (request: IncomingMessage, response: ServerResponse, retryAfterSeconds: number) => void

/** One that is refused when the event loop has time for it. */
interface Refused {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly retryAfterSeconds: number
}

/** A caller who is told to come back much later does not come back, and not all who were refused do. */
const longestRetryAfterMs = 30_000
/** How much the last request says about the pace of all. */
const paceWeight = 1 / 16
/** Requests among which a time must have been seen before to count in full. */
const recentTimes = 16
/** Of the longest wait: where those who wait will have begun within it, they are served, also after a standstill. */
const shortQueue = 1 / 4

/**
 * Lets in what can be worked on, lets a bounded number wait for a bounded time, and refuses the rest at once. A caller who
 * gets an answer then gets it soon, whatever comes at once.
 *
 * What waits is begun one after the other: a handler that never leaves the event loop, as with SQLite, then ends before the
 * next one begins, and many such handlers do not make one endless turn of the loop together. The same holds for refusals:
 * thousands that arrive in one turn are answered over several, and who is let in or asks for liveness comes between.
 */
export class OverloadValve {
  readonly #bounds: OverloadBounds
  readonly #clock: Clock
  readonly #log: Logger
  readonly #serve: Serve
  readonly #refuse: Refuse
  readonly #loop: LoopShare
  readonly #waiting = new Map<IncomingMessage, Waiting>()
  /** No more than connections and what each may ask ahead. */
  readonly #refusals = new Set<Refused>()
  #inWork = 0
  /** Milliseconds from one begin to the next while others wait, whatever they wait for: a place, or the event loop. */
  #pace = 0
  /** Since when the next one could have begun: the last begin, or the first wait after it. */
  #paceSince = 0
  /** The last times from one begin to the next, in milliseconds. */
  readonly #recentMs: number[] = []
  /** When all are served who wait or were refused, should all of those come again. */
  #freeAt = 0
  #isPumpDue = false
  #isTimed = false
  #refused = 0

  /**
   * @param serve begins a request that has a place
   * @param refuse answers one that gets none; it must be cheap, because what it costs is lost for the others
   */
  constructor(parts: {
    readonly bounds: OverloadBounds
    readonly clock: Clock
    readonly log: Logger
    readonly serve: Serve
    readonly refuse: Refuse
  }) {
    this.#bounds = parts.bounds
    this.#clock = parts.clock
    this.#log = parts.log
    this.#serve = parts.serve
    this.#refuse = parts.refuse
    this.#loop = new LoopShare(parts.clock)
  }

  /** A connection was accepted. */
  connectionCame(): void {
    this.#loop.connectionCame()
  }

  /** Serves the request when there is a place, at once or after a wait, or refuses it. `gone` must tell its end. */
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

  /** The answer is made: sending it takes no place, however slowly it is read. */
  leave(request: IncomingMessage): void {
    if (request.isInWork !== true) return
    request.isInWork = false
    this.#inWork--
    // Not within the answer that is being made.
    if (this.#waiting.size > 0) process.nextTick(() => this.#pump())
  }

  /** The response is over: a caller that goes away gives its place back, and so does an answer that no hook sees. */
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
      this.#refuseSome()
    })
  }

  /** Refuses who has waited too long, and begins the next one. */
  #pump(): void {
    for (const [request, { response, since }] of this.#waiting) {
      const now = this.#clock.monotonic()
      const leftMs = this.#bounds.maxWaitMs - (this.#loop.workingTime(now) - since)
      const hasPlace = this.#inWork < this.#bounds.maxRequests
      // After a standstill of the process all have waited long, and yet nobody needs to be refused.
      const isShort = this.#waiting.size * this.#pace < this.#bounds.maxWaitMs * shortQueue
      const isLate = leftMs <= 0 && !(hasPlace && isShort)
      if (!isLate && !hasPlace) {
        this.#pumpAfter(leftMs)
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
    else if (this.#refused > 0 && this.#refusals.size === 0) {
      this.#log.info({ refused: this.#refused }, 'no longer overloaded')
      this.#refused = 0
    }
  }

  /**
   * One long standstill is not the pace of all: a process that got no CPU for a while must not refuse whom it could serve at
   * once. What is longer than all of late counts as the longest of them, and in full when it comes again.
   */
  #notePace(now: number): void {
    const ms = Math.min(now - this.#paceSince, this.#bounds.maxWaitMs)
    const usualMs = Math.min(ms, Math.max(0, ...this.#recentMs))
    this.#pace += (usualMs - this.#pace) * paceWeight
    this.#recentMs.push(ms)
    if (this.#recentMs.length > recentTimes) this.#recentMs.shift()
    this.#paceSince = now
  }

  /** Looks again when the oldest has waited long enough. */
  #pumpAfter(ms: number): void {
    if (this.#isTimed) return
    this.#isTimed = true
    // Who waits has a connection, which keeps the process; when they are gone, nothing else does.
    this.#clock.sleep(ms, undefined, { keepsAlive: false }).then(() => {
      this.#isTimed = false
      this.#pump()
    })
  }

  /** Tells each when its turn would come, so that those who are refused together do not come again together. */
  #turnAway(request: IncomingMessage, response: ServerResponse, now: number): void {
    if (this.#refused++ === 0) {
      this.#log.warn({ inWork: this.#inWork, waiting: this.#waiting.size }, 'overloaded: requests are refused')
    }
    const freeAt = Math.max(this.#freeAt, now + this.#waiting.size * this.#pace) + this.#pace
    this.#freeAt = Math.min(freeAt, now + longestRetryAfterMs)
    const retryAfterSeconds = Math.max(1, Math.ceil((this.#freeAt - now) / 1000))
    if (this.#refusals.size === 0 && this.#loop.hasTimeToRefuse(now)) this.#refuse(request, response, retryAfterSeconds)
    else {
      this.#refusals.add({ request, response, retryAfterSeconds })
      this.#pumpNextTurn()
    }
  }

  /** Answers who could not be refused in the turn of their arrival, as long as this turn has time. */
  #refuseSome(): void {
    for (const refused of this.#refusals) {
      if (!this.#loop.hasTimeToRefuse(this.#clock.monotonic())) break
      this.#refusals.delete(refused)
      const { request, response, retryAfterSeconds } = refused
      // Its caller went away meanwhile.
      if (!response.destroyed) this.#refuse(request, response, retryAfterSeconds)
    }
    if (this.#refusals.size > 0) this.#pumpNextTurn()
  }
}
