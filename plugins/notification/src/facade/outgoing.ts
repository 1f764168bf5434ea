import { createHash } from 'node:crypto'
import { Circuits } from '@plinth/coordination'
import { categoryOf, moduleOf, type NotificationCategories, type NotificationPreferences } from '@plinth/inbox'
import {
  type ChannelTarget,
  type Clock,
  didYouMean,
  errorReason,
  inSpan,
  type Logger,
  type NotificationChannel,
  type NotificationMessage,
  nearestName,
  omitUndefined,
  type Recipient,
  secretsOf,
  type Tracer,
} from '@plinth/kernel'
import type { CheckedAddress, Suppressions } from '@plinth/suppression'
import type { SendResult } from '../contract.ts'
import { businessError, notificationError } from '../declarations.ts'
import { describeRecipient } from '../masking.ts'
import type { MessageRenderer } from '../rendering.ts'
import type { RecordedSend, RenderedSubject } from '../send-log/row.ts'
import { ChannelCalls, timedOut } from './channel-calls.ts'
import { assertOutcome, failedSendResult, sendResultOf, withoutSecrets } from './results.ts'

/** Settings that are read at every send, so that a change takes effect immediately. */
export interface NotificationSettings {
  readonly enabled: boolean
  readonly defaultChannel: string
  /** Milliseconds. */
  readonly sendDeadlineMs: number
}

const inbox = 'database'
/** Milliseconds after the deadline in which a channel can still report what it knows about the message. */
const graceMs = 1_000

/** Measures sends. Its functions must not throw. */
export interface SendMeter {
  /** Starts the measurement of a send. @returns a function that must be called once with the outcome */
  begin(channel: string): (outcome: SendResult['outcome']) => void
}

export interface OutgoingDependencies {
  readonly channels: ReadonlyMap<string, NotificationChannel>
  readonly clock: Clock
  readonly log: Logger
  /** Masks secrets of the configuration. */
  readonly redact: (text: string, more?: Iterable<unknown>) => string
  readonly settings: NotificationSettings
  readonly rendering: MessageRenderer
  readonly preferences: Pick<NotificationPreferences, 'wanted'> | undefined
  readonly categories: Pick<NotificationCategories, 'of'> | undefined
  readonly suppressions: Pick<Suppressions, 'check'> | undefined
  readonly meter: SendMeter | undefined
  readonly tracer?: Tracer | undefined
  /** Returns a hint for operators in the language of the site. */
  readonly hintText: (hint: string) => string
  /** Returns the subject for operators, in the language of the message. */
  readonly subjectOf: (message: NotificationMessage) => string
}

export interface PreparedSend {
  readonly code: string
  readonly channel: NotificationChannel
  readonly message: NotificationMessage
  /** The original message, without recipients who do not want it. */
  readonly source: NotificationMessage
  readonly shown: RenderedSubject
  /** Recipients whose address gets no such message. The channel is not called for them. */
  readonly suppressed?: ReadonlyMap<Recipient, CheckedAddress> | undefined
}
interface Refused {
  readonly result: SendResult
  readonly shown: RenderedSubject
}
export type PrepareResult = PreparedSend | Refused

/** Checks and renders messages, and calls channels with a deadline. */
export class OutgoingMessages {
  readonly #parts: OutgoingDependencies
  readonly #calls: ChannelCalls
  readonly #circuits: Circuits
  readonly #inFlight = new Set<Promise<unknown>>()

  constructor(parts: OutgoingDependencies) {
    this.#parts = parts
    this.#calls = new ChannelCalls(parts.clock)
    this.#circuits = new Circuits(parts.clock)
  }

  has(code: string): boolean {
    return this.#parts.channels.has(code)
  }

  /**
   * The channel `database` (document 2 of the specification, "Admin send"), or the default channel if `database` is not
   * loaded.
   */
  get administratorsChannel(): string {
    const { channels, settings } = this.#parts
    return channels.has(inbox) ? inbox : settings.defaultChannel
  }

