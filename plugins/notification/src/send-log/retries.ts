import type { Database } from '@plinth/database'
import {
  type AuditEntry,
  errorReason,
  isBusinessError,
  type Kernel,
  type Logger,
  writeAuditEntry,
} from '@plinth/kernel'
import type { SendResult } from '../contract.ts'
import { NotificationRow, SendLogRow, type SendLogState } from '../entities.ts'
import type { OutgoingMessages, PrepareResult } from '../facade/outgoing.ts'
import type { SendRecorder } from './recorder.ts'
import type { RecordedSend, SendEntry } from './row.ts'
import { rejectRows, releaseInterrupted, type SendLogClaim, type SendLogWriter } from './send-log-writer.ts'
import { restoreMessage } from './snapshot.ts'

/** Maximum number of rows per request, because they are sent one after another while the caller waits. */
export const largestBatch = 50

/**
 * Delay in milliseconds after which the claim of another caller is checked again. It allows for different clocks of the
 * processes.
 */
const claimEndMs = 1_000

interface RetryOutcome {
  readonly id: number
  /** Id in the send log; null if nothing was sent. */
  readonly logId: number | null
  readonly result: SendResult
}

type RetryCaller = Pick<AuditEntry, 'actor' | 'clientIp' | 'traceId'>

interface RetryDependencies {
  readonly db: Database
  readonly log: Logger
  readonly kernel: Pick<Kernel, 'contributions'>
  readonly outgoing: OutgoingMessages
  readonly recorder: Pick<SendRecorder, 'finish'>
  readonly writer: SendLogWriter
}

interface Claimed extends SendLogClaim {
  readonly channel: string
  readonly sending: RecordedSend
  readonly before: SendLogState
}

/**
 * States from which a single row can be sent again. A batch excludes rows with unknown outcome, because their message
 * may have been sent.
 */
const retriedStates: readonly SendLogState[] = ['failed', 'unknown', 'dead']

/**
 * Sends failed messages again (document 2 of the specification, "Batch retry rule"). A conditional update claims the
 * row as `retried`, so one of several callers sends. Just before the send, one transaction ends the claim and writes a
 * new row in state `sending`. If the process dies earlier, the claim expires and the row gets its old state back. If it
 * dies later, the new row becomes `unknown`.
 */
export class SendLogRetries {
  readonly #parts: RetryDependencies

  constructor(parts: RetryDependencies) {
    this.#parts = parts
  }

  /**
   * Sends one message again, even if its outcome is unknown.
   *
   * @param rows condition for the rows that the caller may send again; other rows are not found
   * @throws BusinessError "404" `notification.send-log-not-found`, "409" `notification.send-log-not-failed`, "409"
   * `notification.send-log-not-restorable`, "400" `notification.channel-unknown`
   */
  async retry(id: number, caller: RetryCaller, rows: object): Promise<RetryOutcome> {
    const [claimed] = await this.#claim([id], retriedStates, rows, { ...caller, action, subject: id })
    return this.#sendAgain(claimed as Claimed)
  }

  /**
   * Sends several messages again. If one of them cannot be sent again, throws the errors of `retry` and sends nothing.
   */
  async retryAll(ids: readonly number[], caller: RetryCaller, rows: object): Promise<readonly RetryOutcome[]> {
    const expected = [...new Set(ids)]
    const outcomes: RetryOutcome[] = []
    const entry = { ...caller, action, summary: { ids: expected } }
    for (const claimed of await this.#claim(expected, ['failed'], rows, entry)) {
      outcomes.push(await this.#sendAgain(claimed))
    }
    return outcomes
  }

  /**
   * Makes the next attempt of a row that waits for it. If another process has claimed the row, it is checked again after
   * the end of that claim. If the message was cancelled or cannot be attempted any more, the row has failed.
   */
  async retryByItself(id: number): Promise<void> {
    const { db, outgoing, writer } = this.#parts
    await releaseInterrupted(db)
    const status = { $in: ['waiting', 'retried'] } as const
    const row = await db.fork().findOne(SendLogRow, { id, status, restorable: true })
    if (row === null) return
    if (!outgoing.has(row.channel)) return writer.giveUp(id, row.status)
    const fields = ['state', 'payload'] as const
    const message = await db.fork().findOne(NotificationRow, { id: row.notificationId ?? 0 }, { fields })
    if (row.status === 'waiting' && message?.state === 'cancelled') return writer.giveUp(id, 'waiting')
    if (row.status === 'waiting' && row.outcome == null) return this.#resume(row, message?.payload)
    if (row.status === 'retried') {
      await writer.retryLater(id, Math.max(0, (row.claimedUntil?.getTime() ?? 0) - db.clock.expiryNow()) + claimEndMs)
      return
    }
    try {
      for (const claimed of await this.#claim([id], ['waiting'], {})) {
        const { result } = await this.#sendAgain({ ...claimed, sending: { ...claimed.sending, isRetried: true } })
        if (result.skipped === true) await writer.giveUp(id, 'waiting')
      }
    } catch (error) {
      if (!isBusinessError(error)) throw error
      // Another caller has claimed the row and may die before it sends. Therefore the row is checked again later.
      if (error.reason === 'notification.send-log-not-failed') await writer.retryLater(id, claimEndMs)
      else await writer.giveUp(id, 'waiting')
    }
  }

  /** Sends a message that waited for a rate limit of the product. The row of this attempt already exists. */
  async #resume(row: SendLogRow, payload: string | null | undefined): Promise<void> {
    const { outgoing, recorder, writer } = this.#parts
    const { id, channel, attempt, retryOfId, createdAt } = row
    const restored = sendingOf(row, payload)
    if (restored === undefined) return writer.giveUp(id, 'waiting')
    const sending = { ...restored, attempt, retryOfId: retryOfId ?? undefined, isRetried: true }
    const prepared = await outgoing.prepare(channel, sending)
    if ('result' in prepared && prepared.result.skipped === true) return writer.giveUp(id, 'waiting')
    const entry = Object.assign(writer.entryOf(channel, sending, prepared.shown), { id, tried: true })
    entry.row = { ...entry.row, createdAt }
    if (!(await writer.resume(entry))) return
    const call = async () => ('result' in prepared ? prepared.result : outgoing.call(prepared, sending))
    recorder.finish(entry, await outgoing.tracked(call()))
  }

