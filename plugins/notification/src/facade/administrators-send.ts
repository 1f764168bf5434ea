import type { NotificationMessage } from '@plinth/kernel'
import type { MessageDraft, SendResult } from '../contract.ts'
import type { Sender } from '../delivery/message-queue.ts'
import type { Priority } from '../entities.ts'
import { refusal } from '../failures.ts'
import type { QuietUsers } from '../recipients.ts'
import type { ChannelNotification } from './channel-notification.ts'
import { requireSuccess } from './results.ts'

/** With more recipients a message is enqueued where the product can keep it. */
export const mostAtOnce = 1_000

interface AdministratorsSendParts {
  readonly notification: ChannelNotification
  readonly quiet: QuietUsers
}

interface AdministratorsOptions {
  /** Empty: see `ChannelNotification.administratorsChannel`. */
  readonly channels: readonly string[]
  /** Milliseconds since the epoch. */
  readonly notBefore: number | undefined
  readonly priority: Priority
}

/** The result of a message that is kept says `queued`: the queue took responsibility. */
type AdministratorsResult = SendResult & { readonly queued?: true }

/**
 * Sends what an administrator writes (document 2, "Admin send"): at once, or by a worker when it has many recipients, a moment of
 * its own, or recipients in quiet hours, who get it when these end.
 */
export class AdministratorsSend {
  readonly #parts: AdministratorsSendParts

  constructor(parts: AdministratorsSendParts) {
    this.#parts = parts
  }

  /**
   * @throws BusinessError "503" as `Notification.sendTo` when the only channel failed or nothing is sent at all; "400" as `enqueue`,
   *   `notification.recipient-missing` when the only channel needs a recipient, and `notification.no-queue` for a moment in a product that keeps no messages
   */
  async send(
    draft: MessageDraft & Pick<NotificationMessage, 'recipients'>,
    { channels: asked, notBefore, priority }: AdministratorsOptions,
    sender: Sender,
  ): Promise<readonly AdministratorsResult[]> {
    const { notification } = this.#parts
    const channels = notification.codesOf(asked.length === 0 ? [notification.administratorsChannel] : asked)
    if (notBefore !== undefined && !notification.hasQueue) throw refusal('no-queue', { data: { field: 'notBefore' } })
    const waits = notBefore !== undefined || (await this.#isBetterKept(draft, channels, priority))
    if (!waits) {
      const results = await notification.sendAs(draft, { channels }, sender)
      requireAnything(results)
      return results
    }
    const at = notBefore === undefined ? {} : { notBefore }
    const { messageId } = await notification.enqueueAs(draft, { channels, ...at, priority }, sender)
    return channels.map((channel) => ({
      channel,
      success: true,
      outcome: 'accepted',
      messageId,
      errorCode: null,
      errorMessage: null,
      queued: true,
    }))
  }

  async #isBetterKept(
    { recipients }: Pick<NotificationMessage, 'recipients'>,
    channels: readonly string[],
    priority: Priority,
  ): Promise<boolean> {
    const { notification, quiet } = this.#parts
    if (!notification.hasQueue) return false
    if (recipients.length > mostAtOnce) return true
    if (priority === 'critical') return false
    const ends = await Promise.all(channels.map((channel) => quiet.on(channel, recipients)))
    return ends.some(({ size }) => size > 0)
  }
}

/** Throws for what is a failure of the whole: the one channel failed, or nothing is sent at all (decision B43). */
function requireAnything(results: readonly SendResult[]): void {
  const [first] = results
  const nothingTried = results.every(({ errorCode }) => errorCode === 'notification.disabled')
  if (first === undefined || (results.length > 1 && !nothingTried)) return
  const { channel, errorCode } = first
  if (errorCode === 'notification.recipient-missing') {
    throw refusal('recipient-missing', { params: { channel }, data: { field: 'recipientUserIds', channel } })
  }
  requireSuccess(first)
}
