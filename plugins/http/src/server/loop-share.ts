import type { Clock } from '@plinth/kernel'

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
