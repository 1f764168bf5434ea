import type { Clock, Logger } from '@plinth/kernel'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { TransportFault } from './failure.ts'

declare module 'fastify' {
  interface FastifyRequest {
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

/**
 * Milliseconds of one turn of the event loop in which requests may begin. What answers without leaving the loop, as SQLite
 * does, would otherwise be worked through in a single turn, probes behind everything that came before them.
 */
const turnMs = 20

/** One for all: a stack for each would cost more than the refusal. */
const overloaded = new TransportFault('overloaded')

interface Waiting {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly proceed: (fault?: Error) => void
}

/**
 * Lets in what can be worked on, lets a bounded number wait for a bounded time, and refuses the rest at once (503 with
 * `Retry-After`). A caller who gets an answer then gets it soon, whatever comes at once.
 */
export class OverloadValve {
  readonly #bounds: OverloadBounds
  readonly #clock: Clock
  readonly #log: Logger
  readonly #waiting = new Set<Waiting>()
  #inWork = 0
  /** When this turn let in its first request. */
  #turnBegan: number | undefined
  #isPumpDue = false
  #isTimed = false
  #refused = 0

  constructor(bounds: OverloadBounds, clock: Clock, log: Logger) {
    this.#bounds = bounds
    this.#clock = clock
    this.#log = log
  }

  /** Calls `proceed` when there is a place, or with the reason to refuse the request. */
  enter(request: FastifyRequest, reply: FastifyReply, proceed: (fault?: Error) => void): void {
    const { maxRequests, maxWaiting } = this.#bounds
    if (this.#waiting.size === 0 && this.#inWork < maxRequests && this.#hasTurn(request.startedAt)) {
      this.#begin({ request, reply, proceed })
    } else if (this.#waiting.size < maxWaiting) {
      const waiting = { request, reply, proceed }
      this.#waiting.add(waiting)
      reply.raw.once('close', () => this.#waiting.delete(waiting))
      this.#pumpSoon()
    } else this.#refuse(proceed)
  }

  /** The answer is made: sending it takes no place, however slowly it is read. */
  leave(request: FastifyRequest): void {
    if (!request.isInWork) return
    request.isInWork = false
    this.#inWork--
    if (this.#waiting.size > 0) this.#pumpSoon()
  }

  #begin({ request, reply, proceed }: Waiting): void {
    this.#inWork++
    request.isInWork = true
    // A caller that goes away gives its place back, and so does an answer that no hook sees.
    reply.raw.once('close', () => this.leave(request))
    proceed()
  }

  #hasTurn(now: number): boolean {
    if (this.#turnBegan === undefined) {
      this.#turnBegan = now
      setImmediate(() => {
        this.#turnBegan = undefined
      })
    }
    return now - this.#turnBegan < turnMs
  }

  #pumpSoon(): void {
    if (this.#isPumpDue) return
    this.#isPumpDue = true
    setImmediate(() => {
      this.#isPumpDue = false
      this.#pump()
    })
  }

  #pump(): void {
    for (const next of this.#waiting) {
      const now = this.#clock.monotonic()
      const isLate = now - next.request.startedAt >= this.#bounds.maxWaitMs
      if (!isLate && this.#inWork >= this.#bounds.maxRequests) {
        this.#pumpAfter(next.request.startedAt + this.#bounds.maxWaitMs - now)
        return
      }
      if (!isLate && !this.#hasTurn(now)) {
        this.#pumpSoon()
        return
      }
      this.#waiting.delete(next)
      if (isLate) this.#refuse(next.proceed)
      else this.#begin(next)
    }
    if (this.#refused > 0) this.#log.info({ refused: this.#refused }, 'no longer overloaded')
    this.#refused = 0
  }

  /** Looks again when the oldest has waited long enough. */
  #pumpAfter(ms: number): void {
    if (this.#isTimed) return
    this.#isTimed = true
    this.#clock.sleep(ms).then(() => {
      this.#isTimed = false
      this.#pump()
    })
  }

  #refuse(proceed: Waiting['proceed']): void {
    if (this.#refused++ === 0) {
      this.#log.warn({ inWork: this.#inWork, waiting: this.#waiting.size }, 'overloaded: requests are refused')
    }
    proceed(overloaded)
  }
}
