import { hash, randomInt } from 'node:crypto'
import { type Clock, type Logger, reasonOf, withinDeadline } from '@plinth/kernel'
import type { RateLimiter, RateLimitResult } from '@plinth/rate-limit'
import type { CodeStore } from './code-store.ts'
import type {
  SentCode,
  VerificationChannel,
  VerificationCodeSender,
  VerificationCodes,
  VerificationOrigin,
  VerificationSubject,
} from './contract.ts'
import { refusal } from './failures.ts'
import { type Recipient, recipientOf, sceneOf } from './recipients.ts'
import type { ChannelSettings, Limit, Settings } from './settings.ts'

/** Milliseconds that a sender may take. */
const deliveryDeadlineMs = 10_000

const sha256 = (text: string) => hash('sha256', text)

export interface CodeParts {
  readonly store: CodeStore
  readonly limiter: RateLimiter
  readonly senders: Readonly<Record<VerificationChannel, VerificationCodeSender | undefined>>
  readonly settings: Settings
  readonly clock: Clock
  readonly log: Logger
}

/** A request whose input is sound. */
interface Case {
  readonly settings: ChannelSettings
  readonly recipient: Recipient
  readonly scene: string
  /** Where the code is stored. */
  readonly codeKey: string
}

/** Sends and checks codes. What is wrong with a request is found before it costs quota. */
export class Codes implements VerificationCodes {
  readonly #parts: CodeParts

  constructor(parts: CodeParts) {
    this.#parts = parts
  }

  async send(subject: VerificationSubject, origin: VerificationOrigin): Promise<SentCode> {
    const { store, clock, senders } = this.#parts
    const { channel } = subject
    const { settings, recipient, scene, codeKey } = this.#case(subject)
    const sender = senders[channel]
    if (sender === undefined || sender.isReady?.(channel) === false) throw refusal('sender-missing')
    const [perRecipient] = await this.#takeQuota(channel, 'send', settings, recipient, origin.clientIp)
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
      // An error of a sender may repeat what it was to send.
      const reason = reasonOf(error).replaceAll(code, '******')
      this.#parts.log.error({ channel, scene, traceId, reason }, 'a verification code could not be delivered')
      throw refusal('delivery-failed')
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
    if (!(await this.#parts.store.use(codeKey, code))) throw refusal('code-invalid', { data: { field: 'code' } })
  }

  #case({ channel, recipient: text, scene }: VerificationSubject): Case {
    const settings = this.#parts.settings[channel]()
    if (!settings.enabled) throw refusal('disabled')
    const recipient = recipientOf[channel](text, settings.defaultCountry)
    const checked = sceneOf(scene ?? settings.defaultScene)
    const codeKey = `${settings.keyPrefix}:code:${checked}:${sha256(recipient.key)}`
    return { settings, recipient, scene: checked, codeKey }
  }

  /** Of the recipient and of the address together, or of none. */
  #takeQuota(
    channel: VerificationChannel,
    operation: 'send' | 'check',
    settings: ChannelSettings,
    { key }: Recipient,
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
    ])
  }

  #waitAfter(result: RateLimitResult | undefined): number {
    if (result === undefined || result.remaining > 0) return 0
    return Math.max(0, Math.ceil((result.resetAt - this.#parts.clock.now()) / 1000))
  }
}
