import { type Events, openKeyAbnormal, openRateLimited } from '@plinth/events'
import { type Clock, FailureLog, type Logger } from '@plinth/kernel'
import type { SharedStore } from '@plinth/shared-store'

/** Maximum rate of alerts: one per application and fact in this time, in milliseconds. */
export const alertWindowMs = 60_000

/**
 * Maximum number of facts that an instance caches. Above it, the cache is cleared and the shared store decides again.
 */
const maxKnown = 10_000

interface Application {
  readonly appId: number
  readonly name: string
}

interface AlertParts {
  /** If absent, no alerts are published. */
  readonly events: Pick<Events, 'publish'> | undefined
  readonly store: Pick<SharedStore, 'setIfAbsent'>
  readonly clock: Pick<Clock, 'monotonic'>
  readonly log: Logger
}

/**
 * Publishes alerts about applications as events: one per window for each application and fact, across all instances.
 * This runs after the response. An alert must neither delay a caller nor reveal, by the response time, which
 * applications exist.
 */
export class ApplicationAlerts {
  readonly #parts: AlertParts
  /** End of the window by fact, in monotonic milliseconds. */
  readonly #knownUntil = new Map<string, number>()
  readonly #underWay = new Set<Promise<void>>()
  readonly #failures: FailureLog

  constructor(parts: AlertParts) {
    this.#parts = parts
    this.#failures = new FailureLog(parts.log, {
      failing: 'nobody is told of refused applications, because the store or the outbox fails',
      over: 'operations are told of refused applications again',
    })
  }

  /** The quota of an application is exhausted. @param route pattern of the route */
  rateLimited({ appId, name: appName }: Application, route: string): void {
    this.#tell('rate-limited', appId, (events) => events.publish(openRateLimited, { appId, appName, route }))
  }

  /**
   * The key of an application was used with a wrong secret, or although the application is disabled. @param reason text
   * for operators
   */
  keyAbnormal({ appId, name: appName }: Application, reason: string): void {
    this.#tell('key-abnormal', appId, (events) => events.publish(openKeyAbnormal, { appId, appName, reason }))
  }

  /** Waits for pending alerts. */
  async drain(): Promise<void> {
    await Promise.all(this.#underWay)
  }

  #tell(fact: string, appId: number, publish: (events: Pick<Events, 'publish'>) => Promise<unknown>): void {
    const { events, clock } = this.#parts
    if (events === undefined) return
    const name = `open-platform:alert:${fact}:${appId}`
    const now = clock.monotonic()
    if ((this.#knownUntil.get(name) ?? Number.NEGATIVE_INFINITY) > now) return
    if (this.#knownUntil.size >= maxKnown) this.#knownUntil.clear()
    this.#knownUntil.set(name, now + alertWindowMs)
    const work = this.#publishOnce(name, () => publish(events)).finally(() => this.#underWay.delete(work))
    this.#underWay.add(work)
  }

  async #publishOnce(name: string, publish: () => Promise<unknown>): Promise<void> {
    try {
      if (await this.#parts.store.setIfAbsent(name, '1', alertWindowMs)) await publish()
      this.#failures.succeeded()
    } catch (error) {
      this.#failures.failed(error)
    }
  }
}