  /**
   * @param field request field with the code, which the error contains in `data.field`
   * @throws BusinessError "400" `notification.channel-unknown`
   */
  requireChannel(code: string, field?: string): NotificationChannel {
    const { channels } = this.#parts
    const channel = channels.get(code)
    if (channel !== undefined) return channel
    const near = nearestName(code, channels.keys())
    const params: Readonly<Record<string, string>> = omitUndefined({ channel: code, nearest: near })
    const text = near === undefined ? 'channel-unknown' : 'channel-unknown-nearest'
    throw businessError('channel-unknown', { text, params, data: field === undefined ? params : { ...params, field } })
  }

  /** @throws PlinthError `PLINTH_NOTIFICATION_UNKNOWN_CHANNEL` if the default channel is not loaded */
  checkDefaultChannel(code: string): void {
    const { channels } = this.#parts
    if (channels.has(code)) return
    throw notificationError('PLINTH_NOTIFICATION_UNKNOWN_CHANNEL', {
      channel: code,
      loaded: [...channels.keys()].sort().join(', ') || 'none',
      nearest: didYouMean(code, channels.keys()),
    })
  }

  async prepare(code: string, { message }: Pick<RecordedSend, 'message'>): Promise<PrepareResult> {
    const { settings, rendering, channels, subjectOf } = this.#parts
    const channel = channels.get(code)
    const rejected = (errorCode: string, text: string, more?: Parameters<typeof failedSendResult>[4]): Refused => {
      const result = failedSendResult(code, message, errorCode, text, more)
      this.#logFailure(result, message)
      return { result, shown: { subject: subjectOf(message) } }
    }
    const skipped = (errorCode: string, text: string) =>
      rejected(errorCode, text, { outcome: 'deferred', skipped: true })
    if (channel === undefined) return rejected('notification.channel-unknown', 'The channel is not loaded')
    if (!settings.enabled) return skipped('notification.disabled', 'Notifications are switched off')
    if (channel.enabled?.() === false) return skipped('notification.channel-disabled', 'The channel is switched off')
    if (!reaches(channel, message.recipients)) {
      const kinds = channel.recipientKinds.join(', ')
      return rejected('notification.recipient-missing', `The message has no recipient of the kinds ${kinds}`)
    }
    let recipients: readonly Recipient[]
    let checked: ReadonlyMap<Recipient, CheckedAddress> | undefined
    try {
      recipients = hasUsers(message) ? await this.#wanting(code, message) : message.recipients
      checked = await this.#checked(code, channel, { ...message, recipients })
    } catch (error) {
      this.#logThrown(code, message, error)
      const text = 'The preferences or addresses of the recipients could not be checked; the log says why'
      return rejected('notification.preparation-failed', text, { outcome: 'deferred' })
    }
    try {
      if (recipients.length < message.recipients.length && !reaches(channel, recipients, true)) {
        return skipped('notification.unwanted', 'No recipient wants such messages on this channel')
      }
      const source = recipients.length === message.recipients.length ? message : { ...message, recipients }
      const filled = rendering.fill(source, code, channel.traits)
      const rendered = filled instanceof Promise ? await filled : filled
      const shown = { subject: subjectOf(rendered), addressKeys: checked && mapValues(checked, ({ key }) => key) }
      return { code, channel, message: rendered, source, shown, suppressed: checked }
    } catch (error) {
      const reason: unknown = Object(error).reason
      if (typeof reason === 'string')
        return rejected(reason, this.#parts.redact(errorReason(error), secretsOf(message)))
      this.#logThrown(code, message, error)
      const text = 'The message could not be prepared; the log says why'
      return rejected('notification.preparation-failed', text)
    }
  }

  /** Leaves out users who switched off the channel or the category. */
  async #wanting(channel: string, { recipients, attributes }: NotificationMessage): Promise<readonly Recipient[]> {
    const { preferences } = this.#parts
    if (preferences === undefined) return recipients
    const userIds = recipients.flatMap((recipient) => ('userId' in recipient ? [recipient.userId] : []))
    const wanted = await preferences.wanted(userIds, { channel, category: this.#categoryOf(attributes).code })
    return recipients.filter((recipient) => !('userId' in recipient) || wanted.has(recipient.userId))
  }

  #categoryOf(attributes: NotificationMessage['attributes']): ReturnType<NotificationCategories['of']> {
    const module = moduleOf(attributes)
    return this.#parts.categories?.of(module) ?? { code: categoryOf(module), isRequired: false }
  }

  /** Looks up the addresses of the recipients on the suppression list, with one query. Undefined without a list. */
  async #checked(
    code: string,
    channel: NotificationChannel,
    { recipients, attributes, secretVariables = [] }: NotificationMessage,
  ): Promise<ReadonlyMap<Recipient, CheckedAddress> | undefined> {
    const { suppressions } = this.#parts
    if (suppressions === undefined || channel.addresses === undefined || channel.traits.recipients !== 'each') return
    const addresses = await channel.addresses(recipients)
    if (addresses.size === 0) return
    const category = this.#categoryOf(attributes)
    // A message with a secret is a code or a link that its recipient has asked for.
    const isRequired = category.isRequired || secretVariables.length > 0
    const query = { channel: code, addresses: [...addresses.values()], category: category.code, isRequired }
    const found = await suppressions.check(query)
    return new Map(
      [...addresses].flatMap(([recipient, address]) => {
        const one = found.get(address)
        return one === undefined ? [] : [[recipient, one] as const]
      }),
    )
  }

