import { createHash, randomUUID } from 'node:crypto'
import type { NotificationChannel, NotificationMessage } from '@plinth/kernel'
import type {
  CancelOptions,
  CancelResult,
  ChannelInfo,
  EnqueuedMessage,
  EnqueueOptions,
  MessageDraft,
  MessageProgress,
  MultiSendOptions,
  Notification,
  SendOptions,
  SendResult,
} from '../contract.ts'
import { businessError, notificationError } from '../declarations.ts'
import type { MessageQueue, Sender } from '../delivery/message-queue.ts'
import { type Readers, readerFields } from '../recipients.ts'
import type { MessageRenderer } from '../rendering.ts'
import type { SendRecorder } from '../send-log/recorder.ts'
import type { RecordedSend, SendEntry } from '../send-log/row.ts'
import { type NotificationSettings, type OutgoingMessages, type PreparedSend, sendsPerChannelCall } from './outgoing.ts'
import { combineSendResults, requireSuccess } from './results.ts'
import type { KeptMessage } from './sent-results.ts'

interface NotificationDependencies {
  readonly channels: ReadonlyMap<string, NotificationChannel>
  readonly settings: NotificationSettings
  readonly outgoing: OutgoingMessages
  readonly readers: Readers
  readonly rendering: Pick<MessageRenderer, 'withVersions'>
  /** Undefined in a product without a database. */
  readonly queue: MessageQueue | undefined
  /** Undefined in a product without a database. */
  readonly recorder: SendRecorder | undefined
}

type Logged = (entry: SendEntry) => void

interface KeptOptions extends Pick<MultiSendOptions, 'idempotencyKey' | 'signal'> {
  readonly isRetried?: boolean
  /** Id of the message in the list of messages. Undefined if the message is not listed. */
  readonly notificationId: number | undefined
}

interface Around {
  readonly signal: AbortSignal | undefined
  readonly logged: Logged | undefined
}

/** Maximum number of parallel sends on a channel with one recipient per send. */
const maxParallelSends = 10

/** Finds the channels, records the sends and converts every outcome to a result. */
export class ChannelNotification implements Notification {
  readonly #parts: NotificationDependencies

  constructor(parts: NotificationDependencies) {
    this.#parts = parts
  }

  send(draft: MessageDraft, options: MultiSendOptions = {}): Promise<readonly SendResult[]> {
    return this.sendAs(draft, options)
  }

  async sendTo(channel: string, draft: MessageDraft, options: SendOptions = {}): Promise<SendResult> {
    const [result] = await this.send(draft, { ...options, channels: [channel] })
    return requireSuccess(result as SendResult)
  }

  async enqueue(draft: MessageDraft, options: EnqueueOptions = {}): Promise<EnqueuedMessage> {
    return this.enqueueAs(draft, options)
  }

  /**
   * Sends like `Notification.send`. If a sender is specified and the product has a database, adds the message to the
   * list of messages.
   *
   * @param options `isRetried`: the product sends a deferred message again; otherwise the caller decides
   * @param logged called with each row of the send log before the send
   */
  async sendAs(
    draft: MessageDraft,
    options: MultiSendOptions & { readonly isRetried?: boolean },
    sender?: Sender,
    logged?: Logged,
  ): Promise<readonly SendResult[]> {
    const codes = this.codesOf(options.channels)
    const message = compose(draft)
    const notificationId = sender && (await this.#parts.queue?.keep(message, codes, sender))
    return this.#sendKept(message, codes, { ...options, notificationId }, logged)
  }

  /**
   * Sends the message of an interrupted call again, on those of the channels that skip recipients who already have it.
   *
   * @param kept the message in the list of messages
   */
  async resume(
    draft: MessageDraft,
    codes: readonly string[],
    { id: notificationId, messageId }: KeptMessage,
  ): Promise<readonly SendResult[]> {
    const again = codes.filter((code) => this.#parts.outgoing.requireChannel(code).traits.idempotent)
    if (again.length === 0) return []
    return this.#sendKept({ ...compose(draft), id: messageId }, again, { notificationId, isRetried: true })
  }

  async #sendKept(
    message: NotificationMessage,
    codes: readonly string[],
    { notificationId, idempotencyKey = message.id, isRetried = false, signal }: KeptOptions,
    logged?: Logged,
  ): Promise<readonly SendResult[]> {
    const { queue, outgoing } = this.#parts
    const delivery = notificationId === undefined ? undefined : { notificationId, isStored: false }
    const sending = { message, idempotencyKey, attempt: 1, delivery, isRetried }
    const results = await outgoing.tracked(
      Promise.all(codes.map((code) => this.#sendToReaders(code, sending, { signal, logged }))),
    )
    if (notificationId !== undefined) {
      const skipped = results.filter((result) => result.skipped === true).length
      await queue?.finish(notificationId, skipped)
    }
    return results
  }

  async enqueueAs(draft: MessageDraft, options: EnqueueOptions, sender?: Sender): Promise<EnqueuedMessage> {
    const queue = this.#requireQueue()
    const codes = this.codesOf(options.channels)
    return queue.enqueue(await this.#parts.rendering.withVersions(compose(draft)), codes, options, sender)
  }

  async cancel(key: string, options?: CancelOptions): Promise<CancelResult> {
    return this.#requireQueue().cancel(key, options)
  }

  async progressOf(id: number): Promise<MessageProgress> {
    return this.#requireQueue().progressOf(id)
  }

  #requireQueue(): MessageQueue {
    const { queue, recorder } = this.#parts
    if (queue?.isDurable === true) return queue
    const missing = recorder === undefined ? 'no database' : 'no events'
    throw notificationError('PLINTH_NOTIFICATION_NO_QUEUE', { missing })
  }

  get administratorsChannel(): string {
    return this.#parts.outgoing.administratorsChannel
  }

  get hasQueue(): boolean {
    return this.#parts.queue?.isDurable === true
  }

  /**
   * Returns the distinct codes of channels in lower case. @throws BusinessError "400" `notification.channel-unknown`
   */
  codesOf(channels: readonly string[] | undefined): readonly string[] {
    const { settings, outgoing } = this.#parts
    const requested = channels?.length ? channels : [settings.defaultChannel]
    const codes = [...new Set(requested.map((code) => code.trim().toLowerCase()))]
    for (const code of codes) outgoing.requireChannel(code, 'channels')
    return codes
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
        providers: channel.providers?.() ?? [],
      }))
  }

