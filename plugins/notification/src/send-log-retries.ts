import type { Database } from '@plinth/database'
import { type AuditEntry, audit, type Clock, type Kernel, type Logger, reasonOf } from '@plinth/kernel'
import type { SendResult } from './contract.ts'
import { SendLog } from './entities.ts'
import { refusal } from './failures.ts'
import { retryable } from './send-log.ts'
import { changeCounts } from './send-log-counts.ts'
import type { SendRecorder } from './send-recorder.ts'
import type { ChannelNotification, Sending } from './service.ts'
import { restored } from './snapshot.ts'

/** Rows of one batch: they are sent one after the other while the caller waits. */
export const largestBatch = 50

/** Milliseconds that a retry may take on top of its channel's deadline until its outcome is recorded. */
const claimSlackMs = 30_000

export interface RetryOutcome {
  readonly id: number
  /** The new row; `null` when nothing was tried or it could not be written. */
  readonly logId: number | null
  readonly result: SendResult
}

/** Who asks, as the audit names it. */
export type RetryCaller = Pick<AuditEntry, 'actor' | 'clientIp' | 'traceId'>

export interface RetryParts {
  readonly db: Database
  readonly clock: Pick<Clock, 'now'>
  readonly log: Logger
  readonly kernel: Pick<Kernel, 'contributions'>
  readonly facade: Pick<ChannelNotification, 'requireChannel' | 'resend'>
  readonly recorder: Pick<SendRecorder, 'recordRetry'>
  readonly sendDeadlineMs: () => number
}

interface Claimed {
  readonly id: number
  readonly channel: string
  readonly sending: Sending
}

/**
 * Sends failed messages again (document 2, "Batch retry rule"). A row is claimed before it is sent, `failed` to `retried`
 * in one conditional update together with the audit record, so of several callers one sends. The claim ends with the new
 * row. When the process dies in between, the claim runs out and the row is `failed` again: it may then be sent a second
 * time, under the same idempotency key as before.
 */
export class SendLogRetries {
  readonly #parts: RetryParts

  constructor(parts: RetryParts) {
    this.#parts = parts
  }

  /**
   * Sends one row again. Throws `BusinessError` `404` `notification.send-log-not-found`, `409`
   * `notification.send-log-not-failed`, `409` `notification.send-log-not-restorable`, `400` `notification.channel-unknown`.
   */
  async retry(id: number, caller: RetryCaller): Promise<RetryOutcome> {
    const [claimed] = await this.#claim([id], { ...caller, action, subject: id })
    return this.#sendAgain(claimed as Claimed)
  }

  /** Sends all rows again, or none: throws as `retry` does when one of them cannot be. Duplicates count once. */
  async retryAll(ids: readonly number[], caller: RetryCaller): Promise<readonly RetryOutcome[]> {
    const wanted = [...new Set(ids)]
    const outcomes: RetryOutcome[] = []
    for (const claimed of await this.#claim(wanted, { ...caller, action, summary: { ids: wanted } })) {
      outcomes.push(await this.#sendAgain(claimed))
    }
    return outcomes
  }

  async #claim(ids: readonly number[], entry: AuditEntry): Promise<readonly Claimed[]> {
    const { db, clock, kernel, facade, sendDeadlineMs } = this.#parts
    await releaseInterrupted(db, clock)
    return db.transactional(async (em) => {
      // In the order of the ids, so that two batches never wait for each other.
      const rows = await em.find(SendLog, { id: { $in: [...ids] } }, { orderBy: { id: 'asc' } })
      const byId = new Map(rows.map((row) => [row.id, row]))
      refuse(
        'send-log-not-found',
        ids.filter((id) => !byId.has(id)),
      )
      refuse('send-log-not-failed', idsOf(rows.filter(({ status }) => status !== 'failed')))
      refuse('send-log-not-restorable', idsOf(rows.filter(({ restorable }) => !restorable)))
      for (const { channel } of rows) facade.requireChannel(channel)
      const claimedUntil = new Date(clock.now() + ids.length * (sendDeadlineMs() + claimSlackMs))
      for (const { id } of rows) {
        const claimed = await em.nativeUpdate(SendLog, { id, ...retryable }, { status: 'retried', claimedUntil })
        if (claimed === 0) refuse('send-log-not-failed', [id])
      }
      await changeCounts(db, { retryable: -rows.length, retried: rows.length })
      await audit(kernel, entry)
      return ids.map((id) => claimOf(byId.get(id) as SendLog))
    })
  }

  async #sendAgain({ id, channel, sending }: Claimed): Promise<RetryOutcome> {
    const { facade, recorder } = this.#parts
    const result = await facade.resend(channel, sending)
    if (result.skipped !== true) return { id, logId: await recorder.recordRetry(id, { ...sending, result }), result }
    await this.#release(id)
    return { id, logId: null, result }
  }

  /** Of a row that was not sent. What fails here is made good when the claim runs out. */
  async #release(id: number): Promise<void> {
    const { db, log } = this.#parts
    try {
      await giveBack(db, { id, status: 'retried', restorable: true })
    } catch (error) {
      log.error({ id, reason: reasonOf(error) }, 'a row of the send log stays claimed until its claim runs out')
    }
  }
}

const action = 'notification-send-log.retry'

const released = { status: 'failed', claimedUntil: null } as const

/** Gives back rows whose retry never came to an end, because its process died or the outcome could not be recorded. */
export function releaseInterrupted(db: Database, clock: Pick<Clock, 'now'>): Promise<number> {
  const interrupted = { status: 'retried' as const, restorable: true, claimedUntil: { $lt: new Date(clock.now()) } }
  return giveBack(db, interrupted)
}

const giveBack = (db: Database, where: object) =>
  db.transactional(async (em) => {
    const rows = await em.nativeUpdate(SendLog, where, released)
    await changeCounts(db, { retried: -rows, retryable: rows })
    return rows
  })

const idsOf = (rows: readonly SendLog[]) => rows.map(({ id }) => id)

function refuse(reason: Parameters<typeof refusal>[0], ids: readonly number[]): void {
  if (ids.length > 0) throw refusal(reason, { params: { ids: ids.join(', ') }, data: { ids } })
}

function claimOf({ id, channel, payload, attempt }: SendLog): Claimed {
  return { id, channel, sending: { ...restored(payload as string), attempt: attempt + 1 } }
}
