import { createHash } from 'node:crypto'
import { type Database, insertMissingRows, type NewRow } from '@plinth/database'
import type { Events } from '@plinth/events'
import {
  type Clock,
  fitTextToColumn,
  isBusinessError,
  type Logger,
  type NotificationChannel,
  type NotificationMessage,
  type Recipient,
  type RecipientKind,
  secretsOf,
} from '@plinth/kernel'
import type { CancelOptions, CancelResult, EnqueuedMessage, EnqueueOptions, MessageProgress } from '../contract.ts'
import { businessError } from '../declarations.ts'
import { NotificationRow, priorities, SendLogRow } from '../entities.ts'
import { type OutgoingMessages, targetOf } from '../facade/outgoing.ts'
import { secretAttributeValues } from '../masking.ts'
import type { OwnerOf, ReaderGroup, Readers } from '../recipients.ts'
import type { MessageRenderer } from '../rendering.ts'
import { snapshotText } from '../send-log/snapshot.ts'
import { hashesOf, MessageKeys, withReplacement } from './message-keys.ts'
import {
  maxIdempotentPartRecipients,
  maxPartRecipients,
  maxSingleSendPartRecipients,
  messagePart,
  toStoredRecipients,
} from './message-part.ts'

export interface Sender {
  readonly userId: number | null
  readonly name: string | null
  /** Claim of the idempotency key with which the sender called. */
  readonly claimId?: number | undefined
}

interface QueueDependencies {
  readonly db: Database
  readonly events: Pick<Events, 'publish'> | undefined
  readonly outgoing: Pick<OutgoingMessages, 'requireChannel'>
  readonly rendering: Pick<MessageRenderer, 'preview'>
  readonly readers: Pick<Readers, 'groupsOf'>
  readonly subjectOf: (message: NotificationMessage) => string
  readonly redact: (text: string, more?: Iterable<unknown>) => string
  readonly clock: Pick<Clock, 'now'>
  readonly ownerOf: OwnerOf
  readonly log: Pick<Logger, 'warn'>
}

const dayMs = 86_400_000
/** States of rows that still get an outcome. */
const openStates = ['waiting', 'sending'] as const
const maxAheadMs = 366 * dayMs
const maxKeyLength = 200

interface Plan extends ReaderGroup {
  readonly channel: string
}

export class MessageQueue {
  readonly #parts: QueueDependencies
  readonly #keys: MessageKeys

  constructor(parts: QueueDependencies) {
    this.#parts = parts
    this.#keys = new MessageKeys(parts)
  }

  get isDurable(): boolean {
    return this.#parts.events !== undefined
  }

  async enqueue(
    message: NotificationMessage,
    channels: readonly string[],
    options: EnqueueOptions,
    sender?: Sender,
  ): Promise<EnqueuedMessage> {
    const { db, events, clock, outgoing, redact, ownerOf, readers, log } = this.#parts
    if (events === undefined) throw new Error('The product has no events')
    checkOptions(options, clock.now())
    checkRecipients(message.recipients)
    const { idempotencyKey, notBefore, priority = 'normal' } = options
    const hashes = hashesOf(options, message.recipients)
    const stored = withReplacement(message, hashes, db.clock.now())
    const payload = snapshotText({ message: stored, idempotencyKey: message.id }, redact, { without: 'recipients' })
    if (payload === null) throw businessError('not-durable')
    const planned = channels.map(async (code) => {
      const channel = outgoing.requireChannel(code)
      const groups = (await readers.groupsOf(message, channel)) ?? [{ format: {}, recipients: message.recipients }]
      return partsOf(code, channel, groups)
    })
    const plans = (await Promise.all(planned)).flat()
    const hash = idempotencyKey === undefined ? null : createHash('sha256').update(idempotencyKey).digest('hex')
    const moment = notBefore === undefined ? {} : { notBefore }
    const subject = await this.#subjectOf(message, channels)
    const row = {
      ...rowOf({ ...message, subject }, channels, sender, redact, new Date(clock.now())),
      priority,
      payload,
    }
    const values = {
      ...row,
      ...(await ownerOf(message.recipients)),
      ...hashes,
      idempotencyHash: hash,
      state: 'queued' as const,
      parts: plans.length,
      notBefore: notBefore === undefined ? null : new Date(notBefore),
    }
    return db.transactional(async (em) => {
      const isCancelled = await this.#keys.lock(hashes)
      const cancelled = { state: 'cancelled', payload: null, finishedAt: row.createdAt } as const
      const id = await insert(db, isCancelled ? { ...values, ...cancelled } : values)
      if (hash !== null) {
        const fields = ['id', 'messageId', 'payload', 'channels', 'recipientCount'] as const
        const kept = await em.findOne(NotificationRow, { idempotencyHash: hash }, { fields })
        if (kept !== null && kept.id !== id) {
          if (!isSameMessage(kept, values)) {
            const about = { messageId: kept.messageId, subject }
            log.warn(about, 'an idempotency key was used for two different messages; only the first one is sent')
          }
          return { messageId: kept.messageId, id: kept.id }
        }
      }
      if (isCancelled) return { messageId: message.id, id }
      if (hashes.replaceHash !== null) await this.#keys.replace(em, hashes.replaceHash, id)
      for (const [number, { channel, recipients, format }] of plans.entries()) {
        const name = `${channel}:${number}`
        const part = { notificationId: id, channel, part: name, ...format, ...toStoredRecipients(recipients) }
        // An event with a time cannot have a key. Scheduled messages therefore have no order.
        const key = notBefore === undefined ? queueOf(channel, outgoing.requireChannel(channel), message) : undefined
        const order = key === undefined ? moment : { key, order: 'publication' as const }
        await events.publish(messagePart, part, order)
      }
      return { messageId: message.id, id }
    })
  }

