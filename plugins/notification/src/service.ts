import { randomUUID } from 'node:crypto'
import {
  BusinessError,
  type Clock,
  type DeliveryOutcome,
  didYouMean,
  type Logger,
  type NotificationChannel,
  type NotificationMessage,
  nearest,
  reasonOf,
  redact,
  secretsOf,
  withinDeadline,
} from '@plinth/kernel'
import type {
  ChannelInfo,
  EnqueuedMessage,
  MessageDraft,
  MultiSendOptions,
  Notification,
  SendOptions,
  SendResult,
} from './contract.ts'
import { notificationError } from './errors.ts'
import { refusal } from './failures.ts'
import type { FinishedSend } from './send-recorder.ts'

/** Read at every send, so that a live change counts at once. */
export interface NotificationSettings {
  readonly enabled: boolean
  readonly defaultChannel: string
  /** Milliseconds. */
  readonly sendDeadlineMs: number
}

export interface NotificationParts {
  readonly channels: ReadonlyMap<string, NotificationChannel>
  readonly settings: NotificationSettings
  readonly clock: Clock
  readonly log: Logger
  /** Told of every send that was tried; one that is skipped was not. Must not throw. */
  readonly record: (send: FinishedSend) => void
}

/** One message on its way. */
export type Sending = Omit<FinishedSend, 'result'>

/** The facade: finds the channels, gives each its deadline and turns whatever happens into a result. */
export class ChannelNotification implements Notification {
  readonly #parts: NotificationParts
  readonly #stopping = new AbortController()
  readonly #inFlight = new Set<Promise<unknown>>()

  constructor(parts: NotificationParts) {
    this.#parts = parts
  }

  async send(draft: MessageDraft, options: MultiSendOptions = {}): Promise<readonly SendResult[]> {
    const { settings, record } = this.#parts
    const asked = options.channels?.length ? options.channels : [settings.defaultChannel]
    const codes = [...new Set(asked.map((code) => code.trim().toLowerCase()))]
    for (const code of codes) this.requireChannel(code)
    const message = compose(draft)
    const sending: Sending = { message, idempotencyKey: options.idempotencyKey ?? message.id, attempt: 1 }
    const deliver = async (code: string) => {
      const result = await this.#deliver(code, sending, options.signal)
      if (result.skipped !== true) record({ ...sending, result })
      return result
    }
    return this.#tracked(Promise.all(codes.map(deliver)))
  }

  async sendTo(channel: string, draft: MessageDraft, options: SendOptions = {}): Promise<SendResult> {
    const [result] = await this.send(draft, { ...options, channels: [channel] })
    return requireSuccess(result as SendResult)
  }

  /** Sends a message again, unrecorded. Throws as `send` does for a channel that is not loaded. */
  async resend(channel: string, sending: Sending): Promise<SendResult> {
    this.requireChannel(channel)
    return this.#tracked(this.#deliver(channel, sending))
  }

  async enqueue(): Promise<EnqueuedMessage> {
    throw notificationError('PLINTH_NOTIFICATION_NO_QUEUE', { missing: 'no queue' })
  }

