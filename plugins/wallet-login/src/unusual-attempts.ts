import { abuseSuspected, type Events } from '@plinth/events'
import { type Clock, FailureLog, type Logger } from '@plinth/kernel'
import type { SharedStore } from '@plinth/shared-store'
import type { LimitedStep } from './attempt-limits.ts'

const area = 'wallet-login'

interface UnusualParts {
  /** Absent in a product without events. The alert is then only logged. */
  readonly events: Pick<Events, 'publish'> | undefined
  readonly store: Pick<SharedStore, 'setIfAbsent'>
  readonly clock: Pick<Clock, 'monotonic'>
  readonly log: Logger
}

interface Measure {
  /** The exceeded limit. */
  readonly attempts: number
  readonly windowMs: number
}

/**
 * Alerts operators if all networks together make too many attempts. It alerts once per window across all instances,
 * without delaying the response.
 */
export class UnusualAttempts {
  readonly #parts: UnusualParts
  /** Monotonic time until which no further alert is sent for a step, in milliseconds. */
  readonly #quietUntil = new Map<LimitedStep, number>()
  readonly #underWay = new Set<Promise<void>>()
  readonly #failures: FailureLog

  constructor(parts: UnusualParts) {
    this.#parts = parts
    this.#failures = new FailureLog(parts.log, {
      failing: 'operators are not alerted of unusual wallet logins, because the store or the outbox fails',
      over: 'operators are alerted of unusual wallet logins again',
    })
  }

  noticed(step: LimitedStep, measure: Measure): void {
    const now = this.#parts.clock.monotonic()
    if ((this.#quietUntil.get(step) ?? Number.NEGATIVE_INFINITY) > now) return
    this.#quietUntil.set(step, now + measure.windowMs)
    const work = this.#alertOnce(step, measure).finally(() => this.#underWay.delete(work))
    this.#underWay.add(work)
  }

  /** Waits for running alerts. */
  async drain(): Promise<void> {
    await Promise.all(this.#underWay)
  }

  async #alertOnce(step: LimitedStep, { attempts, windowMs }: Measure): Promise<void> {
    const { events, store, log } = this.#parts
    try {
      if (await store.setIfAbsent(`wallet-login:alert:${step}`, '1', windowMs)) {
        const windowSeconds = Math.ceil(windowMs / 1000)
        log.warn({ step, attempts, windowSeconds }, 'unusually many wallet logins are being attempted')
        await events?.publish(abuseSuspected, { area, subject: step, count: attempts + 1, limit: attempts })
      }
      this.#failures.succeeded()
    } catch (error) {
      this.#failures.failed(error)
    }
  }
}
