import { createHash } from 'node:crypto'
import { type Database, exactInteger, insertOrReplaceRows } from '@plinth/database'
import type { Clock, NotificationMessage, Recipient } from '@plinth/kernel'
import type { CancelOptions, CancelResult, EnqueueOptions } from '../contract.ts'
import { businessError } from '../declarations.ts'
import { MessageKeyRow, NotificationRow } from '../entities.ts'

const maxKeyLength = 200
/** Maximum milliseconds for which a cancellation is remembered. */
export const maxRememberedMs = 30 * 86_400_000
/** Maximum number of messages of a key that the result of a cancellation covers, the newest ones. */
const maxCovered = 1_000

type Statements = ReturnType<Database['fork']>

/** Hashes of the keys of a message. */
export interface KeyHashes {
  readonly cancelHash: string | null
  readonly replaceHash: string | null
}

const hashOf = (...parts: readonly unknown[]) => createHash('sha256').update(JSON.stringify(parts)).digest('hex')

function assertKey(name: string, key: string): void {
  if (key === '' || key.length > maxKeyLength) throw new RangeError(`${name} must have 1 to ${maxKeyLength} characters`)
}

/** @throws RangeError for a key out of range, or a `replaceKey` for several recipients or all users */
export function hashesOf({ cancelKey, replaceKey }: EnqueueOptions, recipients: readonly Recipient[]): KeyHashes {
  if (cancelKey !== undefined) assertKey('cancelKey', cancelKey)
  if (replaceKey !== undefined) assertKey('replaceKey', replaceKey)
  if (replaceKey !== undefined && (recipients.length > 1 || recipients.some(({ kind }) => kind === 'all-users')))
    throw new RangeError('A message with a replaceKey must have at most one recipient')
  return {
    cancelHash: cancelKey === undefined ? null : hashOf('cancel', cancelKey),
    replaceHash: replaceKey === undefined ? null : hashOf('replace', replaceKey, recipients),
  }
}

/** Adds to a message what it replaces on a device. @param now milliseconds since the epoch */
export const withReplacement = (
  message: NotificationMessage,
  { replaceHash }: KeyHashes,
  now: number,
): NotificationMessage =>
  replaceHash === null ? message : { ...message, replacement: { key: replaceHash.slice(0, 32), at: now } }

interface MessageKeysDependencies {
  readonly db: Database
  readonly clock: Pick<Clock, 'now'>
}

/**
 * Cancels and replaces enqueued messages by the keys of their senders. A row per key serialises its callers, so that of
 * two replacements the later commit wins, and a cancellation never misses a message that is enqueued at the same time.
 */
export class MessageKeys {
  readonly #db: Database
  readonly #clock: Pick<Clock, 'now'>

  constructor({ db, clock }: MessageKeysDependencies) {
    this.#db = db
    this.#clock = clock
  }