  channels(): readonly ChannelInfo[] {
    const { channels, settings } = this.#parts
    return [...channels]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([code, channel]) => ({
        code,
        displayName: channel.displayName,
        enabled: channel.enabled?.() ?? true,
        isDefault: code === settings.defaultChannel,
        recipientKinds: channel.recipientKinds,
      }))
  }

  /** Throws `PLINTH_NOTIFICATION_UNKNOWN_CHANNEL`: a default that is not there is the operator's to mend. */
  checkDefaultChannel(code: string): void {
    const { channels } = this.#parts
    if (channels.has(code)) return
    throw notificationError('PLINTH_NOTIFICATION_UNKNOWN_CHANNEL', {
      channel: code,
      loaded: [...channels.keys()].sort().join(', ') || 'none',
      nearest: didYouMean(code, channels.keys()),
    })
  }

  /** Waits for what is being sent. */
  async drain(): Promise<void> {
    await Promise.allSettled(this.#inFlight)
  }

  /** Tells channels that still send to give up. */
  stop(): void {
    this.#stopping.abort(new Error('The product stops'))
  }

  #tracked<T>(work: Promise<T>): Promise<T> {
    this.#inFlight.add(work)
    return work.finally(() => this.#inFlight.delete(work))
  }

  /** Throws `400` with reason `notification.channel-unknown`. */
  requireChannel(code: string): NotificationChannel {
    const { channels } = this.#parts
    const channel = channels.get(code)
    if (channel !== undefined) return channel
    const near = nearest(code, channels.keys())
    const params = { channel: code, ...(near === undefined ? {} : { nearest: near }) }
    const text = near === undefined ? 'channel-unknown' : 'channel-unknown-nearest'
    throw refusal('channel-unknown', { text, params, data: params })
  }

  async #deliver(code: string, sending: Sending, signal?: AbortSignal): Promise<SendResult> {
    const { settings, clock, log } = this.#parts
    const { message, idempotencyKey, attempt } = sending
    const channel = this.requireChannel(code)
    const secrets = secretsOf(message)
    const failed = (errorCode: string, errorMessage: string, more: Partial<SendResult> = {}): SendResult => {
      const outcome = 'deferred' as const
      const result = { channel: code, success: false, outcome, messageId: message.id, errorCode, errorMessage, ...more }
      log[more.skipped === true ? 'debug' : 'warn'](
        { channel: code, messageId: message.id, errorCode },
        'notification not sent',
      )
      return result
    }
    const overdue = new Error(`No answer within ${settings.sendDeadlineMs} ms`)
    try {
      if (!settings.enabled) return failed('notification.disabled', 'Notifications are switched off', { skipped: true })
      if (channel.enabled?.() === false) {
        return failed('notification.channel-disabled', 'The channel is switched off', { skipped: true })
      }
      if (!reaches(channel, message)) {
        const wanted = channel.recipientKinds.join(', ')
        const why = `The message has no recipient of the kinds ${wanted}`
        return failed('notification.recipient-missing', why, { outcome: 'rejected' })
      }
      const work = (deadline: AbortSignal) => {
        const signals = [deadline, this.#stopping.signal, ...(signal === undefined ? [] : [signal])]
        return channel.send(message, { signal: AbortSignal.any(signals), idempotencyKey, attempt })
      }
      const outcome = await withinDeadline(clock, settings.sendDeadlineMs, work, () => overdue)
      return resultOf(code, message, withoutSecrets(outcome, secrets), failed)
    } catch (error) {
      if (error === overdue) return failed('notification.deadline-exceeded', overdue.message, { outcome: 'unknown' })
      // What a channel throws may hold addresses and tokens: it goes to the log, which masks secrets, and no further. The
      // log does not know those of the message, and they may be in any member of the error.
      const why = secrets.length === 0 ? { err: error } : { reason: redact(reasonOf(error), secrets) }
      log.error({ ...why, channel: code, messageId: message.id }, 'notification channel threw')
      return failed('notification.channel-failed', 'The channel failed; the log says why', { outcome: 'unknown' })
    }
  }
}

/** Answers the result; throws when the message was not sent. */
export function requireSuccess(result: SendResult): SendResult {
  if (result.success) return result
  const reason =
    result.skipped === true && result.errorCode !== null ? result.errorCode : 'notification.delivery-failed'
  throw new BusinessError(
    '503',
    `The message was not sent through the channel "${result.channel}": ${result.errorMessage}`,
    {
      reason,
      params: { channel: result.channel },
      data: { result },
    },
  )
}

function compose(draft: MessageDraft): NotificationMessage {
  const written = (text: string | undefined) => text !== undefined && text.trim() !== ''
  if (!written(draft.subject) && !written(draft.content) && !written(draft.template)) {
    throw refusal('message-empty')
  }
  const empty = { subject: '', content: '', variables: {}, recipients: [], attributes: {} }
  return Object.freeze({ ...empty, ...draft, id: randomUUID() })
}

function reaches({ recipientKinds }: NotificationChannel, { recipients }: NotificationMessage): boolean {
  return recipientKinds.length === 0 || recipients.some(({ kind }) => recipientKinds.includes(kind))
}

/** A provider may repeat what it was to send. Ids and codes are left as they are: they hold a short secret by chance only. */
function withoutSecrets(delivery: DeliveryOutcome, secrets: readonly string[]): DeliveryOutcome {
  const texts = ['errorMessage', 'providerMessage', 'hint']
  const masked = Object.entries(delivery).map(([name, value]) => [
    name,
    texts.includes(name) && typeof value === 'string' ? redact(value, secrets) : value,
  ])
  return Object.fromEntries(masked)
}

function resultOf(
  channel: string,
  message: NotificationMessage,
  delivery: DeliveryOutcome,
  failed: (errorCode: string, errorMessage: string, more: Partial<SendResult>) => SendResult,
): SendResult {
  const { provider, providerCode, providerMessage, hint } = delivery
  const said = Object.fromEntries(
    Object.entries({ provider, providerCode, providerMessage, hint }).filter(([, value]) => value !== undefined),
  )
  const { outcome } = delivery
  if (outcome !== 'accepted') {
    const wait = outcome === 'deferred' ? delivery.retryAfterMs : undefined
    const again = wait === undefined ? {} : { retryAfterMs: wait }
    return failed(delivery.errorCode, delivery.errorMessage, { outcome, ...again, ...said })
  }
  const messageId = delivery.messageId ?? message.id
  return { channel, success: true, outcome, messageId, errorCode: null, errorMessage: null, ...said }
}
