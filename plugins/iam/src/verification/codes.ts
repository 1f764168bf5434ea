import { hash, randomInt } from 'node:crypto'
import { abuseSuspected, type Events } from '@plinth/events'
import { type Clock, errorReason, type Logger, withinDeadline } from '@plinth/kernel'
import type { RateLimiter, RateLimitResult } from '@plinth/rate-limit'
import { callingCodeOf, normalizeEmail, normalizeMobileNumber } from '../accounts/account-names.ts'
import type { CodeStore } from './code-store.ts'
import type {
  SentCode,
  VerificationChannel,
  VerificationCodeSender,
  VerificationCodes,
  VerificationOrigin,
  VerificationSubject,
} from './contract.ts'
import { businessError } from './declarations.ts'
import { type ChannelSettings, dayMs, type Limit, type Settings } from './settings.ts'

interface Recipient {
  readonly address: string
  /** Identifies the recipient. All spellings of one address have the same key, so that they share one limit. */
  readonly key: string
  /** Calling code of a mobile number, such as `86`. */
  readonly callingCode?: string
}

/**
 * Normalises a recipient: mobile numbers to E.164 format, e-mail addresses to lower case.
 *
 * @param country country of mobile numbers without a calling code; empty: these numbers are invalid
 * @throws BusinessError `400` `verification.mobile-invalid`, `verification.email-invalid`
 */
const recipientOf: Readonly<Record<VerificationChannel, (text: string, country: string) => Recipient>> = {
  sms(text, country) {
    const address = normalizeMobileNumber(text, country)
    if (address === undefined) throw businessError('mobile-invalid', { data: { field: 'mobile' } })
    return { address, key: address, callingCode: callingCodeOf(address) ?? 'unknown' }
  },
  email(text) {
    const form = normalizeEmail(text)
    if (form === undefined) throw businessError('email-invalid', { data: { field: 'email' } })
    return { address: form.email, key: form.emailKey }
  },
}

const scenePattern = /^[a-z0-9]+(-[a-z0-9]+)*$/

/** @throws BusinessError `400` `verification.scene-invalid` */
function sceneOf(scene: string): string {
  if (scene.length > 32 || !scenePattern.test(scene)) throw businessError('scene-invalid', { data: { field: 'scene' } })
  return scene
}

/** Time limit for sending one message, in milliseconds. */
const deliveryDeadlineMs = 10_000

/** Fraction of a limit at which operators receive an alert (decision F15). */
const alertShare = 0.8

const sha256 = (text: string) => hash('sha256', text)

interface CodeDependencies {
  readonly store: CodeStore
  readonly limiter: RateLimiter
  readonly senders: Readonly<Record<VerificationChannel, VerificationCodeSender | undefined>>
  readonly settings: Settings
  /** If absent, alerts are only written to the log. */
  readonly events: Pick<Events, 'publish'> | undefined
  readonly clock: Clock
  readonly log: Logger
}

interface Alert {
  readonly area: string
  readonly subject: string
  readonly count: number
  readonly limit: number
}

interface Case {
  readonly settings: ChannelSettings
  readonly recipient: Recipient
  readonly scene: string
  readonly codeKey: string
}

/** Sends and checks codes. Invalid requests are rejected before they count for a limit. */
export class VerificationCodeService implements VerificationCodes {
  readonly #parts: CodeDependencies

  constructor(parts: CodeDependencies) {
    this.#parts = parts
  }

