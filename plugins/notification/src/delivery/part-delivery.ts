import { type Database, insertRows } from '@plinth/database'
import { type Events, PostponedDelivery } from '@plinth/events'
import type { ReaderFormat } from '@plinth/inbox'
import { type Clock, type NotificationMessage, omitUndefined, type Recipient } from '@plinth/kernel'
import type { SendResult } from '../contract.ts'
import { NotificationPartRow, SendLogRow } from '../entities.ts'
import { type OutgoingMessages, type PrepareResult, sendsPerChannelCall } from '../facade/outgoing.ts'
import { type QuietUsers, readerFields } from '../recipients.ts'
import type { SendRecorder } from '../send-log/recorder.ts'
import type { RecordedSend, SendEntry } from '../send-log/row.ts'
import type { SendLogWriter } from '../send-log/send-log-writer.ts'
import { restoreMessage } from '../send-log/snapshot.ts'
import { maxParallelParts, messagePart, toStoredRecipients } from './message-part.ts'

interface PartDeliveryDependencies {
  readonly db: Database
  readonly events: Pick<Events, 'publish'>
  readonly outgoing: OutgoingMessages
  readonly recorder: Pick<SendRecorder, 'writeLater'>
  readonly writer: SendLogWriter
  readonly quiet: QuietUsers
  readonly clock: Pick<Clock, 'now'>
}

interface Part extends ReaderFormat {
  readonly notificationId: number
  readonly channel: string
  readonly part: string
  readonly recipients: readonly Recipient[]
}

const minuteMs = 60_000

interface PartState {
  readonly payload: string | null
  readonly priority: string
  readonly state: string
  /** True if the message has a key, so that it may be cancelled after its first part began. */
  readonly isKeyed: boolean
  readonly leftOut: readonly number[] | undefined
}

interface FirstTry {
  readonly leftOut: readonly number[]
  /** Undefined if all recipients are left out. */
  readonly prepared: PrepareResult | undefined
  /**
   * Marks the part as begun. Call it in the transaction that writes the first row of the part to the send log. For a
   * part without rows, call it in the transaction that ends the part.
   */
  readonly begin: () => Promise<void>
}

interface Sent {
  /** The last sends, whose outcomes are not stored yet. */
  readonly finished: readonly SendEntry[]
  readonly isBegun: boolean
  /** Milliseconds to wait for a rate limit of the product. Undefined if everything was attempted. */
  readonly limitMs?: number | undefined
}

type KnownRow = Pick<SendLogRow, 'id' | 'status' | 'outcome' | 'createdAt'>

interface Delivery {
  readonly key: string
  readonly sending: RecordedSend
}

/**
 * Sends one part of a message, which is a number of recipients on one channel. If the process dies, the event of the
 * part is delivered again, so each send is recorded under a key before it starts. A send with an outcome is not
 * repeated. An interrupted one is repeated on an idempotent channel and becomes `unknown` on others. If a rate limit of the
 * product does not allow a send yet, the event of the part is postponed, so that later messages to the address wait too.
 */
export class PartDelivery {
  readonly #parts: PartDeliveryDependencies

  constructor(parts: PartDeliveryDependencies) {
    this.#parts = parts
  }

  /**
   * Sends the part. @throws errors of the database, the reason of the signal, and PostponedDelivery. The event is delivered
   * again after an error.
   */
  async deliver(part: Part, signal: AbortSignal): Promise<void> {
    const { outgoing } = this.#parts
    const state = await this.#stateOf(part)
    // Nothing is sent, because the message was cancelled or purged. A part that had begun before the end is completed.
    if (state?.payload == null || (state.state === 'cancelled' && state.leftOut === undefined)) return
    const whole = { ...restoreMessage(state.payload).message, ...readerFields(part), recipients: part.recipients }
    const first = state.leftOut === undefined ? await this.#firstTry(state, part, whole) : undefined
    const leftOut = new Set(first?.leftOut ?? state.leftOut)
    const recipients = part.recipients.filter((_, index) => !leftOut.has(index))
    let sent: Sent = { finished: [], isBegun: false }
    if (recipients.length > 0 || part.recipients.length === 0) {
      const message = { ...whole, recipients }
      const prepared = first?.prepared ?? (await outgoing.prepare(part.channel, { message }))
      sent = await this.#sendAll(prepared, deliveriesOf(prepared, part, message), signal, first?.begin)
    }
    if (sent.limitMs !== undefined) {
      await this.#write(sent.finished, sent.finished)
      throw new PostponedDelivery(sent.limitMs)
    }
    await this.#end(part, sent.finished, signal, sent.isBegun ? undefined : first?.begin)
  }