  /**
   * Locks the keys until the end of the current transaction. Returns true if a remembered cancellation applies to the
   * message.
   */
  async lock({ cancelHash, replaceHash }: KeyHashes): Promise<boolean> {
    // All callers lock in the same order, to avoid deadlocks.
    const hashes = [cancelHash, replaceHash].filter((hash) => hash !== null).sort()
    if (hashes.length === 0) return false
    const row = { usedAt: this.#now, cancelledUntil: null }
    const rows = hashes.map((keyHash) => ({ ...row, id: this.#db.newId(), keyHash }))
    await insertOrReplaceRows(this.#db, MessageKeyRow, { key: 'keyHash', sets: ['usedAt'] }, rows)
    if (cancelHash === null) return false
    const until = { keyHash: cancelHash, cancelledUntil: { $gt: this.#now } }
    return (await this.#db.fork().count(MessageKeyRow, until)) > 0
  }

  /** Withdraws the earlier messages of a `replaceKey` that are still queued. Call it after `lock`. */
  async replace(em: Statements, replaceHash: string, id: number): Promise<void> {
    // Each replacement withdrew the messages before it, so only the newest one can have sends that wait.
    await this.#withdraw(em, { replaceHash, id: { $ne: id } }, 1)
  }

  /**
   * Implements `Notification.cancel`.
   *
   * @param also runs in the same transaction
   * @throws BusinessError "404" `notification.key-unknown`, "400" `notification.cancel-expiry-invalid`
   */
  async cancel(
    key: string,
    { before = false, expiresAt }: CancelOptions = {},
    also?: (result: CancelResult) => Promise<void>,
  ): Promise<CancelResult> {
    assertKey('key', key)
    const now = this.#clock.now()
    const isValid = before ? expiresAt !== undefined && expiresAt > now && expiresAt <= now + maxRememberedMs : true
    if (!isValid || (!before && expiresAt !== undefined))
      throw businessError('cancel-expiry-invalid', { params: { days: 30 }, data: { field: 'expiresAt' } })
    const cancelHash = hashOf('cancel', key)
    return this.#db.transactional(async (em) => {
      const cancelledUntil = expiresAt === undefined ? null : new Date(expiresAt)
      const row = { id: this.#db.newId(), keyHash: cancelHash, usedAt: this.#now, cancelledUntil }
      const sets = expiresAt === undefined ? (['usedAt'] as const) : (['usedAt', 'cancelledUntil'] as const)
      // Waits for transactions that enqueue messages with the key.
      await insertOrReplaceRows(this.#db, MessageKeyRow, { key: 'keyHash', sets }, [row])
      await this.#withdraw(em, { cancelHash }, maxCovered)
      const result = await this.#resultOf(em, cancelHash)
      if (!before && result.cancelled + result.tooLate.length === 0)
        throw businessError('key-unknown', { data: { field: 'key' } })
      await also?.(result)
      return result
    })
  }

  /**
   * Cancels messages. Of a message that a worker has begun to send, only the parts that have not begun are cancelled, and
   * the sends that wait for their next attempt. Its content stays, because a part that has begun may still need it.
   *
   * @param limit maximum number of finished messages whose waiting sends are cancelled, the newest ones
   */
  async #withdraw(em: Statements, where: object, limit: number): Promise<void> {
    const ended = { state: 'cancelled', finishedAt: this.#now } as const
    await em.nativeUpdate(NotificationRow, { ...where, state: 'queued' }, { ...ended, payload: null })
    const options = { fields: ['id'], orderBy: { id: 'desc' }, limit } as const
    const finished = await em.find(NotificationRow, { ...where, state: 'finished' }, options)
    const waiting = await this.#waiting(finished.map(({ id }) => id))
    const begun = { ...where, $or: [{ state: 'sending' as const }, { id: { $in: waiting } }] }
    await em.nativeUpdate(NotificationRow, begun, ended)
  }

  /** Returns the ids of the messages with a send that waits for its next attempt. */
  async #waiting(ids: readonly number[]): Promise<readonly number[]> {
    if (ids.length === 0) return []
    const found = await this.#db.query<{ id: unknown }>(
      `select m.id from notification_message m where m.id in (${ids.map(() => '?').join(', ')})
         and exists (select 1 from notification_send_log l where l.notification_id = m.id and l.status = 'waiting')`,
      ids,
    )
    return found.map(({ id }) => exactInteger(id))
  }

  /** A second call returns the same result, because no further send begins. */
  async #resultOf(em: Statements, cancelHash: string): Promise<CancelResult> {
    const options = { fields: ['id', 'messageId'], orderBy: { id: 'desc' }, limit: maxCovered } as const
    const messages = await em.find(NotificationRow, { cancelHash }, options)
    const sent = await this.#db.query<{ id: unknown }>(
      `select m.id from notification_message m where m.cancel_hash = ? and m.id >= ?
         and exists (select 1 from notification_send_log l where l.notification_id = m.id)`,
      [cancelHash, messages.at(-1)?.id ?? 0],
    )
    const begun = new Set(sent.map(({ id }) => exactInteger(id)))
    const tooLate = messages.filter(({ id }) => begun.has(id)).map(({ id, messageId }) => ({ id, messageId }))
    return { cancelled: messages.length - tooLate.length, tooLate }
  }

  get #now(): Date {
    return new Date(this.#clock.now())
  }
}
