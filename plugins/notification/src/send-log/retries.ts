import type { Database } from '@plinth/database'
import { type AuditEntry, audit, isBusinessError, type Kernel, type Logger, reasonOf } from '@plinth/kernel'
import type { SendResult } from '../contract.ts'
import { changeMessageCounts } from '../delivery/message-counts.ts'
import { NotificationRow, SendLog, type SendLogState } from '../entities.ts'
import type { Outgoing, Prepared } from '../facade/outgoing.ts'
import { refusal } from '../failures.ts'
import { changeCounts, kindOf, tallied } from './counts.ts'
import type { SendEntry } from './entries.ts'
import type { SendRecorder } from './recorder.ts'
import type { Sending } from './row.ts'
import { rowLock } from './row-lock.ts'
import { restored } from './snapshot.ts'

/** Rows of one batch: they are sent one after the other while the caller waits. */
export const largestBatch = 50

/** Milliseconds that a retry may take on top of its channel's deadline until it is its turn. */
const claimSlackMs = 30_000

/** Milliseconds after the end of a claim at which it is over for every process. */
const claimEndMs = 1_000

export interface RetryOutcome {
  readonly id: number
  /** The new row; `null` when nothing was tried. */
  readonly logId: number | null
  readonly result: SendResult
}

/** Who asks, as the audit names it. */
export type RetryCaller = Pick<AuditEntry, 'actor' | 'clientIp' | 'traceId'>

export interface RetryParts {
  readonly db: Database
  readonly log: Logger
  readonly kernel: Pick<Kernel, 'contributions'>
  readonly outgoing: Outgoing
  readonly recorder: SendRecorder
  readonly sendDeadlineMs: () => number
  /** Has `retryByItself` called for the row again after a delay. */
  readonly retryLater: (id: number, delayMs: number) => Promise<unknown>
}

/** The right to send a row again. Its end names it: whoever claims the row after that has a later one. */
interface Claim {
  readonly id: number
  readonly claimedUntil: Date
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
    const { db, outgoing, retryLater } = this.#parts
    await releaseInterrupted(db)
    const status = { $in: ['failed', 'unknown', 'retried'] } as const
    const row = await db.fork().findOne(SendLog, { id, status, restorable: true })
    if (row === null || !outgoing.has(row.channel)) return
    if (row.status === 'retried') {
      await retryLater(id, Math.max(0, (row.claimedUntil?.getTime() ?? 0) - db.clock.expiryNow()) + claimEndMs)
      return
    }
    try {
      const [claimed] = await this.#claim([id], ['failed', 'unknown'], {})
      await this.#sendAgain(claimed as Claimed)
    } catch (error) {
      if (!isBusinessError(error)) throw error
      // Somebody was faster, and may yet come to nothing.
      if (error.reason === 'notification.send-log-not-failed') await retryLater(id, claimEndMs)
    }
  }

  async #claim(
    ids: readonly number[],
    states: readonly SendLogState[],
    within: object,
    entry?: AuditEntry,
  ): Promise<readonly Claimed[]> {
    const { db, kernel, outgoing, sendDeadlineMs } = this.#parts
    await releaseInterrupted(db)
    return db.transactional(async (em) => {
      // In the order of the ids, so that two batches never wait for each other.
      const among = { $and: [{ id: { $in: [...ids] } }, within] }
      const rows = await em.find(SendLog, among, { orderBy: { id: 'asc' } })
      const byId = new Map(rows.map((row) => [row.id, row]))
      refuse(
        'send-log-not-found',
        ids.filter((id) => !byId.has(id)),
      )
      refuse('send-log-not-failed', idsOf(rows.filter(({ status }) => !states.includes(status))))
      const sources = new Set(rows.flatMap(({ notificationId }) => notificationId ?? []))
      const stored = await em.find(NotificationRow, { id: { $in: [...sources] } }, { fields: ['id', 'payload'] })
      const payloads = new Map(stored.map(({ id, payload }) => [id, payload]))
      const claims = rows.map((row) => ({ row, sending: sendingOf(row, payloads.get(row.notificationId ?? 0)) }))
      refuse(
        'send-log-not-restorable',
        idsOf(claims.filter(({ sending }) => sending === undefined).map(({ row }) => row)),
      )
      for (const { channel } of rows) outgoing.requireChannel(channel)
      const claimedUntil = new Date(db.clock.expiryNow() + ids.length * (sendDeadlineMs() + claimSlackMs))
      for (const { id, status } of rows) {
        const claim = { status: 'retried', claimedUntil, claimedFrom: status } as const
        const claimed = await em.nativeUpdate(SendLog, { id, status, restorable: true }, claim)
        if (claimed === 0) refuse('send-log-not-failed', [id])
      }
      await changeCounts(db, tallied([...rows.map((row) => [kindOf(row), -1] as const), ['retried', rows.length]]))
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
    const { db, outgoing, recorder } = this.#parts
    const { id, channel, sending } = claimed
    const entry = recorder.entryOf(channel, sending, prepared.shown)
    await db.transactional(async () => {
      if (!(await settle(db, claimed))) refuse('send-log-not-failed', [id])
      await recorder.write([entry])
    })
    const result = 'result' in prepared ? prepared.result : await outgoing.call(prepared, sending)
    recorder.finish(entry, result)
    return { id, logId: entry.id as NonNullable<SendEntry['id']>, result }
  }

  /** Of a row that was not sent. What fails here is made good when the claim runs out. */
  async #release(claimed: Claimed): Promise<void> {
    const { db, log } = this.#parts
    const { id, before } = claimed
    try {
      await giveBack(db, heldBy(claimed), before)
    } catch (error) {
      log.error({ id, reason: reasonOf(error) }, 'a row of the send log stays claimed until its claim runs out')
    }
  }
}

