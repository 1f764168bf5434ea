import { type Database, insertMissingRows, insertOrReplaceRows } from '@plinth/database'
import { type Events, event } from '@plinth/events'
import { Type } from '@plinth/http'
import type { Clock, ConfigView, NotificationChannel } from '@plinth/kernel'
import type { keys } from '../config.ts'
import type { SendResult } from '../contract.ts'
import { businessError } from '../declarations.ts'
import { SendLogRow, type SendLogState } from '../entities.ts'
import type { NotificationSettings } from '../facade/outgoing.ts'
import type { OwnerOf } from '../recipients.ts'
import {
  changeCounts,
  changeMessageCounts,
  countsByKind,
  type OutcomeChange,
  type SendLogKind,
  sendLogKindOf,
} from './counts.ts'
import { resolveUnknown } from './delivery-states.ts'
import { sendFailed, sendSucceeded } from './end-events.ts'
import {
  createFinishedRow,
  createSendingRow,
  entryOf,
  type NewSendLog,
  outcomeProperties,
  type RecordedSend,
  type RenderedSubject,
  rowLock,
  type SendEntry,
} from './row.ts'

interface Verdict {
  readonly status: SendLogState
  readonly retryInMs?: number | undefined
}

/** Milliseconds for which a message waits for a rate limit of the product. After that, it has failed. */
const maxLimitWaitMs = 12 * 3_600_000
/**
 * Number of attempts whose delay the channel decides. Later delays also grow, so that a server that always asks for a
 * short delay does not use up the attempts.
 */
const requestedDelays = 3

interface RetrySettings {
  readonly enabled: boolean
  /** Maximum number of attempts, including the first send. */
  readonly maxAttempts: number
  /** Milliseconds. */
  readonly firstDelayMs: number
  readonly factor: number
  /** Milliseconds. */
  readonly maxDelayMs: number
}

/**
 * Decides the state of a row after its send. A message that was not sent, or that an idempotent channel may have sent,
 * waits for its next attempt, but never less than the provider asked for. After the last attempt, it has failed.
 *
 * @param random from 0 to below 1. Half of the delay is random, so that messages that failed together are retried at
 *   different times.
 */
function decideRetry(
  { success, outcome, retryAfterMs = 0, isAttempted = true }: SendResult,
  { restorable, attempt, createdAt }: Pick<NewSendLog, 'restorable' | 'attempt' | 'createdAt'>,
  channel: Pick<NotificationChannel, 'traits'> | undefined,
  settings: RetrySettings,
  random: () => number,
  nowMs: number,
): Verdict {
  if (success) return { status: 'success' }
  const status = outcome === 'unknown' ? 'unknown' : 'failed'
  const mayRepeat = outcome === 'deferred' || (outcome === 'unknown' && channel?.traits.idempotent === true)
  if (!settings.enabled || !mayRepeat || !restorable) return { status }
  if (!isAttempted) {
    const isOver = nowMs - createdAt.getTime() >= maxLimitWaitMs
    return isOver ? { status } : { status: 'waiting', retryInMs: retryAfterMs }
  }
  if (attempt >= settings.maxAttempts) return { status }
  const full = Math.min(settings.maxDelayMs, settings.firstDelayMs * settings.factor ** (attempt - 1))
  const backoffMs = Math.round(full / 2 + (random() * full) / 2)
  const isRequested = retryAfterMs > 0 && attempt <= requestedDelays
  return { status: 'waiting', retryInMs: isRequested ? retryAfterMs : Math.max(backoffMs, retryAfterMs) }
}

/** Event: a row is due for an automatic retry. */
export const retryDue = event('notification.retry', Type.Object({ logId: Type.Integer() }))

export interface SendLogWriterDependencies {
  readonly db: Database
  /** Undefined in a product without the plugin `events`. Nothing is then retried automatically. */
  readonly events: Pick<Events, 'publish' | 'isHandled'> | undefined
  readonly clock: Pick<Clock, 'now'>
  readonly config: Pick<ConfigView<typeof keys>, 'get'>
  readonly settings: Pick<NotificationSettings, 'sendDeadlineMs'>
  readonly channels: ReadonlyMap<string, Pick<NotificationChannel, 'traits'>>
  /** Masks secrets of the configuration. */
  readonly redact: (text: string, more?: Iterable<unknown>) => string
  readonly ownerOf: OwnerOf
}

/** A claim of a row for a retry. `claimedUntil` identifies the claim, because a later claim ends later. */
export interface SendLogClaim {
  readonly id: number
  readonly claimedUntil: Date
}

type Stored = Pick<SendLogRow, 'id' | 'status' | 'restorable' | 'outcome' | 'deliveryState' | 'userId' | 'orgId'>

