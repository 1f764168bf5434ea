import { type Database, firstIdAt } from '@plinth/database'
import { type Clock, errorReason, type Logger, type NotificationChannel } from '@plinth/kernel'
import { NotificationRow, SendLogRow } from '../entities.ts'
import type { SendLogDeliveries } from './delivery-states.ts'
import { sendingOf } from './retries.ts'

/** Sends older than this are not asked about. Providers store results for at least seven days. */
const maxAgeMs = 7 * 86_400_000
/** Milliseconds between two requests about a send. The pause grows with the age of the send. */
const minPauseMs = 5 * 60_000
const maxPauseMs = 6 * 3_600_000
/** Maximum number of sends in one run. */
const askedTogether = 50
/** Time limit of one request in milliseconds. */
const askDeadlineMs = 15_000

interface Dependencies {
  readonly db: Database
  readonly clock: Pick<Clock, 'sleep'>
  readonly channels: ReadonlyMap<string, Pick<NotificationChannel, 'ask'>>
  readonly deliveries: Pick<SendLogDeliveries, 'apply'>
  readonly log: Logger
}

/** Asks providers about sends with the status `unknown`. Never sends a message. */
export class UnknownSends {
  readonly #parts: Dependencies

  constructor(parts: Dependencies) {
    this.#parts = parts
  }

  /** Asks about the sends that are due, the oldest first. */
  async ask(signal: AbortSignal): Promise<void> {
    const { db, channels } = this.#parts
    const askable = [...channels].filter(([, { ask }]) => ask !== undefined).map(([code]) => code)
    if (askable.length === 0) return
    const em = db.fork()
    const now = db.clock.now()
    const due = {
      status: 'unknown' as const,
      restorable: true,
      channel: { $in: askable },
      id: { $gte: firstIdAt(now - maxAgeMs) },
      $or: [{ claimedUntil: null }, { claimedUntil: { $lt: new Date(now) } }],
    }
    for (const row of await em.find(SendLogRow, due, { orderBy: { id: 'asc' }, limit: askedTogether })) {
      if (signal.aborted) return
      const pauseMs = Math.min(maxPauseMs, Math.max(minPauseMs, now - row.createdAt.getTime()))
      const claim = { claimedUntil: new Date(now + pauseMs) }
      const claimed = await em.nativeUpdate(SendLogRow, { $and: [{ id: row.id }, due] }, claim)
      if (claimed > 0) await this.#askAbout(row, signal)
    }
  }

  async #askAbout(row: SendLogRow, signal: AbortSignal): Promise<void> {
    const { db, clock, channels, deliveries, log } = this.#parts
    const { id, channel, reference, notificationId, createdAt } = row
    const stored = await db.fork().findOne(NotificationRow, { id: notificationId ?? 0 }, { fields: ['payload'] })
    const message = sendingOf(row, stored?.payload)?.message
    if (message === undefined || reference == null) return
    const end = new AbortController()
    clock.sleep(askDeadlineMs, end.signal).then(() => end.abort())
    try {
      const sent = { reference, sentAt: createdAt.getTime(), signal: AbortSignal.any([signal, end.signal]) }
      const report = await channels.get(channel)?.ask?.(message, sent)
      if (report === undefined) return
      await deliveries.apply({ ...report, channel, reference, at: db.clock.now() })
    } catch (error) {
      log.warn({ reason: errorReason(error), channel, sendLogId: id }, 'a provider could not be asked about a message')
    } finally {
      end.abort()
    }
  }
}