const action = 'notification-send-log.retry'

const heldBy = ({ id, claimedUntil }: Claim) => ({ id, status: 'retried' as const, restorable: true, claimedUntil })

/** Ends the claim of a row whose message is about to be sent again. False when it ran out before. */
function settle(db: Database, claim: Claim): Promise<boolean> {
  return db.transactional(async (em) => {
    const row = await em.findOne(SendLog, heldBy(claim), { exclude: ['payload'], ...rowLock(db) })
    if (row === null) return false
    const settled = { status: 'retried', restorable: false, payload: null, ...unclaimed } as const
    await em.nativeUpdate(SendLog, { id: claim.id }, settled)
    const { notificationId, outcome } = row
    if (notificationId != null && outcome != null) await changeMessageCounts(db, [{ notificationId, outcome, by: -1 }])
    await changeCounts(
      db,
      tallied([
        [kindOf(row), -1],
        [kindOf(settled), 1],
      ]),
    )
    return true
  })
}

/** Gives back rows whose turn never came, because their process died. */
export async function releaseInterrupted(db: Database): Promise<void> {
  const interrupted = {
    status: 'retried' as const,
    restorable: true,
    claimedUntil: { $lt: new Date(db.clock.expiryNow()) },
  }
  const found = await db.fork().find(SendLog, interrupted, { fields: ['claimedFrom'], limit: markedTogether })
  // A row that an earlier release has claimed does not say what it was.
  for (const claimedFrom of new Set(found.map((row) => row.claimedFrom ?? null))) {
    await giveBack(db, { ...interrupted, claimedFrom }, claimedFrom ?? 'failed')
  }
}

/** What a row says that nobody has claimed. */
const unclaimed = { claimedUntil: null, claimedFrom: null } as const

const giveBack = (db: Database, where: object, status: SendLogState) =>
  db.transactional(async (em) => {
    const rows = await em.nativeUpdate(SendLog, where, { status, ...unclaimed })
    await changeCounts(
      db,
      tallied([
        ['retried', -rows],
        [kindOf({ status, restorable: true }), rows],
      ]),
    )
    return rows
  })

/** Makes `unknown` of what has been under way for longer than anything can be: its process died. */
export function markInterrupted(db: Database): Promise<number> {
  return markUnknown(db, { claimedUntil: { $lt: new Date(db.clock.expiryNow()) } })
}

/** Makes `unknown` of rows that say `sending`. */
export const markUnknown = (db: Database, where: object): Promise<number> =>
  db.transactional(async (em) => {
    const condition = { ...where, status: 'sending' as const }
    const rows = await em.find(SendLog, condition, {
      fields: ['id', 'notificationId'],
      orderBy: { id: 'asc' },
      limit: markedTogether,
      ...rowLock(db),
    })
    if (rows.length === 0) return 0
    const lost = { status: 'unknown', outcome: 'unknown', claimedUntil: null, ...interrupted } as const
    const changed = await em.nativeUpdate(SendLog, { id: { $in: idsOf(rows) }, status: 'sending' }, lost)
    const outcomes = rows.flatMap(({ notificationId }) =>
      notificationId == null ? [] : [{ notificationId, outcome: 'unknown' as const, by: 1 as const }],
    )
    await changeMessageCounts(db, outcomes)
    await changeCounts(db, { sending: -changed, unknown: changed })
    return changed
  })

/** Rows of one statement. */
const markedTogether = 1_000
const interrupted = {
  errorCode: 'notification.interrupted',
  errorMessage: 'The process ended while it was sending: it may or may not have been sent',
}

const idsOf = (rows: readonly { readonly id: number }[]) => rows.map(({ id }) => id)

function refuse(reason: Parameters<typeof refusal>[0], ids: readonly number[]): void {
  if (ids.length > 0) throw refusal(reason, { params: { ids: ids.join(', ') }, data: { ids } })
}

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
