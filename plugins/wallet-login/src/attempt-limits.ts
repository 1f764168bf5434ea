import { hash } from 'node:crypto'
import { abuseSuspected, type Events } from '@plinth/events'
import type { LoginGuard } from '@plinth/iam'
import { type Clock, type Logger, RepeatedFailureLog } from '@plinth/kernel'
import type { ConsumeRequest, RateLimiter } from '@plinth/rate-limit'
import type { SharedStore } from '@plinth/shared-store'
import type { WalletLoginConfig } from './config.ts'

const area = 'wallet-login'

interface UnusualDependencies {
  /** Undefined in a product without the plugin `events`. Alerts are then only logged. */
  readonly events: Pick<Events, 'publish'> | undefined
  readonly store: Pick<SharedStore, 'setIfAbsent'>
  readonly clock: Pick<Clock, 'monotonic'>
  readonly log: Logger
}

interface Measure {
  /** The limit that was exceeded. */
  readonly attempts: number
  readonly windowMs: number
}

/**
 * Alerts operators if the attempts from all network addresses together exceed a limit. All instances together send one
 * alert per window. The response does not wait for it.
 */
export class UnusualAttemptAlerts {
  readonly #parts: UnusualDependencies
  /** For each step: monotonic time in milliseconds until which no other alert is sent. */
  readonly #quietUntil = new Map<LimitedStep, number>()
  readonly #underWay = new Set<Promise<void>>()
  readonly #failures: RepeatedFailureLog

  constructor(parts: UnusualDependencies) {
    this.#parts = parts
    this.#failures = new RepeatedFailureLog(parts.log, {
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

  /** Waits until all alerts are sent. */
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

/** Name of this login method in the audit and for login guards. */
export const loginMethod = 'wallet'
/** Name of a later proof by the wallet, in the audit and for login guards. */
export const proofAttempt = 'wallet-proof'
const limitedMethods: ReadonlySet<string> = new Set([loginMethod, proofAttempt])

/** Calls that are limited. */
type LimitedStep = 'challenge' | 'login'

interface LimitDependencies {
  readonly limiter: Pick<RateLimiter, 'assertAllAllowed' | 'addressKey' | 'reset'>
  readonly config: WalletLoginConfig
  readonly unusual: Pick<UnusualAttemptAlerts, 'noticed'>
}

interface Attempt {
  readonly identifier: string
  readonly clientIp: string
}

const root = 'platform.wallet-login.rate-limit'

/**
 * Limits of wallet logins. Anyone can use any wallet address, so a limit by wallet alone would let a stranger lock out
 * the owner. Challenges and logins are limited per network address. Failed logins are limited per network address and
 * wallet together. Too many attempts in total only raise an alert. If the limiter fails, attempts are rejected, because
 * each one costs computing time or an entry in the shared store.
 */
export class AttemptLimits {
  readonly #parts: LimitDependencies

  constructor(parts: LimitDependencies) {
    this.#parts = parts
  }

  /**
   * Guard for logins. It counts each login as failed before the login is checked. A successful login resets the count.
   */
  get guard(): LoginGuard {
    return {
      beforeAttempt: async (attempt) => {
        if (limitedMethods.has(attempt.method))
          await this.#assertAllowed('login', attempt.clientIp, [this.#failedLogins(attempt)])
      },
      afterAttempt: async (attempt, { success }) => {
        if (!limitedMethods.has(attempt.method) || !success) return
        // The login has already succeeded. If this reset fails, the count still expires at the end of its window.
        await this.#parts.limiter.reset(this.#failedLogins(attempt)).catch(() => undefined)
      },
    }
  }

  /** @throws BusinessError "429" `rate-limit.exceeded`; "503" `rate-limit.store-unavailable` */
  assertChallengeAllowed(clientIp: string): Promise<void> {
    return this.#assertAllowed('challenge', clientIp, [])
  }

  async #assertAllowed(step: LimitedStep, clientIp: string, limits: readonly ConsumeRequest[]): Promise<void> {
    const { limiter, config, unusual } = this.#parts
    const window = { windowMs: config.get(`${root}.ip-window`), failurePolicy: 'closed' as const }
    const ofNetwork = {
      key: `wallet-login:${step}:ip:${limiter.addressKey(clientIp)}`,
      ...window,
      maxAttempts: config.get(`${root}.ip-max-attempts`),
    }
    const alertAttempts = config.get(`${root}.alert-attempts`)
    const ofAll = { key: `wallet-login:${step}:all`, ...window, maxAttempts: alertAttempts, shadow: true }
    const results = await limiter.assertAllAllowed([...limits, ofNetwork, ofAll])
    if (results.at(-1)?.shadowed) unusual.noticed(step, { attempts: alertAttempts, windowMs: window.windowMs })
  }

  #failedLogins({ identifier, clientIp }: Attempt): ConsumeRequest {
    const { limiter, config } = this.#parts
    const wallet = hash('sha256', identifier.toLowerCase())
    return {
      key: `wallet-login:failed:${limiter.addressKey(clientIp)}:${wallet}`,
      maxAttempts: config.get(`${root}.address-max-attempts`),
      windowMs: config.get(`${root}.address-window`),
      failurePolicy: 'closed',
    }
  }
}