  /** Sends a separate message to the recipients of each language and time zone. */
  async #sendToReaders(code: string, sending: RecordedSend, around: Around): Promise<SendResult> {
    const { outgoing, readers } = this.#parts
    const { message } = sending
    // If the preferences cannot be read, the preparation of the send fails too, and its result says so.
    const groups = await readers.groupsOf(message, outgoing.requireChannel(code))?.catch(() => undefined)
    if (groups === undefined) return this.#sendOn(code, sending, around)
    const results: SendResult[] = []
    for (const { format, recipients } of groups) {
      const own = { ...message, ...readerFields(format), recipients }
      // Each group needs a key of its own, because its message differs.
      const suffix =
        groups.length === 1
          ? ''
          : `/${createHash('sha256')
              .update(own.readerGroup ?? '')
              .digest('hex')
              .slice(0, 8)}`
      const key = `${sending.idempotencyKey}${suffix}`
      results.push(await this.#sendOn(code, { ...sending, message: own, idempotencyKey: key }, around))
    }
    // A group without a user who wants the message is left out, like a user in a group.
    const sent = results.filter(({ skipped }) => skipped !== true)
    return sent.length === 0 ? (results[0] as SendResult) : combineSendResults(message.id, sent)
  }

  async #sendOn(code: string, sending: RecordedSend, around: Around): Promise<SendResult> {
    const { outgoing, recorder } = this.#parts
    const prepared = await outgoing.prepare(code, sending)
    if ('result' in prepared) {
      const { result, shown } = prepared
      const entry = result.skipped === true ? undefined : recorder?.record(code, sending, shown, result)
      if (entry !== undefined) around.logged?.(entry)
      return withQueued(result, entry)
    }
    const { source } = prepared
    const sendings = sendsPerChannelCall(
      prepared.channel,
      source === sending.message ? sending : { ...sending, message: source },
    )
    const [first] = sendings
    if (sendings.length === 1 && first !== undefined) return this.#sendOne(prepared, first, around)
    const results: SendResult[] = []
    for (let from = 0; from < sendings.length; from += maxParallelSends) {
      const together = sendings.slice(from, from + maxParallelSends)
      results.push(...(await Promise.all(together.map((one) => this.#sendOne(prepared, one, around)))))
    }
    return combineSendResults(sending.message.id, results)
  }

  async #sendOne(prepared: PreparedSend, sending: RecordedSend, { signal, logged }: Around): Promise<SendResult> {
    const { outgoing, recorder } = this.#parts
    const { recipients } = sending.message
    const isForAll = recipients === prepared.message.recipients
    const ready = isForAll ? prepared : { ...prepared, message: { ...prepared.message, recipients } }
    const entry = recorder && (await recorder.begin(prepared.code, sending, prepared.shown))
    if (entry !== undefined) logged?.(entry)
    const result = await outgoing.call(ready, sending, signal)
    if (entry !== undefined) recorder?.finish(entry, result)
    return withQueued(result, entry)
  }
}

const withQueued = (result: SendResult, entry: SendEntry | undefined): SendResult =>
  entry?.row.status === 'waiting' ? { ...result, queued: true } : result

/** Creates a message from a draft. @throws BusinessError "400" `notification.message-empty` */
export function compose(draft: MessageDraft): NotificationMessage {
  const written = (text: string | undefined) => text !== undefined && text.trim() !== ''
  if (!written(draft.subject) && !written(draft.content) && !written(draft.template)) {
    throw businessError('message-empty', { data: { field: 'content' } })
  }
  const empty = { subject: '', content: '', variables: {}, recipients: [], attributes: {} }
  return Object.freeze({ ...empty, ...draft, id: randomUUID() })
}