  cancel(key: string, options?: CancelOptions): Promise<CancelResult> {
    return this.#keys.cancel(key, options)
  }

  async progressOf(id: number): Promise<MessageProgress> {
    const em = this.#parts.db.fork()
    const message = await em.findOne(NotificationRow, { id }, { fields: ['state', 'accepted', 'unknown'] })
    if (message === null || message.accepted + message.unknown > 0) return 'sent'
    if (message.state === 'queued' || message.state === 'sending') return 'pending'
    const claimed = { status: 'retried', claimedUntil: { $ne: null } } as const
    const unfinished = { notificationId: id, $or: [{ status: { $in: [...openStates] } }, claimed] }
    const open = await em.findOne(SendLogRow, unfinished, { fields: ['id'] })
    return open === null ? 'failed' : 'pending'
  }

  /** Adds a message that is sent immediately to the list of messages. */
  async keep(message: NotificationMessage, channels: readonly string[], sender: Sender): Promise<number> {
    const { db, clock, redact, ownerOf } = this.#parts
    const owner = await ownerOf(message.recipients)
    const subject = await this.#subjectOf(message, channels)
    const row = rowOf({ ...message, subject }, channels, sender, redact, new Date(clock.now()))
    return db.transactional(() =>
      insert(db, {
        ...row,
        ...owner,
        priority: 'normal',
        state: 'sending',
        parts: 0,
      }),
    )
  }

  /** Returns the subject for the list of messages. A message without a subject has the subject of its template. */
  async #subjectOf(message: NotificationMessage, [channel]: readonly string[]): Promise<string> {
    const { outgoing, rendering, subjectOf } = this.#parts
    if (message.subject.trim() !== '' || message.template === undefined || channel === undefined)
      return subjectOf(message)
    try {
      const { traits } = outgoing.requireChannel(channel)
      return (await rendering.preview(message, channel, traits)).subject
    } catch (error) {
      if (isBusinessError(error)) return ''
      throw error
    }
  }

  /** Marks a message as finished. @param skipped number of channels on which no send was attempted */
  async finish(id: number, skipped: number): Promise<void> {
    const { db, clock } = this.#parts
    await db.execute(`update notification_message set state = 'finished', skipped = ?, finished_at = ? where id = ?`, [
      skipped,
      new Date(clock.now()),
      id,
    ])
  }
}

type NewMessage = Omit<NewRow<typeof NotificationRow>, 'id' | keyof typeof uncounted>

const uncounted = { partsDone: 0, accepted: 0, rejected: 0, deferred: 0, unknown: 0, skipped: 0 }

async function insert(db: Database, message: NewMessage): Promise<number> {
  const id = db.newId()
  await insertMissingRows(db, NotificationRow, 'idempotencyHash', [{ ...uncounted, ...message, id }])
  return id
}

/** Returns the row of a message. Its texts contain no secrets of the message or the configuration. */
function rowOf(
  message: NotificationMessage,
  channels: readonly string[],
  sender: Sender | undefined,
  redact: QueueDependencies['redact'],
  createdAt: Date,
) {
  const secrets = [...secretsOf(message), ...secretAttributeValues(message.attributes)]
  const text = (value: string, length: number) => fitTextToColumn(redact(value, secrets), length)
  const { traceId } = message.attributes
  return {
    messageId: message.id,
    subject: text(message.subject, 500),
    template: message.template === undefined ? null : text(message.template, 128),
    channels: [...channels],
    recipientCount: message.recipients.length,
    claimId: sender?.claimId ?? null,
    senderId: sender?.userId ?? null,
    senderName: sender?.name == null ? null : fitTextToColumn(sender.name, 64),
    traceId: typeof traceId === 'string' ? text(traceId, 128) : null,
    createdAt,
  }
}

type EnqueuedContent = Pick<NotificationRow, 'messageId' | 'payload' | 'channels' | 'recipientCount'>

