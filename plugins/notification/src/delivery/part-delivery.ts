import type { Database } from '@plinth/database'
import type { Events } from '@plinth/events'
import type { Clock, NotificationMessage, Recipient } from '@plinth/kernel'
import type { SendResult } from '../contract.ts'
import { NotificationPart, NotificationRow, SendLog } from '../entities.ts'
import { type Outgoing, type Prepared, sendingsOf } from '../facade/outgoing.ts'
import type { NotificationPreferences } from '../inbox/contract.ts'
import type { SendEntry } from '../send-log/entries.ts'
import type { SendRecorder } from '../send-log/recorder.ts'
import { markUnknown } from '../send-log/retries.ts'
import type { Sending } from '../send-log/row.ts'
import { restored } from '../send-log/snapshot.ts'
import { messagePart, sentTogether } from './message-part.ts'

export interface PartDeliveryParts {
  readonly db: Database
  readonly events: Pick<Events, 'publish'>
  readonly outgoing: Outgoing
  readonly recorder: SendRecorder
  readonly preferences: Pick<NotificationPreferences, 'quietUntil'> | undefined
  readonly clock: Pick<Clock, 'now'>
}

/** A part of a message, as its event carries it. */
export interface Part {
  readonly notificationId: number
  readonly channel: string
  readonly part: string
  readonly recipients: readonly Recipient[]
}

/** Channels that disturb: in quiet hours they wait. */
const disturbing: readonly string[] = ['mail', 'sms', 'social', 'websocket']
const minuteMs = 60_000

/** One send of a part. */
interface Delivery {
  readonly key: string
  readonly sending: Sending
}

/**
 * Sends one part of an enqueued message. The event of a part comes again when its process died, so every delivery has a key in the
 * send log, written before it leaves: what has an outcome is left alone; what says `sending` is sent again on an idempotent
 * channel, and becomes `unknown` on another.
 */
export class PartDelivery {
  readonly #parts: PartDeliveryParts

  constructor(parts: PartDeliveryParts) {
    this.#parts = parts
  }

  /** @throws what the database throws, and the reason of the signal: the part goes on where it was when its event comes again */
  async deliver(part: Part, signal: AbortSignal): Promise<void> {
    const { db, outgoing } = this.#parts
    const row = await db.fork().findOne(NotificationRow, { id: part.notificationId })
    // Removed, because it is past its retention.
    if (row?.payload == null) return
    const { message: stored } = restored(row.payload)
    const whole = { ...stored, recipients: part.recipients }
    const leftOut = new Set(await this.#begin(row, part, whole))
    const recipients = part.recipients.filter((_, index) => !leftOut.has(index))
    let finished: readonly SendEntry[] = []
    if (recipients.length > 0 || part.recipients.length === 0) {
      const message = { ...whole, recipients }
      const prepared = await outgoing.prepare(part.channel, { message })
      finished = await this.#sendAll(prepared, deliveriesOf(prepared, part, message), signal)
    }
    await this.#end(part, finished, signal)
  }

  /** Answers the places of recipients to leave out. The first try decides, and puts those aside who have quiet hours. */
  async #begin(row: NotificationRow, part: Part, message: NotificationMessage): Promise<readonly number[]> {
    const { db, events, outgoing } = this.#parts
    const { notificationId, channel } = part
    const known = await db.fork().findOne(NotificationPart, { notificationId, part: part.part })
    if (known !== null) return known.leftOut
    const quiet = row.priority === 'critical' ? new Map<number, readonly number[]>() : await this.#quiet(part)
    const aside = new Set([...quiet.values()].flat())
    const recipients = message.recipients.filter((_, index) => !aside.has(index))
    const isAny = recipients.length > 0 || message.recipients.length === 0
    const prepared = isAny ? await outgoing.prepare(channel, { message: { ...message, recipients } }) : undefined
    const skipped = prepared === undefined ? 0 : skippedOf(prepared, recipients.length)
    const [base = part.part] = part.part.split('@')
    await db.transactional(async () => {
      await db.execute(
        'insert into notification_message_part (id, notification_id, part, left_out) values (?, ?, ?, ?)',
        [...[db.newId(), notificationId, part.part, JSON.stringify([...aside])]],
      )
      for (const [until, places] of quiet) {
        const later = places.flatMap((place) => part.recipients[place] ?? [])
        const waiting = { notificationId, channel, part: `${base}@${until}`, recipients: later }
        await events.publish(messagePart, waiting, { notBefore: until })
      }
      await db.execute(
        `update notification_message set state = 'sending', skipped = skipped + ?, parts = parts + ?
         where id = ? and state <> 'finished'`,
        [skipped, quiet.size, notificationId],
      )
    })
    return [...aside]
  }

