import { type Events, openKeyAbnormal, openRateLimited } from '@plinth/events'
import { type Clock, type Logger, RepeatedFailureLog } from '@plinth/kernel'
import type { SharedStore } from '@plinth/shared-store'
import { LRUCache } from 'lru-cache'

/** Each application gets at most one alert of each kind in this time in milliseconds. */
export const alertWindowMs = 60_000

/**
 * Maximum number of alerts in the cache of an instance. For alerts that the cache drops, the shared store decides again
 * whether they may be published.
 */
const maxKnown = 10_000

interface Application {
  readonly appId: number
  readonly name: string
}

interface AlertDependencies {
  /** If absent, no alerts are published. */
  readonly events: Pick<Events, 'publish'> | undefined
  readonly store: Pick<SharedStore, 'setIfAbsent'>
  readonly clock: Pick<Clock, 'monotonic'>
  readonly log: Logger
}

/**
 * Publishes alerts about applications as events, at most one per window for each application and kind on all instances
 * together. Runs after the response, so that an alert does not delay the caller. Otherwise the response time would also
 * reveal which applications exist.
 */
export class ApplicationAlerts {
  readonly #parts: AlertDependencies
  /** Monotonic time in milliseconds at which the window of each alert ends. */
  readonly #knownUntil = new LRUCache<string, number>({ max: maxKnown })
  readonly #underWay = new Set<Promise<void>>()
  readonly #failures: RepeatedFailureLog

  constructor(parts: AlertDependencies) {
    this.#parts = parts
    this.#failures = new RepeatedFailureLog(parts.log, {
      failing: 'nobody is told of refused applications, because the store or the outbox fails',
      over: 'operations are told of refused applications again',
    })
  }

  /**
   * Reports that the quota of an application is used up.
   *
   * @param route pattern of the route
   */
  rateLimited({ appId, name: appName }: Application, route: string): void {
    this.#tell('rate-limited', appId, (events) => events.publish(openRateLimited, { appId, appName, route }))
  }

  /**
   * Reports that the key of an application was used with a wrong secret, or although the application is disabled.
   *
   * @param reason text for operators
   */
  keyAbnormal({ appId, name: appName }: Application, reason: string): void {
    this.#tell('key-abnormal', appId, (events) => events.publish(openKeyAbnormal, { appId, appName, reason }))
  }

  async drain(): Promise<void> {
    await Promise.all(this.#underWay)
  }

  #tell(fact: string, appId: number, publish: (events: Pick<Events, 'publish'>) => Promise<unknown>): void {
    const { events, clock } = this.#parts
    if (events === undefined) return
    const name = `open-platform:alert:${fact}:${appId}`
    const now = clock.monotonic()
    if ((this.#knownUntil.get(name) ?? Number.NEGATIVE_INFINITY) > now) return
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
