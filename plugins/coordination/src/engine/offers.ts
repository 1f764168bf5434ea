import type { Clock } from '@plinth/kernel'

/** A turn that was not checked for this time in milliseconds is removed. */
const forgetMs = 600_000

interface Offer {
  readonly madeAt: number
  askedAt: number
  isUnderWay: boolean
}

/**
 * Stores when each turn (one due run) was first offered to the queue, and which offers still wait for a response of the
 * queue.
 */
export class QueueOfferLog {
  readonly #clock: Clock
  readonly #patienceMs: number
  /** Offers by turn, in the order of their last check, oldest first. */
  readonly #byTurn = new Map<string, Offer>()

  /** @param patienceMs time in milliseconds after which an offered turn that has not begun is overdue */
  constructor(clock: Clock, patienceMs: number) {
    this.#clock = clock
    this.#patienceMs = patienceMs
  }

  /** True if the turn was offered so long ago that an instance should have begun it. */
  isOverdue(turn: string): boolean {
    const now = this.#clock.monotonic()
    this.#forget(now)
    const offer = this.#byTurn.get(turn)
    if (offer === undefined) return false
    this.#byTurn.delete(turn)
    this.#byTurn.set(turn, offer)
    offer.askedAt = now
    return now - offer.madeAt >= this.#patienceMs
  }

  isUnderWay(turn: string): boolean {
    return this.#byTurn.get(turn)?.isUnderWay ?? false
  }

  /** @param response settles when the queue has accepted or rejected the offer; never rejects */
  made(turn: string, response: Promise<void>): void {
    const now = this.#clock.monotonic()
    const offer = this.#byTurn.get(turn) ?? { madeAt: now, askedAt: now, isUnderWay: true }
    offer.isUnderWay = true
    this.#byTurn.set(turn, offer)
    void response.then(() => {
      offer.isUnderWay = false
    })
  }

  #forget(now: number): void {
    for (const [turn, { askedAt }] of this.#byTurn) {
      if (now - askedAt < forgetMs) return
      this.#byTurn.delete(turn)
    }
  }
}