  async #stateOf({ notificationId, part }: Part): Promise<PartState | undefined> {
    const [row] = await this.#parts.db.query<
      Pick<PartState, 'payload' | 'priority' | 'state'> & {
        readonly key_hash: string | null
        readonly left_out: unknown
      }
    >(
      `select m.payload, m.priority, m.state, coalesce(m.cancel_hash, m.replace_hash) as key_hash, p.left_out
       from notification_message m
       left join notification_message_part p on p.notification_id = m.id and p.part = ? where m.id = ?`,
      [part, notificationId],
    )
    if (row === undefined) return undefined
    const { left_out: written, key_hash: keyHash, ...message } = row
    // Database drivers return JSON either as text or as a parsed value.
    const leftOut = typeof written === 'string' ? JSON.parse(written) : (written ?? undefined)
    return { ...message, isKeyed: keyHash !== null, leftOut }
  }

  /** Decides in the first attempt who is left out. Users in quiet hours are moved to a new part, which is delayed. */
  async #firstTry(
    { priority, state, isKeyed }: PartState,
    part: Part,
    message: NotificationMessage,
  ): Promise<FirstTry> {
    const { db, events, outgoing } = this.#parts
    const { notificationId, channel } = part
    const quiet = priority === 'critical' ? new Map<number, readonly number[]>() : await this.#quiet(part)
    const leftOut = [...quiet.values()].flat()
    const aside = new Set(leftOut)
    const recipients = message.recipients.filter((_, index) => !aside.has(index))
    const isAny = recipients.length > 0 || message.recipients.length === 0
    const prepared = isAny ? await outgoing.prepare(channel, { message: { ...message, recipients } }) : undefined
    const skipped = prepared === undefined ? 0 : skippedOf(prepared, recipients.length)
    const [base = part.part] = part.part.split('@')
    const begin = async () => {
      await insertRows(db, NotificationPartRow, [{ id: db.newId(), notificationId, part: part.part, leftOut }])
      for (const [until, places] of quiet) {
        const later = places.flatMap((place) => part.recipients[place] ?? [])
        const waiting = {
          notificationId,
          channel,
          part: `${base}@${until}`,
          ...formatOf(part),
          ...toStoredRecipients(later),
        }
        await events.publish(messagePart, waiting, { notBefore: until })
      }
      if (state === 'sending' && !isKeyed && skipped === 0 && quiet.size === 0) return
      const begun = await db.execute(
        `update notification_message set state = 'sending', skipped = skipped + ?, parts = parts + ?
         where id = ? and state not in ('finished', 'cancelled')`,
        [skipped, quiet.size, notificationId],
      )
      // Nothing is sent. The event is delivered again, and `deliver` then finds no content.
      if (begun === 0 && (isKeyed || state === 'queued')) throw new Error('The message was cancelled')
    }
    return { leftOut, prepared, begin }
  }

  /** Indexes of users by the minute in which their quiet hours end. */
  async #quiet({ channel, recipients }: Part): Promise<ReadonlyMap<number, readonly number[]>> {
    const byEnd = new Map<number, number[]>()
    const ends = await this.#parts.quiet.on(channel, recipients)
    if (ends.size === 0) return byEnd
    for (const [place, recipient] of recipients.entries()) {
      const end = 'userId' in recipient ? ends.get(recipient.userId) : undefined
      if (end === undefined) continue
      const minute = Math.ceil(end / minuteMs) * minuteMs
      byEnd.set(minute, [...(byEnd.get(minute) ?? []), place])
    }
    return byEnd
  }

  /**
   * Sends all deliveries. @param begin only for the first attempt; in later attempts, the send log may contain earlier
   * sends
   */
  async #sendAll(
    prepared: PrepareResult,
    deliveries: readonly Delivery[],
    signal: AbortSignal,
    begin: (() => Promise<void>) | undefined,
  ): Promise<Sent> {
    const { outgoing } = this.#parts
    const known = begin === undefined ? await this.#knownOf(prepared, deliveries) : new Map<string, KnownRow>()
    const isIdempotent = 'channel' in prepared && prepared.channel.traits.idempotent
    const open = deliveries.filter(({ key }) => {
      const row = known.get(key)
      return row === undefined || isUnattempted(row) || (row.status === 'sending' && isIdempotent)
    })
    let sent: Sent = { finished: [], isBegun: false }
    for (let from = 0; from < open.length && !signal.aborted; from += maxParallelParts) {
      const group = open.slice(from, from + maxParallelParts)
      const resumed = await this.#resume(prepared, group, known)
      const together = group.filter(({ key }) => resumed.get(key) !== null)
      const begun = together.map(
        ({ key, sending }) => resumed.get(key) ?? this.#entry(prepared, sending, known.get(key)),
      )
      // One write stores the outcomes of the last sends and the rows of the next ones.
      const entries = [...sent.finished, ...begun.filter(({ tried }) => !tried)]
      await this.#write(sent.finished, entries, sent.isBegun ? undefined : begin)
      await outgoing.tracked(this.#sendTogether(prepared, together, begun, signal))
      const limits = begun.flatMap(({ row, retryInMs }) => (isUnattempted(row) ? [retryInMs ?? 0] : []))
      sent = { finished: begun, isBegun: true, limitMs: limits.length === 0 ? undefined : Math.min(...limits) }
      if (sent.limitMs !== undefined) return sent
    }
    return sent
  }

  /**
   * Begins the sends whose rows wait for a rate limit. Returns their entries by key; null if the row does not wait any
   * more.
   */
  async #resume(
    prepared: PrepareResult,
    deliveries: readonly Delivery[],
    known: ReadonlyMap<string, KnownRow>,
  ): Promise<ReadonlyMap<string, SendEntry | null>> {
    const resumed = new Map<string, SendEntry | null>()
    for (const { key, sending } of deliveries) {
      const row = known.get(key)
      if (row === undefined || !isUnattempted(row)) continue
      const entry = this.#entry(prepared, sending, row)
      resumed.set(key, (await this.#parts.writer.resume(entry)) ? entry : null)
    }
    return resumed
  }

  /**
   * Returns the rows of earlier attempts by key. Their interrupted sends become `unknown`, unless the channel is
   * idempotent.
   */
  async #knownOf(prepared: PrepareResult, deliveries: readonly Delivery[]): Promise<ReadonlyMap<string, KnownRow>> {
    const { db, writer } = this.#parts
    const keys = deliveries.map(({ key }) => key)
    if (keys.length === 0) return new Map()
    const rows = await db
      .fork()
      .find(
        SendLogRow,
        { deliveryKey: { $in: keys } },
        { fields: ['id', 'status', 'outcome', 'createdAt', 'deliveryKey'] },
      )
    const isIdempotent = 'channel' in prepared && prepared.channel.traits.idempotent
    const lost = rows.filter(({ status }) => status === 'sending' && !isIdempotent)
    if (lost.length > 0) await writer.markUnknown(lost.map(({ id }) => id))
    return new Map(rows.map(({ deliveryKey, ...row }) => [deliveryKey ?? '', row]))
  }

  /** Writes entries to the send log. @param finished entries that are written later if this write fails */
  async #write(
    finished: readonly SendEntry[],
    entries: readonly SendEntry[],
    also: () => Promise<void> = async () => {},
  ): Promise<void> {
    const { db, recorder, writer } = this.#parts
    try {
      await db.transactional(async () => {
        await writer.write(entries)
        await also()
      })
    } catch (error) {
      recorder.writeLater(finished)
      throw error
    }
  }

  /** Creates the entry of a send. @param known existing row in state `sending` or `waiting` */
  #entry(prepared: PrepareResult, sending: RecordedSend, known: KnownRow | undefined): SendEntry {
    const code = 'code' in prepared ? prepared.code : prepared.result.channel
    const entry = this.#parts.writer.entryOf(code, sending, prepared.shown)
    if (known === undefined) return entry
    const { id, createdAt } = known
    return Object.assign(entry, { id, tried: true, row: { ...entry.row, createdAt } })
  }

  async #sendTogether(
    prepared: PrepareResult,
    deliveries: readonly Delivery[],
    entries: readonly SendEntry[],
    signal: AbortSignal,
  ): Promise<void> {
    const { outgoing, writer } = this.#parts
    await Promise.all(
      deliveries.map(async ({ sending }, index) => {
        const result = await send(outgoing, prepared, sending, signal)
        const entry = entries[index]
        if (entry !== undefined) writer.conclude(entry, result)
      }),
    )
  }

  /** Writes the outcomes of the last sends. If the part was not aborted, marks it as done. */
  async #end(
    { notificationId, part }: Part,
    finished: readonly SendEntry[],
    signal: AbortSignal,
    begin: (() => Promise<void>) | undefined,
  ): Promise<void> {
    const { db, clock } = this.#parts
    const now = new Date(clock.now())
    await this.#write(finished, finished, async () => {
      if (signal.aborted) return
      await begin?.()
      const ended = await db.execute(
        'update notification_message_part set done_at = ? where notification_id = ? and part = ? and done_at is null',
        [now, notificationId, part],
      )
      if (ended === 0) return
      // MySQL evaluates assignments from left to right, so the columns that the conditions read are assigned last.
      await db.execute(
        `update notification_message set
           finished_at = case when parts_done + 1 >= parts and state <> 'cancelled' then ? else finished_at end,
           state = case when parts_done + 1 >= parts and state <> 'cancelled' then 'finished' else state end,
           parts_done = parts_done + 1
         where id = ?`,
        [now, notificationId],
      )
    })
    signal.throwIfAborted()
  }
}

