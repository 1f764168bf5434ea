import { AsyncLocalStorage } from 'node:async_hooks'
import type { Database } from '@plinth/database'
import {
  type Clock,
  describeRecipient,
  type Logger,
  type NotificationMessage,
  reasonOf,
  secretAttributeValues,
  secretsOf,
} from '@plinth/kernel'
import type { SendResult } from './contract.ts'
import { SendLog } from './entities.ts'
import { snapshotText } from './snapshot.ts'

/** A send that came to an end, whether it worked or not. */
export interface FinishedSend {
  readonly message: NotificationMessage
  readonly result: SendResult
  readonly idempotencyKey: string
  /** 1 for the first send of the message on the channel. */
  readonly attempt: number
}

export interface RecorderParts {
  readonly db: Database
  readonly clock: Pick<Clock, 'now'>
  readonly log: Logger
  /** Masks what the configuration knows as secrets. */
  readonly redact: (text: string, more?: Iterable<unknown>) => string
}

/** Rows that may wait for the database; what comes on top is not recorded. */
const largestBacklog = 1_000
const shownRecipients = 20

/**
 * Writes the send log, off the path of the sends: they have happened, so a write that fails or waits changes nothing for
 * the sender; it is logged as an error with the id of the message. A write joins no transaction of the sender: rolling
 * that back does not bring the message back. A graceful stop writes what waits; a process that is killed loses it.
 */
export class SendRecorder {
  readonly #parts: RecorderParts
  /** The async context of the plugin, which is in no transaction. */
  readonly #outside = AsyncLocalStorage.snapshot()
  #waiting = 0
  #isClosed = false
  #last: Promise<unknown> = Promise.resolve()

  constructor(parts: RecorderParts) {
    this.#parts = parts
  }

  record(send: FinishedSend): void {
    const createdAt = new Date(this.#parts.clock.now())
    const refused = this.#isClosed ? 'the product stops' : 'too many rows wait for the database'
    if (this.#isClosed || this.#waiting >= largestBacklog) {
      this.#lost(send, refused)
      return
    }
    this.#waiting++
    this.#last = this.#last
      .then(() => this.#outside(() => this.#parts.db.transactional(() => this.#write(send, createdAt, null))))
      .catch((error: unknown) => this.#lost(send, reasonOf(error)))
      .finally(() => this.#waiting--)
  }

  /** Resolves when everything that was recorded before is in the table, or lost. */
  async written(): Promise<void> {
    await this.#last
  }

  /** Writes what waits and takes no more. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#last
  }

  /**
   * Records that a row was sent again: the new row and the end of the claim, both or neither. Answers the id of the new
   * row, `null` when it could not be written; never throws.
   */
  async recordRetry(retryOfId: number, send: FinishedSend): Promise<number | null> {
    const createdAt = new Date(this.#parts.clock.now())
    try {
      return await this.#parts.db.transactional(async (em) => {
        // Whatever its state: an outcome that comes after the claim ran out is known all the same.
        const settled = { status: 'retried' as const, restorable: false, payload: null, claimedUntil: null }
        await em.nativeUpdate(SendLog, { id: retryOfId }, settled)
        return this.#write(send, createdAt, retryOfId)
      })
    } catch (error) {
      this.#lost(send, reasonOf(error))
      return null
    }
  }

  async #write(send: FinishedSend, createdAt: Date, retryOfId: number | null): Promise<number> {
    const { db, redact } = this.#parts
    const em = db.fork()
    const row = em.create(SendLog, { id: db.newId(), ...rowOf(send, redact), retryOfId, claimedUntil: null, createdAt })
    await em.flush()
    return row.id
  }

  #lost({ message, result }: FinishedSend, reason: string): void {
    const { log } = this.#parts
    log.error({ messageId: message.id, channel: result.channel, reason }, 'a send is not in the send log')
  }
}

/** No text holds a secret of the message or of the configuration, whatever a provider says. */
function rowOf({ message, result, idempotencyKey, attempt }: FinishedSend, redact: RecorderParts['redact']) {
  const { recipients, attributes } = message
  const secrets = [...secretsOf(message), ...secretAttributeValues(attributes)]
  const text = (value: string, length: number) => storable(redact(value, secrets), length)
  const textOrNull = (value: string | null | undefined, length: number) => (value == null ? null : text(value, length))
  const payload = result.success ? null : snapshotText({ message, idempotencyKey }, redact)
  const { traceId } = attributes
  return {
    channel: storable(result.channel, 64),
    provider: textOrNull(result.provider, 64),
    status: result.success ? ('success' as const) : ('failed' as const),
    messageId: result.messageId === message.id ? message.id : text(result.messageId, 200),
    recipients: recipients.slice(0, shownRecipients).map((recipient) => text(describeRecipient(recipient), 255)),
    recipientCount: recipients.length,
    subject: text(message.subject, 500),
    template: textOrNull(message.template, 128),
    errorCode: textOrNull(result.errorCode, 128),
    errorMessage: textOrNull(result.errorMessage, 500),
    providerCode: textOrNull(result.providerCode, 128),
    providerMessage: textOrNull(result.providerMessage, 500),
    hint: textOrNull(result.hint, 500),
    restorable: payload !== null,
    payload,
    attempt,
    traceId: typeof traceId === 'string' ? text(traceId, 128) : null,
  }
}

/** What every database takes as text of that many code points. */
const storable = (text: string, length: number) =>
  [...text.replaceAll('\0', '').toWellFormed()].slice(0, length).join('')