  /**
   * Calls a channel. Every error of the channel becomes a result. If the server rests after several timeouts, or if the
   * address of the only recipient is suppressed, the channel is not called.
   */
  async call(prepared: PreparedSend, send: Omit<RecordedSend, 'message'>, signal?: AbortSignal): Promise<SendResult> {
    const [recipient] = prepared.message.recipients
    const reason = recipient && prepared.suppressed?.get(recipient)?.reason
    if (reason !== undefined) {
      const text = `${describeRecipient(recipient as Recipient)} is on the suppression list: ${reason}`
      const result = failedSendResult(prepared.code, prepared.message, 'notification.suppressed', text)
      this.#logFailure(result, prepared.message)
      return result
    }
    const attributes = { 'plinth.channel': prepared.code, 'plinth.attempt': send.attempt }
    return inSpan(this.#parts.tracer, 'notification send', { kind: 'producer', attributes }, async (span) => {
      const result = await this.#call(prepared, send, signal)
      span?.setAttributes({ 'plinth.outcome': result.outcome })
      return result
    })
  }

  async #call(
    { code, channel, message }: PreparedSend,
    { idempotencyKey, attempt }: Omit<RecordedSend, 'message'>,
    signal?: AbortSignal,
  ): Promise<SendResult> {
    const { settings, meter, hintText, preferences, redact, clock } = this.#parts
    const { sendDeadlineMs } = settings
    const secrets = secretsOf(message)
    const server = serverOf(code, channel, message)
    const restMs = this.#circuits.restMs(server)
    const end = meter?.begin(code)
    const begunAt = clock.monotonic()
    let result: SendResult
    if (restMs > 0) {
      const text = 'The server did not respond several times; it is tried again soon'
      const more = { outcome: 'deferred', retryAfterMs: Math.ceil(restMs) } as const
      result = failedSendResult(code, message, 'notification.server-resting', text, more)
      end?.(result.outcome)
      this.#logFailure(result, message)
      return result
    }
    try {
      const send = (given: AbortSignal) =>
        channel.send(message, { signal: given, idempotencyKey, attempt, isWanted: preferences !== undefined })
      const outcome = await this.#calls.run(sendDeadlineMs, signal, send, graceMs)
      if (outcome === timedOut) {
        const text = `No response within ${sendDeadlineMs} ms`
        result = failedSendResult(code, message, 'notification.deadline-exceeded', text, { outcome: 'unknown' })
      } else {
        assertOutcome(code, outcome)
        result = sendResultOf(code, message, withoutSecrets(outcome, redact, secrets, message.id), hintText)
      }
    } catch (error) {
      this.#logThrown(code, message, error)
      const text = 'The channel failed; the log says why'
      result = failedSendResult(code, message, 'notification.channel-failed', text, { outcome: 'unknown' })
    }
    this.#recordCircuit(server, result, clock.monotonic() - begunAt)
    end?.(result.outcome)
    this.#logFailure(result, message)
    return result
  }

  /** Records the result of a call. A reply of the provider proves that the server responds. */
  #recordCircuit(server: string, { outcome, providerCode, isAttempted }: SendResult, tookMs: number): void {
    if (isAttempted === false) return
    const hasResponded = outcome === 'accepted' || outcome === 'rejected' || providerCode !== undefined
    if (hasResponded) this.#circuits.responded(server)
    else this.#circuits.failed(server, tookMs)
  }

  async drain(): Promise<void> {
    await Promise.allSettled(this.#inFlight)
  }

  stop(): void {
    this.#calls.giveUp()
  }

  tracked<T>(work: Promise<T>): Promise<T> {
    this.#inFlight.add(work)
    const end = () => {
      this.#inFlight.delete(work)
    }
    work.then(end, end)
    return work
  }

  #logFailure({ success, skipped, channel, errorCode }: SendResult, { id }: NotificationMessage): void {
    if (success) return
    this.#parts.log[skipped === true ? 'debug' : 'warn']({ channel, messageId: id, errorCode }, 'notification not sent')
  }

  /**
   * Errors of a channel may contain addresses and tokens, so they are logged and not returned. The logger masks secrets
   * of the configuration. Secrets of the message are masked here.
   */
  #logThrown(channel: string, message: NotificationMessage, error: unknown): void {
    const secrets = secretsOf(message)
    const why = secrets.length === 0 ? { err: error } : { reason: this.#parts.redact(errorReason(error), secrets) }
    this.#parts.log.error({ ...why, channel, messageId: message.id }, 'a notification channel threw an error')
  }
}