  async #claim(
    ids: readonly number[],
    states: readonly SendLogState[],
    within: object,
    entry?: AuditEntry,
  ): Promise<readonly Claimed[]> {
    const { db, kernel, outgoing, writer } = this.#parts
    await releaseInterrupted(db)
    return db.transactional(async (em) => {
      // Rows are locked in the order of their ids, because this prevents deadlocks between two batches.
      const among = { $and: [{ id: { $in: [...ids] } }, within] }
      const rows = await em.find(SendLogRow, among, { orderBy: { id: 'asc' } })
      const byId = new Map(rows.map((row) => [row.id, row]))
      rejectRows(
        'send-log-not-found',
        ids.filter((id) => !byId.has(id)),
      )
      rejectRows('send-log-not-failed', idsOf(rows.filter(({ status }) => !states.includes(status))))
      const sources = new Set(rows.flatMap(({ notificationId }) => notificationId ?? []))
      const stored = await em.find(NotificationRow, { id: { $in: [...sources] } }, { fields: ['id', 'payload'] })
      const payloads = new Map(stored.map(({ id, payload }) => [id, payload]))
      const claims = rows.map((row) => ({ row, sending: sendingOf(row, payloads.get(row.notificationId ?? 0)) }))
      rejectRows(
        'send-log-not-restorable',
        idsOf(claims.filter(({ sending }) => sending === undefined).map(({ row }) => row)),
      )
      for (const { channel } of rows) outgoing.requireChannel(channel)
      const claimedUntil = await writer.claim(rows)
      if (entry !== undefined) await writeAuditEntry(kernel, entry)
      const claimed = new Map(
        claims.flatMap(({ row: { id, channel, status }, sending }) =>
          sending === undefined ? [] : [[id, { id, channel, sending, before: status, claimedUntil }] as const],
        ),
      )
      return ids.flatMap((id) => claimed.get(id) ?? [])
    })
  }

  async #sendAgain(claimed: Claimed): Promise<RetryOutcome> {
    const { outgoing } = this.#parts
    const { id, channel, sending } = claimed
    const prepared = await outgoing.prepare(channel, sending)
    if ('result' in prepared && prepared.result.skipped === true) {
      await this.#release(claimed)
      return { id, logId: null, result: prepared.result }
    }
    return outgoing.tracked(this.#begin(claimed, prepared))
  }

  async #begin(claimed: Claimed, prepared: PrepareResult): Promise<RetryOutcome> {
    const { outgoing, recorder, writer } = this.#parts
    const { id, channel, sending } = claimed
    const entry = writer.entryOf(channel, sending, prepared.shown)
    await writer.beginRetry(claimed, entry)
    const result = 'result' in prepared ? prepared.result : await outgoing.call(prepared, sending)
    recorder.finish(entry, result)
    return { id, logId: entry.id as NonNullable<SendEntry['id']>, result }
  }

  /** Gives the row its old state back. If this fails, the claim expires later. */
  async #release(claimed: Claimed): Promise<void> {
    const { log, writer } = this.#parts
    const { id, before } = claimed
    try {
      await writer.release(claimed, before)
    } catch (error) {
      log.error(
        { id, reason: errorReason(error) },
        'the claim of a send log row could not be released; it expires on its own',
      )
    }
  }
}

const action = 'notification-send-log.retry'

const idsOf = (rows: readonly { readonly id: number }[]) => rows.map(({ id }) => id)

/** Restores the send of a row; undefined if its message cannot be restored. */
/** Returns the stored message of a row as its next attempt; undefined if it is not stored. */
export function sendingOf(row: SendLogRow, stored: string | null | undefined): RecordedSend | undefined {
  const { id, payload, attempt, notificationId, restorable } = row
  if (!restorable || payload == null) return undefined
  const isStored = stored != null
  try {
    const delivery = notificationId == null ? undefined : { notificationId, isStored }
    return { ...restoreMessage(payload, stored), attempt: attempt + 1, retryOfId: id, delivery }
  } catch {
    return undefined
  }
}