/** Milliseconds after the deadline of the channel by which a send must have ended and its outcome must be stored. */
const recordSlackMs = 30_000
/** Milliseconds after the time of its next attempt at which the event of a waiting row counts as lost. */
const overdueMs = 600_000
/** Milliseconds of a claim in addition to the deadline of the channel. */
const claimSlackMs = 30_000

/**
 * Makes all changes to the send log, except the purge, and decides about automatic retries. Each change updates the
 * counts in the same transaction.
 */
export class SendLogWriter {
  readonly #parts: SendLogWriterDependencies

  constructor(parts: SendLogWriterDependencies) {
    this.#parts = parts
  }

  /** Builds the row of a send without storing it. */
  entryOf(channel: string, sending: RecordedSend, shown: RenderedSubject): SendEntry {
    const { clock, redact, settings } = this.#parts
    const now = clock.now()
    const until = new Date(now + settings.sendDeadlineMs + recordSlackMs)
    return entryOf(sending, createSendingRow(channel, sending, shown, redact, new Date(now), until))
  }

  /** Sets the result of the entry and decides about a retry, without storing the row. */
  conclude(entry: SendEntry, result: SendResult): void {
    const { channels, config, clock, events, redact } = this.#parts
    const now = clock.now()
    const retry = {
      enabled: entry.isRetried && events !== undefined && config.get('platform.notification.retry.enabled'),
      maxAttempts: config.get('platform.notification.retry.max-attempts'),
      firstDelayMs: config.get('platform.notification.retry.first-delay'),
      factor: config.get('platform.notification.retry.factor'),
      maxDelayMs: config.get('platform.notification.retry.longest-delay'),
    }
    const channel = channels.get(entry.row.channel)
    const { status, retryInMs } = decideRetry(result, entry.row, channel, retry, Math.random, now)
    const nextAttemptAt = retryInMs === undefined ? null : new Date(now + retryInMs)
    entry.row = createFinishedRow(entry.row, entry.message, result, { status, nextAttemptAt }, redact)
    entry.retryInMs = retryInMs
  }

  /**
   * Writes entries and publishes their retries in one transaction, which joins the current one. If the same entries are
   * written again, nothing changes.
   *
   * @throws the errors of `Database.transactional`
   */
  async write(entries: readonly SendEntry[]): Promise<void> {
    if (entries.length === 0) return
    const { db, ownerOf } = this.#parts
    const batch = entries.map((entry) => {
      entry.id ??= db.newId()
      const { id, message, row, tried } = entry
      entry.tried = true
      // The event of a part, which keeps the order of an address, sends a delivery that was not attempted.
      const isOfPart = row.deliveryKey != null && row.outcome === null
      return { id, message, row, tried, retryInMs: isOfPart ? undefined : entry.retryInMs }
    })
    await db.transactional(async (em) => {
      const known = batch.flatMap(({ id, tried }) => (tried ? [id] : []))
      // Reads the rows again, because another process may have marked a row as interrupted, or removed it.
      const fields = ['id', 'status', 'restorable', 'outcome', 'deliveryState', 'userId', 'orgId'] as const
      const rows: readonly Stored[] =
        known.length === 0
          ? []
          : await em.find(SendLogRow, { id: { $in: known } }, { fields, orderBy: { id: 'asc' }, ...rowLock(db) })
      const before = new Map(rows.map((row) => [row.id, row]))
      const fresh = batch.filter(({ id }) => !before.has(id))
      const ended = batch.filter(({ id, row }) => isEnding(before.get(id), row)).sort((a, b) => a.id - b.id)
      await insertMissingRows(
        db,
        SendLogRow,
        'id',
        await Promise.all(
          fresh.map(async ({ id, row, message }) => ({ ...row, ...(await ownerOf(message.recipients)), id })),
        ),
      )
      await insertOrReplaceRows(
        db,
        SendLogRow,
        { key: 'id', sets: outcomeProperties },
        ended.map(({ id, row }) => ({ ...row, id })),
      )

      const kinds: (readonly [SendLogKind, number])[] = []
      const outcomes: OutcomeChange[] = []
      for (const { id, row, retryInMs } of [...fresh, ...ended]) {
        const old = before.get(id)
        if (old !== undefined) kinds.push([sendLogKindOf(old), -1])
        kinds.push([sendLogKindOf(row), 1])
        const { notificationId } = row
        if (notificationId != null) {
          if (old?.outcome != null) outcomes.push({ notificationId, outcome: old.outcome, by: -1 })
          if (row.outcome != null) outcomes.push({ notificationId, outcome: row.outcome, by: 1 })
        }
        if (retryInMs !== undefined) await this.retryLater(id, retryInMs)
      }
      for (const { id, row, message } of [...fresh, ...ended]) await this.#publishEnd(id, row, message)
      await changeMessageCounts(db, outcomes)
      await changeCounts(db, countsByKind(kinds))
      for (const { id, row } of ended) {
        const { deliveryState, userId, orgId } = before.get(id) as Stored
        // A provider may report the message before its send has an outcome.
        await resolveUnknown(this.#parts, { ...row, id, deliveryState, userId, orgId })
      }
    })
  }

  /** Publishes the end of a send, in the current transaction. */
  async #publishEnd(sendLogId: number, row: NewSendLog, { recipients }: SendEntry['message']): Promise<void> {
    const { events, ownerOf } = this.#parts
    const ref = row.status === 'success' ? sendSucceeded : row.status === 'failed' ? sendFailed : undefined
    if (ref === undefined || events?.isHandled(ref) !== true) return
    const { channel, attempt, notificationId, errorCode } = row
    const { userId, orgId } = await ownerOf(recipients)
    const about = { notificationId, errorCode, userId, orgId }
    const known = Object.fromEntries(Object.entries(about).filter(([, value]) => value != null))
    await events.publish(ref, { sendLogId, channel, attempt, ...known })
  }