  /** Places of users in quiet hours by the minute in which these end. */
  async #quiet({ channel, recipients }: Part): Promise<ReadonlyMap<number, readonly number[]>> {
    const { preferences, clock } = this.#parts
    const byEnd = new Map<number, number[]>()
    if (preferences === undefined || !disturbing.includes(channel)) return byEnd
    const userIds = recipients.flatMap((recipient) => ('userId' in recipient ? [recipient.userId] : []))
    const now = clock.now()
    const until = userIds.length === 0 ? new Map<number, number>() : await preferences.quietUntil(userIds, now)
    for (const [place, recipient] of recipients.entries()) {
      const end = 'userId' in recipient ? until.get(recipient.userId) : undefined
      if (end === undefined || end <= now) continue
      const minute = Math.ceil(end / minuteMs) * minuteMs
      byEnd.set(minute, [...(byEnd.get(minute) ?? []), place])
    }
    return byEnd
  }

  /** Answers the last sends, of which the send log does not know yet what became. */
  async #sendAll(
    prepared: Prepared,
    deliveries: readonly Delivery[],
    signal: AbortSignal,
  ): Promise<readonly SendEntry[]> {
    const { db, outgoing } = this.#parts
    const keys = deliveries.map(({ key }) => key)
    const where = { deliveryKey: { $in: keys } }
    const rows =
      keys.length === 0 ? [] : await db.fork().find(SendLog, where, { fields: ['id', 'status', 'deliveryKey'] })
    const known = new Map(rows.map((row) => [row.deliveryKey, row]))
    const isIdempotent = 'channel' in prepared && prepared.channel.traits.idempotent
    const lost = rows.filter(({ status }) => status === 'sending' && !isIdempotent)
    if (lost.length > 0) await markUnknown(db, { id: { $in: lost.map(({ id }) => id) } })
    const open = deliveries.filter(({ key }) => {
      const row = known.get(key)
      return row === undefined || (row.status === 'sending' && isIdempotent)
    })
    let finished: readonly SendEntry[] = []
    for (let from = 0; from < open.length && !signal.aborted; from += sentTogether) {
      const together = open.slice(from, from + sentTogether)
      const begun = together.map(({ key, sending }) => this.#entry(prepared, sending, known.get(key)?.id))
      // What became of the last ones and what leaves now are one write.
      await this.#write(finished, [...finished, ...begun.filter(({ tried }) => !tried)])
      await outgoing.tracked(this.#sendTogether(prepared, together, begun, signal))
      finished = begun
    }
    return finished
  }

  /** @param finished what must not be forgotten when it cannot be written now */
  async #write(
    finished: readonly SendEntry[],
    entries: readonly SendEntry[],
    also: () => Promise<void> = async () => {},
  ): Promise<void> {
    const { db, recorder } = this.#parts
    try {
      await db.transactional(async () => {
        await recorder.write(entries)
        await also()
      })
    } catch (error) {
      recorder.writeLater(finished)
      throw error
    }
  }

  /** @param id of a row that says `sending` already */
  #entry(prepared: Prepared, sending: Sending, id: number | undefined): SendEntry {
    const code = 'code' in prepared ? prepared.code : prepared.result.channel
    const entry = this.#parts.recorder.entryOf(code, sending, prepared.shown)
    return id === undefined ? entry : Object.assign(entry, { id, tried: true })
  }

  async #sendTogether(
    prepared: Prepared,
    deliveries: readonly Delivery[],
    entries: readonly SendEntry[],
    signal: AbortSignal,
  ): Promise<void> {
    const { recorder, outgoing } = this.#parts
    await Promise.all(
      deliveries.map(async ({ sending }, index) => {
        const result = await send(outgoing, prepared, sending, signal)
        const entry = entries[index]
        if (entry !== undefined) recorder.conclude(entry, result)
      }),
    )
  }

  /** Writes what became of the last sends, and that the part is done unless it was given up. */
  async #end({ notificationId, part }: Part, finished: readonly SendEntry[], signal: AbortSignal): Promise<void> {
    const { db, clock } = this.#parts
    const now = new Date(clock.now())
    await this.#write(finished, finished, async () => {
      if (signal.aborted) return
      const ended = await db.execute(
        'update notification_message_part set done_at = ? where notification_id = ? and part = ? and done_at is null',
        [now, notificationId, part],
      )
      if (ended === 0) return
      await db.execute('update notification_message set parts_done = parts_done + 1 where id = ?', [notificationId])
      await db.execute(
        `update notification_message set state = 'finished', finished_at = ? where id = ? and parts_done >= parts`,
        [now, notificationId],
      )
    })
    signal.throwIfAborted()
  }
}

const send = (
  outgoing: Outgoing,
  prepared: Prepared,
  sending: Sending,
  signal: AbortSignal,
): Promise<SendResult> | SendResult =>
  'result' in prepared
    ? prepared.result
    : outgoing.call(
        { ...prepared, message: { ...prepared.message, recipients: sending.message.recipients } },
        sending,
        signal,
      )

/** Deliveries of which nothing is tried. */
function skippedOf(prepared: Prepared, recipients: number): number {
  if ('channel' in prepared)
    return prepared.channel.traits.recipients === 'each' ? recipients - prepared.source.recipients.length : 0
  return prepared.result.skipped === true ? 1 : 0
}

function deliveriesOf(prepared: Prepared, { notificationId, part }: Part, message: NotificationMessage): Delivery[] {
  const base = {
    message: 'source' in prepared ? prepared.source : message,
    idempotencyKey: `${message.id}/${part}`,
    attempt: 1,
  }
  const withKey = ({ idempotencyKey, ...sending }: typeof base): Delivery => {
    const key = `${notificationId}/${idempotencyKey.slice(message.id.length + 1)}`
    return {
      key,
      sending: { ...sending, idempotencyKey, delivery: { notificationId, deliveryKey: key, isStored: true } },
    }
  }
  if ('result' in prepared) return prepared.result.skipped === true ? [] : [withKey(base)]
  return sendingsOf(prepared.channel, base).map(withKey)
}