const formatOf = ({ locale, timeZone }: ReaderFormat): ReaderFormat => omitUndefined({ locale, timeZone })

/** True for a row that waits for a rate limit of the product. */
const isUnattempted = ({ status, outcome }: Pick<SendLogRow, 'status' | 'outcome'>) =>
  status === 'waiting' && outcome == null

const send = (
  outgoing: OutgoingMessages,
  prepared: PrepareResult,
  sending: RecordedSend,
  signal: AbortSignal,
): Promise<SendResult> | SendResult =>
  'result' in prepared
    ? prepared.result
    : outgoing.call(
        { ...prepared, message: { ...prepared.message, recipients: sending.message.recipients } },
        sending,
        signal,
      )

/** Returns the number of recipients to whom nothing is sent. */
function skippedOf(prepared: PrepareResult, recipients: number): number {
  if ('channel' in prepared)
    return prepared.channel.traits.recipients === 'each' ? recipients - prepared.source.recipients.length : 0
  return prepared.result.skipped === true ? 1 : 0
}

function deliveriesOf(
  prepared: PrepareResult,
  { notificationId, part }: Part,
  message: NotificationMessage,
): Delivery[] {
  const base = {
    message: 'source' in prepared ? prepared.source : message,
    idempotencyKey: `${message.id}/${part}`,
    attempt: 1,
    isRetried: true,
  }
  const withKey = ({ idempotencyKey, ...sending }: typeof base): Delivery => {
    const key = `${notificationId}/${idempotencyKey.slice(message.id.length + 1)}`
    return {
      key,
      sending: { ...sending, idempotencyKey, delivery: { notificationId, deliveryKey: key, isStored: true } },
    }
  }
  if ('result' in prepared) return prepared.result.skipped === true ? [] : [withKey(base)]
  return sendsPerChannelCall(prepared.channel, base).map(withKey)
}
