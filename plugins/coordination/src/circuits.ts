import type { Clock } from '@plinth/kernel'

/** Failures that take at least this many milliseconds count. Quick failures cost nothing. */
const slowMs = 2_000
/** Number of slow failures in a row after which a server rests. */
const maxSlowFailures = 3
/** Milliseconds for which a server rests. After that, one call tries it again. */
const restMs = 30_000
/** Maximum number of servers with failures. Callers may specify servers, so the number must be limited. */
const maxServers = 1_000

interface Circuit {
  slowFailures: number
  /** Monotonic time in milliseconds. */
  restsUntil: number
}

/**
 * Circuit breakers of other servers, in this process. A server that did not respond several times in a row rests, so that
 * each further call does not wait for its deadline.
 */
export class Circuits {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #byServer = new Map<string | number, Circuit>()

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
  }

  /** Returns for how many milliseconds the server rests. After a rest, 0 is returned to one caller only. */
  restMs(server: string | number): number {
    const circuit = this.#byServer.get(server)
    if (circuit === undefined || circuit.slowFailures < maxSlowFailures) return 0
    const now = this.#clock.monotonic()
    if (circuit.restsUntil > now) return circuit.restsUntil - now
    // Other calls wait for the result of this attempt.
    circuit.restsUntil = now + restMs
    return 0
  }

  /** True if the last call to the server was a slow failure. */
  isSuspect(server: string | number): boolean {
    return this.#byServer.has(server)
  }

  /** Records a call to which the server responded. */
  responded(server: string | number): void {
    this.#byServer.delete(server)
  }

  /** Records a call without a response. @param tookMs duration of the call in milliseconds */
  failed(server: string | number, tookMs: number): void {
    if (tookMs < slowMs) return
    const circuit = this.#byServer.get(server) ?? { slowFailures: 0, restsUntil: 0 }
    circuit.slowFailures += 1
    circuit.restsUntil = this.#clock.monotonic() + restMs
    this.#byServer.delete(server)
    this.#byServer.set(server, circuit)
    for (const [oldest] of this.#byServer) {
      if (this.#byServer.size <= maxServers) break
      this.#byServer.delete(oldest)
    }
  }
}
