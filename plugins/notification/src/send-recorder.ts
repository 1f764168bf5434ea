import { AsyncLocalStorage } from 'node:async_hooks'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { LockMode } from '@mikro-orm/core'
import { type Database, insertMissing, type Parameter } from '@plinth/database'
import { type Clock, columnText, type Logger, type NotificationMessage, reasonOf, secretsOf } from '@plinth/kernel'
import type { SendResult } from './contract.ts'
import { SendLog } from './entities.ts'
import { describeRecipient, secretAttributeValues } from './masking.ts'
import { changeCounts, kindOf, tallied } from './send-log-counts.ts'
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
  readonly clock: Pick<Clock, 'now' | 'sleep'>
  readonly log: Logger
  /** Masks what the configuration knows as secrets. */
  readonly redact: (text: string, more?: Iterable<unknown>) => string
  /** Counts rows that are not in the table and never will be. */
  readonly countLost?: ((rows: number) => void) | undefined
}

/** Rows of one write. */
const largestBatch = 200
/**
 * Characters that may wait for the database, a row being `rowWeight` and its payload; what comes on top is not recorded. That
 * is 50,000 rows of sends that worked: a database that stands still for 20 s at 2,000 sends a second loses none.
 */
export const largestBacklog = 50_000_000
export const rowWeight = 1_000
const shownRecipients = 20
/** Milliseconds before the next try, doubled with each, up to the longest. */
const firstPause = 250
const longestPause = 5_000
/** Tries of a row that is refused by a database which answers otherwise. */
const triesOfARow = 3
/** Milliseconds. */
const pingTimeout = 5_000

interface WaitingRow {
  readonly row: SendLogRow
  readonly weight: number
}

/**
 * Writes the send log, off the path of the sends: they have happened, so a write that fails or waits changes nothing for
 * the sender. What comes while a write is under way waits in memory and goes with the next one, so that writes grow with the
 * load. While the database does not take rows it is tried again; what finds no room meanwhile is lost, counted, and told in
 * the log at the beginning and at the end. A write joins no transaction of the sender: rolling that back does not bring the
 * message back. A graceful stop writes what waits; a process that is killed loses it.
 */
export class SendRecorder {
  readonly #parts: RecorderParts
  /** The async context of the plugin, which is in no transaction. */
  readonly #outside = AsyncLocalStorage.snapshot()
  readonly #closing = new AbortController()
  /** The oldest first. */
  #waiting: WaitingRow[] = []
  #weight = 0
  /** Rows that ever waited, and those of them that wait no more. */
  #taken = 0
  #settled = 0
  #writer: Promise<void> | undefined
  /** Tries since the last write that worked. */
  #failures = 0
  /** Lost since the log last told of it. */
  #lost = 0
  /** Ends when the next write has ended, well or not. */
  #nextEnd = Promise.withResolvers<void>()

  constructor(parts: RecorderParts) {
    this.#parts = parts
  }

  record(send: FinishedSend): void {
    const row = rowOf(send, this.#parts.redact, new Date(this.#parts.clock.now()), null)
    const weight = rowWeight + (row.payload?.length ?? 0)
    const refused = this.#closing.signal.aborted ? 'the product stops' : 'too many rows wait for the database'
    if (this.#closing.signal.aborted || this.#weight + weight > largestBacklog) {
      this.#lose([row], refused)
      return
    }
    this.#waiting.push({ row, weight })
    this.#taken++
    this.#weight += weight
    this.#writer ??= this.#outside(() => this.#write())
  }