/** False if the messages differ. A message that has ended is no longer stored, so only its facts are compared. */
function isSameMessage(one: EnqueuedContent, other: EnqueuedContent): boolean {
  const facts = ({ channels, recipientCount }: EnqueuedContent) => JSON.stringify([channels, recipientCount])
  // The same message may have been stored with other versions of its template. The time of a replacement is that of the call.
  const changing = /"templateVersions":\{[^}]*\},?|,"replacement":\{[^{}]*\}/g
  const texts = ({ payload, messageId }: EnqueuedContent) => payload?.replaceAll(messageId, '').replace(changing, '')
  if (facts(one) !== facts(other)) return false
  return one.payload == null || texts(one) === texts(other)
}

/** Returns the key of the queue of an address. Undefined if messages to it have no order. */
function queueOf(code: string, channel: NotificationChannel, message: NotificationMessage): string | undefined {
  const target = targetOf(channel, message)
  if (target?.address === undefined) return undefined
  const address = JSON.stringify([code, target.server, target.address])
  return `notification.${createHash('sha256').update(address).digest('hex').slice(0, 32)}`
}

/** Divides the recipients of a message on one channel into parts. A channel that needs no recipients gets one part. */
function partsOf(code: string, channel: NotificationChannel, groups: readonly ReaderGroup[]): Plan[] {
  if (channel.recipientKinds.length === 0) {
    const recipients = groups.flatMap((group) => group.recipients).slice(0, maxPartRecipients)
    return [{ channel: code, format: {}, recipients }]
  }
  const parts = groups.flatMap((group) => partsOfGroup(code, channel, group))
  // A part without recipients, so that the send log records that the channel reaches no recipient.
  return parts.length === 0 ? [{ channel: code, format: {}, recipients: [] }] : parts
}

function partsOfGroup(code: string, channel: NotificationChannel, { format, recipients }: ReaderGroup): Plan[] {
  const reached = recipients.filter(({ kind }) => channel.recipientKinds.includes(kind))
  const together = channel.traits.idempotent ? maxIdempotentPartRecipients : maxPartRecipients
  const size = channel.traits.recipients === 'each' ? maxSingleSendPartRecipients : together
  return Array.from({ length: Math.ceil(reached.length / size) }, (_, index) => ({
    channel: code,
    format,
    recipients: reached.slice(index * size, (index + 1) * size),
  }))
}

/** Required field of a recipient and its type, by kind of recipient. */
const recipientFields: Readonly<Record<RecipientKind, readonly [name: string, type: 'number' | 'string'] | undefined>> =
  {
    user: ['userId', 'number'],
    'all-users': undefined,
    email: ['address', 'string'],
    mobile: ['number', 'string'],
    'websocket-user': ['userId', 'number'],
    'websocket-session': ['sessionId', 'string'],
    'websocket-group': ['group', 'string'],
    'websocket-guest': undefined,
    'social-openid': ['openId', 'string'],
    topic: ['topic', 'string'],
  }

const isRecipientKind = (kind: unknown): kind is RecipientKind =>
  typeof kind === 'string' && Object.hasOwn(recipientFields, kind)

/** Checks the recipients of a message when it is enqueued. Later, when a worker sends it, nobody could correct them. */
function checkRecipients(recipients: readonly Recipient[]): void {
  for (const [index, recipient] of recipients.entries()) {
    const kind: unknown = Object(recipient).kind
    if (!isRecipientKind(kind)) {
      throw new TypeError(`recipients[${index}].kind must be one of ${Object.keys(recipientFields).join(', ')}`)
    }
    const [name, type] = recipientFields[kind] ?? []
    if (name === undefined) continue
    const value: unknown = Object(recipient)[name]
    const isValid = type === 'number' ? Number.isSafeInteger(value) : typeof value === 'string' && value !== ''
    if (!isValid)
      throw new TypeError(`recipients[${index}].${name} must be a ${type === 'number' ? 'whole number' : 'text'}`)
  }
}

function checkOptions({ idempotencyKey, notBefore, priority }: EnqueueOptions, now: number): void {
  if (idempotencyKey !== undefined && (idempotencyKey === '' || idempotencyKey.length > maxKeyLength)) {
    throw new RangeError(`idempotencyKey must have 1 to ${maxKeyLength} characters`)
  }
  if (notBefore !== undefined && !Number.isSafeInteger(notBefore)) {
    throw new RangeError('notBefore must be whole milliseconds since the epoch')
  }
  if (notBefore !== undefined && notBefore > now + maxAheadMs) {
    throw businessError('not-before-too-far', { params: { days: maxAheadMs / dayMs }, data: { field: 'notBefore' } })
  }
  if (priority !== undefined && !priorities.includes(priority)) {
    throw new RangeError(`priority must be ${priorities.join(' or ')}`)
  }
}
