import { hash } from 'node:crypto'
import type { ConfigView } from '@plinth/kernel'
import type { Mail } from '@plinth/mail'
import type { ConsumeRequest, RateLimiter } from '@plinth/rate-limit'
import type { Site } from '@plinth/site'
import { foldIdentifier } from '../accounts/account-names.ts'
import type { keys } from './config.ts'
import { businessError } from './declarations.ts'
import type { RecoveryPurpose } from './entities.ts'

type Config = ConfigView<typeof keys>

const root = 'platform.iam.recovery'
const hourMs = 3_600_000

/** Lifetime of the links that change an e-mail address, or undo the change: one hour. */
const emailLifetimeMs = hourMs

/** Says whether the function can be used, and where its links lead. */
export class RecoverySettings {
  readonly #config: Config
  readonly #site: Site
  readonly #mail: Pick<Mail, 'isReady'>

  constructor(config: Config, site: Site, mail: Pick<Mail, 'isReady'>) {
    this.#config = config
    this.#site = site
    this.#mail = mail
  }

  /** True if links can be sent. */
  get isAvailable(): boolean {
    return this.#config.get(`${root}.enabled`) && this.#site.url !== '' && this.#mail.isReady
  }

  /** @throws BusinessError "503" `recovery.unavailable` if links cannot be sent */
  assertAvailable(): void {
    if (!this.isAvailable) throw businessError('unavailable')
  }

  /** @throws BusinessError "503" `recovery.unavailable` if the function is turned off */
  assertEnabled(): void {
    if (!this.#config.get(`${root}.enabled`)) throw businessError('unavailable')
  }

  /** Returns the lifetime of a link in milliseconds. */
  lifetimeOf(purpose: RecoveryPurpose): number {
    if (purpose === 'reset') return this.#config.get(`${root}.token-lifetime`)
    return purpose === 'invitation' ? this.#config.get(`${root}.invitation-lifetime`) : emailLifetimeMs
  }

  /**
   * Returns the link for a mail. Its host comes from the configuration, never from a request. The token is in the
   * fragment, which browsers send to no server and no other page.
   */
  linkOf(purpose: RecoveryPurpose, token: string): string {
    return `${this.#site.url}${this.#config.get(`${root}.page`)}#for=${purpose}&token=${token}`
  }
}

/** Limits of requests. If the rate limiter fails, requests are rejected. */
export class RecoveryLimits {
  readonly #limiter: RateLimiter
  readonly #config: Config

  constructor(limiter: RateLimiter, config: Config) {
    this.#limiter = limiter
    this.#config = config
  }

  /**
   * Counts a request for a link, for the network and for the requested name from this network. A stranger on another
   * network therefore cannot use up the limit of the owner. The account is not looked up, so that the limit does not
   * reveal which names belong to one account.
   *
   * @throws BusinessError "429" `rate-limit.exceeded`, "503" `rate-limit.store-unavailable`
   */
  async takeRequest(identifier: string, clientIp: string): Promise<void> {
    const network = this.#limiter.addressKey(clientIp)
    const name = hash('sha256', JSON.stringify([foldIdentifier(identifier), network]))
    await this.#limiter.assertAllAllowed([this.#perNetwork('request', network), this.#perName(name)])
  }

  /** Counts the use of a link. Throws the errors of `takeRequest`. */
  async takeUse(clientIp: string): Promise<void> {
    await this.#limiter.assertAllAllowed([this.#perNetwork('use', this.#limiter.addressKey(clientIp))])
  }

  /** Counts a mail that a signed-in user causes to another address. Throws the errors of `takeRequest`. */
  async takeOwnMail(userId: number): Promise<void> {
    await this.#limiter.assertAllAllowed([this.#perAccount('own', userId)])
  }

  /** Counts a mail that anybody may have requested. Returns false if the account got enough mails within the hour. */
  async takeMail(userId: number): Promise<boolean> {
    return (await this.#limiter.consume(this.#perAccount('mail', userId))).allowed
  }

  #perNetwork(kind: string, network: string): ConsumeRequest {
    return {
      key: `iam:recovery:${kind}:ip:${network}`,
      maxAttempts: this.#config.get(`${root}.ip-max-attempts`),
      windowMs: this.#config.get(`${root}.ip-window`),
      failurePolicy: 'closed',
    }
  }

  #perName(name: string): ConsumeRequest {
    return {
      key: `iam:recovery:request:name:${name}`,
      maxAttempts: this.#config.get(`${root}.identifier-max-attempts`),
      windowMs: this.#config.get(`${root}.identifier-window`),
      failurePolicy: 'closed',
    }
  }

  #perAccount(kind: string, userId: number): ConsumeRequest {
    return {
      key: `iam:recovery:${kind}:user:${userId}`,
      maxAttempts: this.#config.get(`${root}.account-max-mails`),
      windowMs: hourMs,
      failurePolicy: 'closed',
    }
  }
}
