import { createHash } from 'node:crypto'
import { type Database, insertMissingRows } from '@plinth/database'
import { type Events, event } from '@plinth/events'
import { Type } from '@plinth/http'
import { fitTextToColumn } from '@plinth/kernel'
import type { SendDeliveries } from '@plinth/notification'
import { type Receipt, ReceiptRejected, type ReceivedReceipts } from './contract.ts'
import { Confirmation, StoredReceipt } from './entities.ts'

/** Event: a receipt is stored and waits for its send. */
export const receiptStored = event('delivery-receipts.stored', Type.Object({ receiptId: Type.Integer() }))

/** Milliseconds after which a receipt without a send has the status `unknown`. */
const maxWaitMs = 24 * 3_600_000
/** Milliseconds between two attempts to find the send of a receipt. The pause grows with the age of the receipt. */
const minPauseMs = 2_000
const maxPauseMs = 3_600_000
/** Number of characters in which mail addresses are masked. */
const maxSearchedLength = 2_000

interface IntakeDependencies {
  readonly db: Database
  readonly events: Pick<Events, 'publish'>
  readonly deliveries: Pick<SendDeliveries, 'apply'>
  /** Masks secrets of the configuration. */
  readonly redact: (text: string) => string
}

/** Stores verified receipts and applies them to the send log. Never sends anything. */
export class ReceiptIntake {
  readonly #parts: IntakeDependencies

  constructor(parts: IntakeDependencies) {
    this.#parts = parts
  }

  /**
   * Stores the receipts of a request that are new, and the events that apply them, in one transaction that joins the current
   * one.
   *
   * @param content exact content of the request
   * @throws ReceiptRejected `replayed` if the signature covers only the id and a known id has other content
   */
  async store(source: string, received: ReceivedReceipts, content: Buffer | string): Promise<void> {
    const { receipts, confirmation, isSignedById = false } = received
    const fingerprint = sha256(content)
    const byId = new Map(receipts.map((receipt) => [fitTextToColumn(receipt.id, 200), receipt]))
    await this.#parts.db.transactional(async (em) => {
      if (byId.size > 0) {
        const where = { source, receiptId: { $in: [...byId.keys()] } }
        const known = await em.find(StoredReceipt.entity, where, { fields: ['receiptId', 'fingerprint'] })
        if (isSignedById && known.some((row) => row.fingerprint !== fingerprint)) throw new ReceiptRejected('replayed')
        for (const { receiptId } of known) byId.delete(receiptId)
        await this.#insert(source, byId, fingerprint)
      }
      if (confirmation !== undefined) await this.#insertConfirmation(source, confirmation)
    })
  }

  /** Applies a stored receipt, in the current transaction. A receipt without a send is tried again for 24 hours. */
  async apply(id: number): Promise<void> {
    const { db, deliveries, events } = this.#parts
    const em = db.fork()
    const row = await em.findOne(StoredReceipt.entity, { id })
    if (row === null || row.status !== 'waiting') return
    const { channel, state, bounce, provider, messageId, reference, detail, occurredAt, createdAt } = row
    const sendLogId = await deliveries.apply({
      channel,
      state,
      bounce: bounce ?? undefined,
      provider: provider ?? undefined,
      messageId: messageId ?? undefined,
      reference: reference ?? undefined,
      detail: detail ?? undefined,
      at: occurredAt.getTime(),
    })
    const now = db.clock.now()
    const ageMs = now - createdAt.getTime()
    if (sendLogId !== undefined) {
      const applied = { status: 'applied' as const, sendLogId, appliedAt: new Date(now) }
      await em.nativeUpdate(StoredReceipt.entity, { id }, applied)
    } else if (ageMs >= maxWaitMs || (reference === null && messageId === null)) {
      await em.nativeUpdate(StoredReceipt.entity, { id }, { status: 'unknown' })
    } else {
      const delayMs = Math.min(maxPauseMs, Math.max(minPauseMs, ageMs))
      await events.publish(receiptStored, { receiptId: id }, { delayMs })
    }
  }

  async #insert(source: string, receipts: ReadonlyMap<string, Receipt>, fingerprint: string): Promise<void> {
    const { db, events } = this.#parts
    const now = new Date(db.clock.now())
    const fit = (text: string | undefined, length: number) =>
      text === undefined ? null : fitTextToColumn(text, length)
    const rows = [...receipts].map(([receiptId, receipt]) => ({
      id: db.newId(),
      source,
      receiptId,
      fingerprint,
      status: 'waiting' as const,
      state: receipt.state,
      bounce: receipt.state === 'bounced' ? (receipt.bounce ?? 'soft') : null,
      channel: fitTextToColumn(receipt.channel, 64),
      provider: fit(receipt.provider, 64),
      messageId: fit(receipt.messageId, 200),
      reference: fit(receipt.reference, 64),
      detail: receipt.detail === undefined ? null : fitTextToColumn(this.#masked(receipt.detail), 255),
      occurredAt: new Date(boundedTime(receipt.at, now.getTime())),
      sendLogId: null,
      appliedAt: null,
      createdAt: now,
    }))
    if (rows.length === 0) return
    await insertMissingRows(db, StoredReceipt.entity, ['source', 'receiptId'], rows)
    // If another instance inserted the same receipt at the same time, the event finds no row and does nothing.
    for (const { id } of rows) await events.publish(receiptStored, { receiptId: id })
  }

  /** Cuts the text before it searches for addresses, because the search takes quadratic time and anyone can return mail. */
  #masked(detail: string): string {
    return withoutAddresses(fitTextToColumn(this.#parts.redact(detail), maxSearchedLength))
  }

  async #insertConfirmation(source: string, { subject, url }: NonNullable<ReceivedReceipts['confirmation']>) {
    const { db } = this.#parts
    const now = new Date(db.clock.now())
    const edits = { version: 1, createdAt: now, updatedAt: now, updatedBy: null }
    const row = { id: db.newId(), source, subject: fitTextToColumn(subject, 400), url, urlHash: sha256(url) }
    await insertMissingRows(db, Confirmation.entity, 'urlHash', [{ ...row, status: 'waiting' as const, ...edits }])
  }
}

const sha256 = (content: Buffer | string): string => createHash('sha256').update(content).digest('hex')

/** Masks mail addresses, which servers repeat in their texts. */
const withoutAddresses = (text: string): string => text.replace(/[^\s<>()"',;:]+@([^\s<>()"',;:]+)/g, '***@$1')

const dayMs = 86_400_000

/** Returns the time of a receipt. A time in the future, or more than 30 days ago, is replaced by the current time. */
const boundedTime = (at: number | undefined, now: number): number =>
  at !== undefined && Number.isFinite(at) && at <= now + 900_000 && at >= now - 30 * dayMs ? at : now
