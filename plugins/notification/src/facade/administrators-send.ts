import type { Database } from '@plinth/database'
import type { Idempotency } from '@plinth/idempotency'
import type { NotificationMessage } from '@plinth/kernel'
import type { MessageDraft, SendResult } from '../contract.ts'
import { businessError } from '../declarations.ts'
import type { Sender } from '../delivery/message-queue.ts'
import type { Priority } from '../entities.ts'
import type { QuietUsers } from '../recipients.ts'
import type { SendRecorder } from '../send-log/recorder.ts'
import type { ChannelNotification } from './channel-notification.ts'
import { requireSuccess } from './results.ts'
import { type HintText, queuedResult, readSentResults } from './sent-results.ts'

/** A message with more recipients than this is enqueued, if the product has a queue. */
export const maxConcurrent = 50

interface AdministratorsSendDependencies {
  readonly notification: ChannelNotification
  readonly quiet: QuietUsers
  readonly idempotency: Pick<Idempotency, 'current'> | undefined
  readonly db: Database | undefined
  readonly recorder: Pick<SendRecorder, 'written'> | undefined
  readonly hintText: HintText
}

interface AdministratorsOptions {
  readonly channels: readonly string[]
  /** Milliseconds since the epoch. */
  readonly notBefore: number | undefined
  readonly priority: Priority
}

export type AdministratorsResult = SendResult

/**
 * Sends messages of administrators (document 2 of the specification, "Admin send"). Enqueues a message with many
 * recipients, a start time or recipients in quiet hours. Sends other messages immediately.
 */
export class AdministratorsSend {
  readonly #parts: AdministratorsSendDependencies

  constructor(parts: AdministratorsSendDependencies) {
    this.#parts = parts
  }

  /**
   * If the response of an earlier call with the same idempotency key was lost, returns the stored results of that call.
   * The message is only sent again on channels whose outcome is unknown and that skip recipients who already have it.
   *
   * @throws BusinessError "503" with the codes of `Notification.sendTo` if the only channel failed and the message is not
   * sent later, or if nothing was attempted;
   * the errors of `Notification.enqueue`; "400" `notification.recipient-missing` if the only channel needs a recipient,
   * `notification.not-for-all` if a channel cannot send to all users;
   * "400" `notification.no-queue` for a start time without a queue
   */
  async send(
    draft: MessageDraft & Pick<NotificationMessage, 'recipients'>,
    { channels: requested, notBefore, priority }: AdministratorsOptions,
    sender: Sender,
  ): Promise<readonly AdministratorsResult[]> {
    const { notification, idempotency, db, recorder, hintText } = this.#parts
    const channels = notification.codesOf(requested.length === 0 ? [notification.administratorsChannel] : requested)
    this.#assertReachAll(draft, channels)
    if (notBefore !== undefined && !notification.hasQueue)
      throw businessError('no-queue', { data: { field: 'notBefore' } })
    const call = idempotency?.current
    if (call?.isRepeated && db !== undefined) {
      await recorder?.written()
      const earlier = await readSentResults(db, call.id, channels, hintText)
      if (earlier !== undefined) {
        const unknown = earlier.results.flatMap(({ channel, outcome }) => (outcome === 'unknown' ? [channel] : []))
        const again = await notification.resume(draft, unknown, earlier.message)
        const results = earlier.results.map((one) => again.find(({ channel }) => channel === one.channel) ?? one)
        requireAnything(results)
        return results
      }
    }
    const waits = notBefore !== undefined || (await this.#isBetterKept(draft, channels, priority))
    if (!waits) {
      const results = await notification.sendAs(draft, { channels, isRetried: true }, { ...sender, claimId: call?.id })
      requireAnything(results)
      return results
    }
    const at = notBefore === undefined ? {} : { notBefore }
    const { messageId } = await notification.enqueueAs(
      draft,
      { channels, ...at, priority },
      { ...sender, claimId: call?.id },
    )
    return channels.map((channel) => queuedResult(channel, messageId))
  }

  #assertReachAll({ recipients }: Pick<NotificationMessage, 'recipients'>, codes: readonly string[]): void {
    if (!recipients.some(({ kind }) => kind === 'all-users')) return
    for (const { code, recipientKinds } of this.#parts.notification.channels()) {
      if (!codes.includes(code) || recipientKinds.length === 0 || recipientKinds.includes('all-users')) continue
      throw businessError('not-for-all', { params: { channel: code }, data: { field: 'channels', channel: code } })
    }
  }

  async #isBetterKept(
    { recipients }: Pick<NotificationMessage, 'recipients'>,
    channels: readonly string[],
    priority: Priority,
  ): Promise<boolean> {
    const { notification, quiet } = this.#parts
    if (!notification.hasQueue) return false
    if (recipients.length > maxConcurrent) return true
    if (priority === 'critical') return false
    const ends = await Promise.all(channels.map((channel) => quiet.on(channel, recipients)))
    return ends.some(({ size }) => size > 0)
  }
}

/** Throws if the only channel failed, or if no send was attempted on any channel. */
function requireAnything(results: readonly SendResult[]): void {
  const [first] = results
  const nothingTried = results.every(({ errorCode }) => errorCode === 'notification.disabled')
  if (first === undefined || (results.length > 1 && !nothingTried)) return
  const { channel, errorCode } = first
  if (errorCode === 'notification.recipient-missing') {
    throw businessError('recipient-missing', { params: { channel }, data: { field: 'recipientUserIds', channel } })
  }
  // A message that is sent later is no failure.
  if (first.queued !== true) requireSuccess(first)
}
