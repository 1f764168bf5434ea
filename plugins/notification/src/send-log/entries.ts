import { type Database, insertMissing, putRows } from '@plinth/database'
import type { NotificationMessage } from '@plinth/kernel'
import { changeMessageCounts, type OutcomeChange } from '../delivery/message-counts.ts'
import { SendLog, type SendLogState } from '../entities.ts'
import type { OwnerOf } from '../recipient-owner.ts'
import { changeCounts, kindOf, type SendLogKind, tallied } from './counts.ts'
import { outcomeProperties, type SendLogRow } from './row.ts'
import { rowLock } from './row-lock.ts'

/** What a row becomes when its send has come to an end. */
export interface Verdict {
  readonly status: SendLogState
  /** Milliseconds after which it is sent again by itself. */
  readonly retryInMs?: number | undefined
}

/** A send as the recorder knows it. */
export interface SendEntry {
  readonly message: NotificationMessage
  row: SendLogRow
  retryInMs: number | undefined
  /** Assigned by the first write. */
  id: number | undefined
  /** A write of it was begun: it may be in the table. */
  tried: boolean
  /** What the table is known to hold. */
  inTable: SendLogRow | undefined
  /** What waits to be written is as it should be. */
  isQueued: boolean
  isLost: boolean
  weight: number
  /** Ends when what was queued last is written, or lost. */
  written: PromiseWithResolvers<void>
}

interface Writing {
  readonly db: Database
  readonly retryLater: (id: number, delayMs: number) => Promise<unknown>
  readonly ownerOf: OwnerOf
}

type Before = Pick<SendLog, 'id' | 'status' | 'restorable' | 'outcome'>

/**
 * Writes entries as they are now: new rows, and rows that are there with their outcome. Keeps the counts in step, and what is to
 * be sent again goes into the outbox, all in one transaction. Repeating a write that was not confirmed changes nothing.
 */
export async function writeEntries({ db, retryLater, ownerOf }: Writing, entries: readonly SendEntry[]): Promise<void> {
  const batch = entries.map((entry) => {
    entry.id ??= db.newId()
    const { tried } = entry
    entry.tried = true
    return { entry, id: entry.id, row: entry.row, tried, retryInMs: entry.retryInMs }
  })
  await db.transactional(async (em) => {
    const known = batch.flatMap(({ id, tried }) => (tried ? [id] : []))
    // Somebody may have found a row that was long under way, or removed it.
    const fields = ['id', 'status', 'restorable', 'outcome'] as const
    const rows: readonly Before[] =
      known.length === 0
        ? []
        : await em.find(SendLog, { id: { $in: known } }, { fields, orderBy: { id: 'asc' }, ...rowLock(db) })
    const before = new Map(rows.map((row) => [row.id, row]))
    const isNew = ({ id }: { id: number }) => !before.has(id)
    const isChanged = ({ id, row }: { id: number; row: SendLogRow }) => isEnding(before.get(id), row)
    const fresh = batch.filter(isNew)
    const changed = batch.filter((item) => !isNew(item) && isChanged(item))
    const inOrder = changed.sort((a, b) => a.id - b.id)
    await insertMissing(
      db,
      SendLog,
      'id',
      await Promise.all(
        fresh.map(async ({ id, row, entry }) => ({ ...row, ...(await ownerOf(entry.message.recipients)), id })),
      ),
    )
    await putRows(
      db,
      SendLog,
      { key: 'id', sets: outcomeProperties },
      inOrder.map(({ id, row }) => ({ ...row, id })),
    )

    const kinds: (readonly [SendLogKind, number])[] = []
    const outcomes: OutcomeChange[] = []
    for (const { id, row, retryInMs } of [...fresh, ...inOrder]) {
      const old = before.get(id)
      if (old !== undefined) kinds.push([kindOf(old), -1])
      kinds.push([kindOf(row), 1])
      const { notificationId } = row
      if (notificationId != null) {
        if (old?.outcome != null) outcomes.push({ notificationId, outcome: old.outcome, by: -1 })
        if (row.outcome != null) outcomes.push({ notificationId, outcome: row.outcome, by: 1 })
      }
      if (retryInMs !== undefined) await retryLater(id, retryInMs)
    }
    await changeMessageCounts(db, outcomes)
    await changeCounts(db, tallied(kinds))
  })
  for (const { entry, row } of batch) entry.inTable = row
}

/** A row that is under way, or was taken for lost, comes to an end; whatever else happened to it since stands. */
const isEnding = (before: Before | undefined, row: SendLogRow) =>
  before !== undefined &&
  row.status !== 'sending' &&
  ['sending', 'unknown'].includes(before.status) &&
  !(before.status === row.status && before.outcome === row.outcome)