  /** Resolves when everything that was recorded before is in the table, or lost, or when a write of it has failed. */
  async written(): Promise<void> {
    const wanted = this.#taken
    while (this.#settled < wanted && this.#failures === 0) await this.#nextEnd.promise
  }

  /** Writes what waits, tries once, and takes no more. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.#writer
    this.#tellLost()
  }

  /**
   * Records that a row was sent again: the new row and the end of the claim, both or neither. Answers the id of the new
   * row, `null` when it could not be written; never throws.
   */
  async recordRetry(retryOfId: number, send: FinishedSend): Promise<number | null> {
    const { db, clock, redact } = this.#parts
    const row = rowOf(send, redact, new Date(clock.now()), retryOfId)
    try {
      return await db.transactional(async (em) => {
        // Whatever its state: an outcome that comes after the claim ran out is known all the same.
        const settled = { status: 'retried' as const, restorable: false, payload: null, claimedUntil: null }
        const options = db.dialect === 'sqlite' ? {} : { lockMode: LockMode.PESSIMISTIC_WRITE }
        const retried = await em.findOne(SendLog, { id: retryOfId }, { exclude: ['payload'], ...options })
        await em.nativeUpdate(SendLog, { id: retryOfId }, settled)
        const id = db.newId()
        await insertMissing(db, target, [valuesOf(id, row)])
        const moved =
          retried === null
            ? []
            : ([
                [kindOf(retried), -1],
                [kindOf(settled), 1],
              ] as const)
        await changeCounts(db, tallied([...moved, [kindOf(row), 1]]))
        return id
      })
    } catch (error) {
      this.#lose([row], reasonOf(error))
      this.#tellLost()
      return null
    }
  }

  async #write(): Promise<void> {
    const { clock, log } = this.#parts
    const ids = new Map<WaitingRow, number>()
    let size = largestBatch
    while (this.#waiting.length > 0) {
      // SQLite answers without leaving the event loop; and the sends of one turn go together.
      await nextTurn()
      const batch = this.#waiting.slice(0, size)
      try {
        await this.#insert(batch, ids)
        this.#forget(batch)
        if (this.#failures > 0) log.info({ waiting: this.#waiting.length }, 'the send log is written again')
        this.#failures = 0
        size = Math.min(largestBatch, size * 2)
        if (this.#waiting.length === 0) this.#tellLost()
        this.#endWrite()
      } catch (error) {
        await this.#failed(batch, error)
        size = Math.ceil(size / 4)
        this.#endWrite()
        if (this.#failures > 0) {
          const pause = Math.min(longestPause, firstPause * 2 ** (this.#failures - 1))
          await clock.sleep(pause, this.#closing.signal)
        }
      }
    }
    this.#writer = undefined
  }

  /** @param ids of rows that were tried before and may be there: nobody else writes these */
  async #insert(batch: readonly WaitingRow[], ids: Map<WaitingRow, number>): Promise<void> {
    const { db } = this.#parts
    const tried = batch.flatMap((waiting) => ids.get(waiting) ?? [])
    for (const waiting of batch) if (!ids.has(waiting)) ids.set(waiting, db.newId())
    await db.transactional(async (em) => {
      const there = tried.length === 0 ? [] : await em.find(SendLog, { id: { $in: tried } }, { fields: ['id'] })
      const known = new Set(there.map(({ id }) => id))
      const fresh = batch.flatMap((waiting) => {
        const id = ids.get(waiting) as number
        return known.has(id) ? [] : [{ id, row: waiting.row }]
      })
      await insertMissing(
        db,
        target,
        fresh.map(({ id, row }) => valuesOf(id, row)),
      )
      await changeCounts(db, tallied(fresh.map(({ row }) => [kindOf(row), 1])))
    })
    for (const waiting of batch) ids.delete(waiting)
  }

  async #failed(batch: readonly WaitingRow[], error: unknown): Promise<void> {
    const reason = reasonOf(error)
    this.#failures++
    if (this.#closing.signal.aborted) {
      this.#drop(this.#waiting, reason)
      return
    }
    if (this.#failures === 1) {
      this.#parts.log.error({ waiting: this.#waiting.length, reason }, 'the send log cannot be written; trying again')
    }
    if (batch.length > 1 || this.#failures < triesOfARow || !(await this.#answers())) return
    this.#drop(batch, reason)
  }

  /** Whether the database works, so that it is the row that it does not take. */
  async #answers(): Promise<boolean> {
    return this.#parts.db.ping(AbortSignal.timeout(pingTimeout)).then(
      () => true,
      () => false,
    )
  }

  #drop(batch: readonly WaitingRow[], reason: string): void {
    this.#lose(
      batch.map(({ row }) => row),
      reason,
    )
    this.#forget(batch)
    this.#failures = 0
  }

  #forget(batch: readonly WaitingRow[]): void {
    for (const { weight } of batch) this.#weight -= weight
    this.#waiting = this.#waiting.slice(batch.length)
    this.#settled += batch.length
  }

  #endWrite(): void {
    this.#nextEnd.resolve()
    this.#nextEnd = Promise.withResolvers()
  }

  /** The log tells of the first of them, and later how many there were. */
  #lose(rows: readonly SendLogRow[], reason: string): void {
    const { log, countLost } = this.#parts
    const [first] = rows
    if (first === undefined) return
    countLost?.(rows.length)
    if (this.#lost === 0) {
      log.error({ messageId: first.messageId, channel: first.channel, reason }, 'a send is not in the send log')
    }
    this.#lost += rows.length
  }

  #tellLost(): void {
    if (this.#lost > 1) this.#parts.log.error({ rows: this.#lost }, 'sends are not in the send log')
    this.#lost = 0
  }
}

type SendLogRow = Omit<SendLog, 'id' | 'claimedUntil'> & { readonly payload: string | null }

const target = {
  table: 'notification_send_log',
  unique: 'id',
  columns: [
    ...['id', 'channel', 'provider', 'status', 'message_id', 'recipients', 'recipient_count', 'subject', 'template'],
    ...['error_code', 'error_message', 'provider_code', 'provider_message', 'hint', 'restorable', 'payload'],
    ...['attempt', 'retry_of_id', 'trace_id', 'created_at'],
  ],
}

/** In the order of the columns. */
function valuesOf(id: number, row: SendLogRow): Parameter[] {
  return [
    ...[id, row.channel, row.provider ?? null, row.status, row.messageId, JSON.stringify(row.recipients)],
    ...[row.recipientCount, row.subject, row.template ?? null, row.errorCode ?? null, row.errorMessage ?? null],
    ...[row.providerCode ?? null, row.providerMessage ?? null, row.hint ?? null, row.restorable, row.payload],
    ...[row.attempt, row.retryOfId ?? null, row.traceId ?? null, row.createdAt],
  ]
}

/** No text holds a secret of the message or of the configuration, whatever a provider says. */
function rowOf(
  { message, result, idempotencyKey, attempt }: FinishedSend,
  redact: RecorderParts['redact'],
  createdAt: Date,
  retryOfId: number | null,
): SendLogRow {
  const { recipients, attributes } = message
  const secrets = [...secretsOf(message), ...secretAttributeValues(attributes)]
  const text = (value: string, length: number) => columnText(redact(value, secrets), length)
  const textOrNull = (value: string | null | undefined, length: number) => (value == null ? null : text(value, length))
  const payload = result.success ? null : snapshotText({ message, idempotencyKey }, redact)
  const { traceId } = attributes
  return {
    channel: columnText(result.channel, 64),
    provider: textOrNull(result.provider, 64),
    status: result.success ? 'success' : 'failed',
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
    retryOfId,
    traceId: typeof traceId === 'string' ? text(traceId, 128) : null,
    createdAt,
  }
}
