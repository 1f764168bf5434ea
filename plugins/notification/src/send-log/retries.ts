import type { Database } from '@plinth/database'
import { type AuditEntry, audit, isBusinessError, type Kernel, type Logger, reasonOf } from '@plinth/kernel'
import type { SendResult } from '../contract.ts'
import { NotificationRow, SendLog, type SendLogState } from '../entities.ts'
import type { Outgoing, Prepared } from '../facade/outgoing.ts'
import type { SendRecorder } from './recorder.ts'
import type { SendEntry, Sending } from './row.ts'
import { type Claim, refuseRows, releaseInterrupted, type SendLogWriter } from './send-log-writer.ts'
import { restored } from './snapshot.ts'

/** Rows of one batch: they are sent one after the other while the caller waits. */
export const largestBatch = 50

/** Milliseconds after the end of a claim at which it is over for every process. */
const claimEndMs = 1_000

interface RetryOutcome {
  readonly id: number
  /** The new row; `null` when nothing was tried. */
  readonly logId: number | null
  readonly result: SendResult
}

/** Who asks, as the audit names it. */
type RetryCaller = Pick<AuditEntry, 'actor' | 'clientIp' | 'traceId'>

interface RetryParts {
  readonly db: Database
  readonly log: Logger
  readonly kernel: Pick<Kernel, 'contributions'>
  readonly outgoing: Outgoing
  readonly recorder: Pick<SendRecorder, 'finish'>
  readonly writer: SendLogWriter
}

interface Claimed extends Claim {
  readonly channel: string
  readonly sending: Sending
  readonly before: SendLogState
}

/** States that one retry takes: what may have been sent is sent again when somebody asks for just that row. */
const taken: readonly SendLogState[] = ['failed', 'unknown', 'dead']

/**
 * Sends failed messages again (document 2, "Batch retry rule"). A row is claimed first, to `retried` in one conditional update
 * together with the audit record, so of several callers one sends. When its turn comes, the claim ends together with the new
 * row, which says `sending` before anything leaves: when the process dies before that, the claim runs out and the row is as it
 * was; when it dies after it, the new row becomes `unknown`. Who comes to its turn when the claim has run out has lost it.
 */
export class SendLogRetries {
  readonly #parts: RetryParts

  constructor(parts: RetryParts) {
    this.#parts = parts
  }

  /**
   * Sends one row again, also one of unknown outcome.
   *
   * @param rows those that the caller may send again: others are not found
   * Throws `BusinessError` `404` `notification.send-log-not-found`, `409`
   * `notification.send-log-not-failed`, `409` `notification.send-log-not-restorable`, `400` `notification.channel-unknown`.
   */
  async retry(id: number, caller: RetryCaller, rows: object): Promise<RetryOutcome> {
    const [claimed] = await this.#claim([id], taken, rows, { ...caller, action, subject: id })
    return this.#sendAgain(claimed as Claimed)
  }

  /** Sends failed rows again, or none: throws as `retry` does when one of them cannot be. Duplicates count once. */
  async retryAll(ids: readonly number[], caller: RetryCaller, rows: object): Promise<readonly RetryOutcome[]> {
    const wanted = [...new Set(ids)]
    const outcomes: RetryOutcome[] = []
    const entry = { ...caller, action, summary: { ids: wanted } }
    for (const claimed of await this.#claim(wanted, ['failed'], rows, entry)) {
      outcomes.push(await this.#sendAgain(claimed))
    }
    return outcomes
  }

  /**
   * Sends a row again by itself, unless somebody has done so, or it cannot be any more. Of one that is claimed, perhaps by this
   * very retry in a process that died, that shows when the claim ends.
   */
  async retryByItself(id: number): Promise<void> {
    const { db, outgoing, writer } = this.#parts
    await releaseInterrupted(db)
    const status = { $in: ['failed', 'unknown', 'retried'] } as const
    const row = await db.fork().findOne(SendLog, { id, status, restorable: true })
    if (row === null || !outgoing.has(row.channel)) return
    if (row.status === 'retried') {
      await writer.retryLater(id, Math.max(0, (row.claimedUntil?.getTime() ?? 0) - db.clock.expiryNow()) + claimEndMs)
      return
    }
    try {
      for (const claimed of await this.#claim([id], ['failed', 'unknown'], {})) await this.#sendAgain(claimed)
    } catch (error) {
      if (!isBusinessError(error)) throw error
      // Somebody was faster, and may yet come to nothing.
      if (error.reason === 'notification.send-log-not-failed') await writer.retryLater(id, claimEndMs)
    }
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
      // In the order of the ids, so that two batches never wait for each other.
      const among = { $and: [{ id: { $in: [...ids] } }, within] }
      const rows = await em.find(SendLog, among, { orderBy: { id: 'asc' } })
      const byId = new Map(rows.map((row) => [row.id, row]))
      refuseRows(
        'send-log-not-found',
        ids.filter((id) => !byId.has(id)),
      )
      refuseRows('send-log-not-failed', idsOf(rows.filter(({ status }) => !states.includes(status))))
      const sources = new Set(rows.flatMap(({ notificationId }) => notificationId ?? []))
      const stored = await em.find(NotificationRow, { id: { $in: [...sources] } }, { fields: ['id', 'payload'] })
      const payloads = new Map(stored.map(({ id, payload }) => [id, payload]))
      const claims = rows.map((row) => ({ row, sending: sendingOf(row, payloads.get(row.notificationId ?? 0)) }))
      refuseRows(
        'send-log-not-restorable',
        idsOf(claims.filter(({ sending }) => sending === undefined).map(({ row }) => row)),
      )
      for (const { channel } of rows) outgoing.requireChannel(channel)
      const claimedUntil = await writer.claim(rows)
      if (entry !== undefined) await audit(kernel, entry)
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

  async #begin(claimed: Claimed, prepared: Prepared): Promise<RetryOutcome> {
    const { outgoing, recorder, writer } = this.#parts
    const { id, channel, sending } = claimed
    const entry = writer.entryOf(channel, sending, prepared.shown)
    await writer.beginRetry(claimed, entry)
    const result = 'result' in prepared ? prepared.result : await outgoing.call(prepared, sending)
    recorder.finish(entry, result)
    return { id, logId: entry.id as NonNullable<SendEntry['id']>, result }
  }

  /** Of a row that was not sent. What fails here is made good when the claim runs out. */
  async #release(claimed: Claimed): Promise<void> {
    const { log, writer } = this.#parts
    const { id, before } = claimed
    try {
      await writer.release(claimed, before)
    } catch (error) {
      log.error({ id, reason: reasonOf(error) }, 'a row of the send log stays claimed until its claim runs out')
    }
  }
}

const action = 'notification-send-log.retry'

const idsOf = (rows: readonly { readonly id: number }[]) => rows.map(({ id }) => id)

/** Undefined when the message cannot be restored. */
function sendingOf(row: SendLog, stored: string | null | undefined): Sending | undefined {
  const { id, payload, attempt, notificationId, restorable } = row
  if (!restorable || payload == null) return undefined
  const isStored = stored != null
  try {
    const delivery = notificationId == null ? undefined : { notificationId, isStored }
    return { ...restored(payload, stored), attempt: attempt + 1, retryOfId: id, delivery }
  } catch {
    return undefined
  }
}