/** Returns the name of the server of a message, unique among all channels. */
function serverOf(code: string, channel: NotificationChannel, message: NotificationMessage): string {
  const provider = message.attributes[`${code}.provider`]
  const server = targetOf(channel, message)?.server ?? (typeof provider === 'string' ? provider : '')
  return `${code} ${server}`
}

/** Returns the target of a message. Undefined if the channel does not know it. */
export function targetOf(channel: NotificationChannel, message: NotificationMessage): ChannelTarget | undefined {
  try {
    return channel.target?.(message)
  } catch {
    // The send reports the error.
    return undefined
  }
}

const mapValues = <K, V, R>(map: ReadonlyMap<K, V>, of: (value: V) => R): ReadonlyMap<K, R> =>
  new Map([...map].map(([key, value]) => [key, of(value)]))

const hasUsers = ({ recipients }: NotificationMessage) => recipients.some((recipient) => 'userId' in recipient)

/**
 * True if the channel can reach one of the recipients. @param needsOne true if a channel without recipient kinds needs
 * a recipient too
 */
const reaches = (
  { recipientKinds }: NotificationChannel,
  recipients: readonly Recipient[],
  needsOne = false,
): boolean =>
  recipientKinds.length === 0
    ? !needsOne || recipients.length > 0
    : recipients.some(({ kind }) => recipientKinds.includes(kind))

/**
 * Returns one send for each call of the channel. If the channel sends to one recipient at a time, each recipient gets
 * its own send and idempotency key.
 */
export function sendsPerChannelCall<S extends Pick<RecordedSend, 'message' | 'idempotencyKey'>>(
  channel: NotificationChannel,
  sending: S,
): S[] {
  const { message, idempotencyKey } = sending
  if (channel.traits.recipients !== 'each' || message.recipients.length < 2) return [sending]
  const reached = message.recipients.filter(({ kind }) => channel.recipientKinds.includes(kind))
  if (reached.length === 0) return [sending]
  return reached.map((recipient) => ({
    ...sending,
    message: { ...message, recipients: [recipient] },
    idempotencyKey: `${idempotencyKey}/${createHash('sha256').update(JSON.stringify(recipient)).digest('hex').slice(0, 16)}`,
  }))
}