  async send(subject: VerificationSubject, origin: VerificationOrigin): Promise<SentCode> {
    const { store, clock, senders } = this.#parts
    const { channel } = subject
    const { settings, recipient, scene, codeKey } = this.#case(subject)
    const sender = senders[channel]
    if (sender === undefined || sender.isReady?.(channel) === false) throw businessError('sender-missing')
    const { callingCode } = recipient
    if (callingCode !== undefined && settings.callingCodes.length > 0 && !settings.callingCodes.includes(callingCode)) {
      throw businessError('country-not-allowed', { data: { field: 'mobile' } })
    }
    const [perRecipient, , perCountry] = await this.#takeQuota(channel, 'send', settings, recipient, origin.clientIp)
    if (perCountry !== undefined) await this.#alertNearLimit(String(callingCode), perCountry)
    if (settings.alertAfter > 0) await this.#countAll(channel, settings)
    const code = String(randomInt(10 ** settings.codeLength)).padStart(settings.codeLength, '0')
    const { ttlMs, texts } = settings
    const expiresAt = clock.now() + ttlMs
    const makeVoid = await store.put(codeKey, code, ttlMs)
    const { locale, traceId } = origin
    const message = { channel, recipient: recipient.address, code, scene, ttlMs, locale, traceId, ...texts }
    try {
      const late = () => new Error(`no answer within ${deliveryDeadlineMs} ms`)
      await withinDeadline(clock, deliveryDeadlineMs, (signal) => sender.send(message, signal), late)
    } catch (error) {
      await makeVoid()
      // The error of a sender may contain the message with the code.
      const reason = errorReason(error).replaceAll(code, '******')
      this.#parts.log.error({ channel, scene, traceId, reason }, 'a verification code could not be delivered')
      throw businessError('delivery-failed')
    }
    return { expiresAt, resendAfter: this.#waitAfter(perRecipient) }
  }

  async check(
    subject: VerificationSubject,
    code: string,
    { clientIp }: Pick<VerificationOrigin, 'clientIp'>,
  ): Promise<void> {
    const { settings, recipient, codeKey } = this.#case(subject)
    await this.#takeQuota(subject.channel, 'check', settings, recipient, clientIp)
    if (!(await this.#parts.store.use(codeKey, code))) throw businessError('code-invalid', { data: { field: 'code' } })
  }

  #case({ channel, recipient: text, scene }: VerificationSubject): Case {
    const settings = this.#parts.settings[channel]()
    if (!settings.enabled) throw businessError('disabled')
    const recipient = recipientOf[channel](text, settings.defaultCountry)
    const checked = sceneOf(scene ?? settings.defaultScene)
    const codeKey = `${settings.keyPrefix}:code:${checked}:${sha256(recipient.key)}`
    return { settings, recipient, scene: checked, codeKey }
  }

  /**
   * Counts the call for the limits of the recipient, the IP address and the calling code. If one limit is reached, the
   * call counts for none. The calling code is only limited while codes may be sent to all countries.
   */
  #takeQuota(
    channel: VerificationChannel,
    operation: 'send' | 'check',
    settings: ChannelSettings,
    { key, callingCode }: Recipient,
    clientIp: string,
  ): Promise<readonly RateLimitResult[]> {
    const limits = settings[operation]
    const request = (dimension: string, hashed: string, limit: Limit) => ({
      key: `${settings.keyPrefix}:${operation}:${dimension}:${hashed}`,
      ...limit,
      failurePolicy: 'closed' as const,
    })
    return this.#parts.limiter.assertAllAllowed([
      request(channel === 'sms' ? 'mobile' : 'email', sha256(key), limits.recipient),
      request('ip', this.#parts.limiter.addressKey(clientIp), limits.ip),
      ...(operation === 'send' && callingCode !== undefined && settings.callingCodes.length === 0
        ? [request('country', callingCode, settings.perCallingCode)]
        : []),
    ])
  }

  /** Publishes one alert when `alertShare` of a limit is used. If publishing fails, the code is sent anyway. */
  async #alertNearLimit(callingCode: string, { limit, remaining }: RateLimitResult): Promise<void> {
    const count = limit - remaining
    if (limit === 0 || count !== Math.ceil(limit * alertShare)) return
    await this.#alert({ area: 'sms-codes', subject: `+${callingCode}`, count, limit })
  }

  /**
   * Counts all codes of a day for each channel. Publishes one alert when `alertAfter` codes are sent. Never rejects a
   * code.
   */
  async #countAll(channel: VerificationChannel, { keyPrefix, alertAfter }: ChannelSettings): Promise<void> {
    const { limiter } = this.#parts
    const key = `${keyPrefix}:send:all`
    const request = { key, maxAttempts: alertAfter, windowMs: dayMs, failurePolicy: 'open' as const }
    const { allowed, remaining, limit } = await limiter.consume(request)
    if (allowed && remaining === 0) await this.#alert({ area: `${channel}-codes`, subject: 'all', count: limit, limit })
  }

  async #alert(alert: Alert): Promise<void> {
    const { events, log } = this.#parts
    log.warn(alert, 'many verification codes were sent today')
    await events
      ?.publish(abuseSuspected, alert)
      .catch((error: unknown) => log.error({ reason: errorReason(error) }, 'an alert could not be published'))
  }

  #waitAfter(result: RateLimitResult | undefined): number {
    if (result === undefined || result.remaining > 0) return 0
    return Math.max(0, Math.ceil((result.resetAt - this.#parts.clock.now()) / 1000))
  }
}