  /** Publishes `retryDue` in the current transaction. */
  async retryLater(logId: number, delayMs: number): Promise<void> {
    await this.#parts.events?.publish(retryDue, { logId }, { delayMs })
  }

  /**
   * Begins the send of a row that waits and was not attempted. @param entry entry of the row
   * @returns false if the row does not wait any more
   */
  async resume(entry: SendEntry): Promise<boolean> {
    const { db } = this.#parts
    const where = { id: entry.id as number, status: 'waiting' as const, outcome: null }
    return db.transactional(async (em) => {
      const { claimedUntil } = entry.row
      const resumed = await em.nativeUpdate(SendLogRow, where, { status: 'sending', claimedUntil })
      await changeCounts(db, { waiting: -resumed, sending: resumed })
      return resumed > 0
    })
  }

  /** Ends the automatic retries of a row. */
  async giveUp(id: number, status: SendLogState): Promise<void> {
    await giveBack(this.#parts.db, { id, status }, 'failed', status)
  }

  /**
   * Claims rows for retries. The claims last long enough to send the rows one after another. Call it in the transaction
   * that read the rows.
   *
   * @returns the end of the claims
   * @throws BusinessError "409" `notification.send-log-not-failed` if another caller has claimed a row; the caller must
   * then roll back
   */
  async claim(rows: readonly Pick<SendLogRow, 'id' | 'status' | 'restorable'>[]): Promise<Date> {
    const { db, settings } = this.#parts
    const claimedUntil = new Date(db.clock.expiryNow() + rows.length * (settings.sendDeadlineMs + claimSlackMs))
    await db.transactional(async (em) => {
      for (const { id, status } of rows) {
        const claim = { status: 'retried', claimedUntil, claimedFrom: status } as const
        const claimed = await em.nativeUpdate(SendLogRow, { id, status, restorable: true }, claim)
        if (claimed === 0) rejectRows('send-log-not-failed', [id])
      }
      await changeCounts(
        db,
        countsByKind([...rows.map((row) => [sendLogKindOf(row), -1] as const), ['retried', rows.length]]),
      )
    })
    return claimedUntil
  }

  /**
   * Ends the claim and writes the row of the retry.
   *
   * @throws BusinessError "409" `notification.send-log-not-failed` if the claim has expired
   */
  async beginRetry(claim: SendLogClaim, retry: SendEntry): Promise<void> {
    const { db } = this.#parts
    await db.transactional(async (em) => {
      const row = await em.findOne(SendLogRow, heldBy(claim), { exclude: ['payload'], ...rowLock(db) })
      if (row === null) throw rejectedRows('send-log-not-failed', [claim.id])
      const settled = { status: 'retried', restorable: false, payload: null, ...unclaimed } as const
      await em.nativeUpdate(SendLogRow, { id: claim.id }, settled)
      const { notificationId, outcome } = row
      if (notificationId != null && outcome != null) {
        await changeMessageCounts(db, [{ notificationId, outcome, by: -1 }])
      }
      await changeCounts(
        db,
        countsByKind([
          [sendLogKindOf(row), -1],
          [sendLogKindOf(settled), 1],
        ]),
      )
      await this.write([retry])
    })
  }

  /** Ends a claim without a retry. @param status state of the row before the claim */
  async release(claim: SendLogClaim, status: SendLogState): Promise<void> {
    await giveBack(this.#parts.db, heldBy(claim), status)
  }

  /** Marks sends as `unknown`, because the process that sent them has died. */
  async markUnknown(ids: readonly number[]): Promise<void> {
    await markUnknown(this.#parts.db, { id: { $in: [...ids] } })
  }
}

/** True if the row ends a send. An outcome applies only to rows in state `sending` or `unknown`. */
const isEnding = (before: Stored | undefined, row: NewSendLog) =>
  before !== undefined &&
  row.status !== 'sending' &&
  ['sending', 'unknown'].includes(before.status) &&
  !(before.status === row.status && before.outcome === row.outcome)

const heldBy = ({ id, claimedUntil }: SendLogClaim) => ({
  id,
  status: 'retried' as const,
  restorable: true,
  claimedUntil,
})

const unclaimed = { claimedUntil: null, claimedFrom: null } as const

const giveBack = (db: Database, where: object, status: SendLogState, from: SendLogState = 'retried') =>
  db.transactional(async (em) => {
    const dueAt = status === 'waiting' ? { claimedUntil: new Date(db.clock.now()) } : {}
    const rows = await em.nativeUpdate(SendLogRow, where, { status, ...unclaimed, ...dueAt })
    await changeCounts(
      db,
      countsByKind([
        [from, -rows],
        [sendLogKindOf({ status, restorable: true }), rows],
      ]),
    )
  })

/** Gives rows their old state back if the process died before the retry began. */
export async function releaseInterrupted(db: Database): Promise<void> {
  const interrupted = {
    status: 'retried' as const,
    restorable: true,
    claimedUntil: { $lt: new Date(db.clock.expiryNow()) },
  }
  const found = await db.fork().find(SendLogRow, interrupted, { fields: ['claimedFrom'], limit: markedTogether })
  // Rows of earlier releases have no `claimedFrom`. They get the state `failed`.
  for (const claimedFrom of new Set(found.map((row) => row.claimedFrom ?? null))) {
    await giveBack(db, { ...interrupted, claimedFrom }, claimedFrom ?? 'failed')
  }
}

/** Publishes the retries of rows that have waited too long, because their event was lost. */
export async function publishOverdue(db: Database, events: Pick<Events, 'publish'>): Promise<void> {
  const overdue = { status: 'waiting' as const, claimedUntil: { $lt: new Date(db.clock.now() - overdueMs) } }
  await db.transactional(async (em) => {
    const query = { ...rowLock(db), fields: ['id'], orderBy: { claimedUntil: 'asc' }, limit: markedTogether } as const
    const ids = (await em.find(SendLogRow, overdue, query)).map(({ id }) => id)
    if (ids.length === 0) return
    const now = { claimedUntil: new Date(db.clock.now()) }
    await em.nativeUpdate(SendLogRow, { id: { $in: ids }, status: 'waiting' }, now)
    for (const logId of ids) await events.publish(retryDue, { logId })
  })
}

/**
 * Marks sends as `unknown` that should have ended by now, which means that their process has died. @returns the number
 * of rows
 */
export function markInterrupted(db: Database): Promise<number> {
  return markUnknown(db, { claimedUntil: { $lt: new Date(db.clock.expiryNow()) } })
}

const markUnknown = (db: Database, where: object): Promise<number> =>
  db.transactional(async (em) => {
    const condition = { ...where, status: 'sending' as const }
    const rows = await em.find(SendLogRow, condition, {
      ...rowLock(db),
      fields: ['id', 'notificationId', 'deliveryState', 'restorable', 'channel', 'attempt', 'userId', 'orgId'],
      orderBy: { id: 'asc' },
      limit: markedTogether,
    })
    if (rows.length === 0) return 0
    const lost = { status: 'unknown', outcome: 'unknown', claimedUntil: null, ...interruption } as const
    const ids = rows.map(({ id }) => id)
    const changed = await em.nativeUpdate(SendLogRow, { id: { $in: ids }, status: 'sending' }, lost)
    const outcomes = rows.flatMap(({ notificationId }) =>
      notificationId == null ? [] : [{ notificationId, outcome: 'unknown' as const, by: 1 as const }],
    )
    await changeMessageCounts(db, outcomes)
    await changeCounts(db, { sending: -changed, unknown: changed })
    // A provider may have reported the message before its process died.
    for (const row of rows) await resolveUnknown({ db, events: undefined }, { ...row, ...lost })
    return changed
  })

const markedTogether = 1_000
/** Error of a send whose process ended before the outcome was stored. */
export const interruption = {
  errorCode: 'notification.interrupted',
  errorMessage: 'The process ended while it was sending: it may or may not have been sent',
}

type RowsReason = 'send-log-not-failed' | 'send-log-not-found' | 'send-log-not-restorable'

const rejectedRows = (reason: RowsReason, ids: readonly number[]) =>
  businessError(reason, { params: { ids: ids.join(', ') }, data: { ids } })

/** Throws if the list of ids is not empty. @throws BusinessError with the ids in `data.ids` */
export function rejectRows(reason: RowsReason, ids: readonly number[]): void {
  if (ids.length > 0) throw rejectedRows(reason, ids)
}
