import type { Clock } from '@plinth/kernel'

/** Milliseconds of one turn of the event loop in which requests may begin. */
const turnMs = 20
/** Milliseconds of one turn in which requests may be refused, from the first one on. */
const refusingMs = 2
/** Milliseconds of a turn after which others may wait to be accepted. */
const longTurnMs = 5
/** Milliseconds for which connections are accepted and nothing is begun, at most. */
const acceptingMs = 1_000
/** Turns without a connection that say that none waits. */
const quietTurns = 2

/**
 * Shares the event loop between requests that are worked on and connections that wait in the queue of the system, where
 * nobody sees them. Node.js accepts one connection in a turn: after a long turn nothing is begun until all are accepted,
 * because each turn that works would keep all of them waiting once more. Their callers then wait where the wait is bounded,
 * and a probe among them is answered.
 */
export class LoopShare {
  readonly #clock: Clock
  /** When this turn began its first request. */
  #turnBegan: number | undefined
  /** When this turn refused its first request. */
  #refusingBegan: number | undefined
  #turnsWithoutConnection = quietTurns
  #acceptingSince: number | undefined
  /** Until then connections wait. */
  #workUntil = 0
  #acceptedForMs = 0
  #isTurnWatched = false
  /** One for all turns: nothing is made for a turn. */
  readonly #turnEnds = () => {
    this.#isTurnWatched = false
    this.#endTurn(this.#clock.monotonic())
  }

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** A connection was accepted in this turn. */
  connectionCame(): void {
    this.#turnsWithoutConnection = 0
    this.#watchTurn()
  }

  /** Whether a request may begin in this turn. */
  hasTime(now: number): boolean {
    if (this.#acceptingSince !== undefined) return false
    this.#turnBegan ??= now
    this.#watchTurn()
    return now - this.#turnBegan < turnMs
  }

  /** Whether a request may be refused in this turn. */
  hasTimeToRefuse(now: number): boolean {
    if (this.#acceptingSince !== undefined) return false
    this.#refusingBegan ??= now
    this.#watchTurn()
    return now - this.#refusingBegan < refusingMs
  }

  /** The time without what connections were accepted in: nobody's wait for a place is longer for it. */
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
    this.#refusingBegan = undefined
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
