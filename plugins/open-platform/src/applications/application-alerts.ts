import { type Events, openKeyAbnormal, openRateLimited } from '@plinth/events'
import { type Clock, FailureLog, type Logger } from '@plinth/kernel'
import type { SharedStore } from '@plinth/shared-store'

/** An application is told of once in such a time, whatever happens to it and however often. Milliseconds. */
export const alertWindowMs = 60_000

/** Facts of one instance whose window has not ended, at most; more are forgotten and asked of the shared store again. */
const mostKnown = 10_000

interface Application {
  readonly appId: number
  readonly name: string
}

interface AlertParts {
  /** Absent where the product has none: nobody is told. */
  readonly events: Pick<Events, 'publish'> | undefined
  readonly store: Pick<SharedStore, 'setIfAbsent'>
  readonly clock: Pick<Clock, 'monotonic'>
  readonly log: Logger
}

/**
 * Tells operations, by neutral events, what goes wrong with applications: once per window for each application and fact, over all
 * instances. It happens after the answer and beside it: what is told must neither cost a caller time nor say to one, by
 * that time, which applications exist.
 */
export class ApplicationAlerts {
  readonly #parts: AlertParts
  /** End of the window by fact, monotonic milliseconds. */
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

  /** The quota of an application is used up. @param route pattern of the route */
  rateLimited({ appId, name: appName }: Application, route: string): void {
    this.#tell('rate-limited', appId, (events) => events.publish(openRateLimited, { appId, appName, route }))
  }

  /** A key of an application is used by who does not know its secret, or may not use it any more. @param reason for operators */
  keyAbnormal({ appId, name: appName }: Application, reason: string): void {
    this.#tell('key-abnormal', appId, (events) => events.publish(openKeyAbnormal, { appId, appName, reason }))
  }

  /** Waits for what is being told. */
  async drain(): Promise<void> {
    await Promise.all(this.#underWay)
  }

  #tell(fact: string, appId: number, publish: (events: Pick<Events, 'publish'>) => Promise<unknown>): void {
    const { events, clock } = this.#parts
    if (events === undefined) return
    const name = `open-platform:alert:${fact}:${appId}`
    const now = clock.monotonic()
    if ((this.#knownUntil.get(name) ?? Number.NEGATIVE_INFINITY) > now) return
    if (this.#knownUntil.size >= mostKnown) this.#knownUntil.clear()
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
