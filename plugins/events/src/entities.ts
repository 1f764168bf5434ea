import { defineEntity, type InferEntity } from '@mikro-orm/core'
import { column, type Database, personalTable } from '@plinth/database'
import { bilingual, type PersonalTable, type Plugin, type PluginDataStore } from '@plinth/kernel'
import { ownerOfName } from '@plinth/kernel/host'
import type { EventLane } from './contract.ts'

/**
 * `scheduled`: not due yet. `pending`: due, or being delivered while it has a lease. `failed`: all attempts failed, so
 * an operator must act. `delivered` and `skipped` are final.
 */
export const outboxStates = ['scheduled', 'pending', 'delivered', 'failed', 'skipped'] as const
export type OutboxState = (typeof outboxStates)[number]

/** `nextAt` of an event that is due immediately. Earlier than any real time. */
export const dueImmediatelyTime = new Date(0)
/** `nextAt` of an event that waits for an earlier event of its key. Later than any real time. */
export const blockedEventTime = new Date(Date.UTC(9999, 0, 1))

export const EventRow = defineEntity({
  name: 'OutboxEvent',
  tableName: 'outbox_event',
  uniques: [{ properties: ['streamKey', 'position'] }],
  indexes: [
    { properties: ['status', 'nextAt', 'id'] },
    { properties: ['status', 'lane', 'nextAt', 'id'] },
    { properties: ['status', 'finishedAt'] },
    { properties: ['status', 'id'] },
    { properties: ['type', 'id'] },
    { properties: ['type', 'status', 'id'] },
    { properties: ['streamKey', 'id'] },
    { properties: ['status', 'streamKey'] },
  ],
  properties: {
    id: column.primaryKey(),
    type: column.text(128),
    /** JSON text. It is not a JSON column, so that it is read exactly as it was written. */
    payload: column.longText(),
    streamKey: column.text(200).nullable(),
    /**
     * Position among the events of the key; with `order: 'publication'`, the id. Null without a key, and after the event
     * is delivered or skipped.
     */
    position: column.bigint().nullable(),
    status: column.text(16).$type<OutboxState>(),
    /** Lane of the handlers that are called next. */
    lane: column.text(16).$type<EventLane>().default('database'),
    attempts: column.integer(),
    /** Earliest time of the next attempt: the next retry, the end of the lease, `dueImmediatelyTime` or `blockedEventTime`. */
    nextAt: column.timestamp(),
    notBefore: column.timestamp().nullable(),
    /** Token of the claim under which the event is being delivered. */
    leaseToken: column.text(36).nullable(),
    lastError: column.text(500).nullable(),
    /** Position in the trace in which the event was published (W3C Trace Context). */
    traceparent: column.text(55).nullable(),
    createdAt: column.timestamp(),
    finishedAt: column.timestamp().nullable(),
  },
})
export type EventRow = InferEntity<typeof EventRow>

/** Handlers that are done with an event, while other handlers are not. */
export const DeliveryRow = defineEntity({
  name: 'OutboxDelivery',
  tableName: 'outbox_delivery',
  uniques: [{ properties: ['eventId', 'handler'] }],
  properties: {
    id: column.primaryKey(),
    eventId: column.id(),
    handler: column.text(128),
    deliveredAt: column.timestamp(),
  },
})

/** The last position of a key. Publishers lock the row of their key, so positions have the order of commits. */
export const StreamRow = defineEntity({
  name: 'OutboxStream',
  tableName: 'outbox_stream',
  indexes: [{ properties: ['updatedAt'] }],
  properties: {
    streamKey: column.text(200).primary(),
    lastPosition: column.bigint(),
    updatedAt: column.timestamp(),
  },
})

export const entities = [EventRow, DeliveryRow, StreamRow]

const reason = bilingual(
  'All handlers must process an event. It is removed after the retention time of events, or when an operator skips it.',
  '事件须由所有处理程序处理完毕，之后在事件保留时间结束或被操作员跳过后清除。',
)

/**
 * Tables with events whose key is a user. Events with other keys may also contain user ids. All events are removed
 * after their retention time.
 */
export const eventTables = (db: Database): readonly PersonalTable[] => [
  personalTable(db, EventRow, {
    title: bilingual('Events about the user', '与用户相关的事件'),
    owner: { actor: 'stream_key' },
    omit: ['leaseToken'],
    erasure: 'kept',
    reason,
  }),
  personalTable(db, StreamRow, {
    title: bilingual('Position of events about the user', '与用户相关的事件序号'),
    owner: { actor: 'stream_key' },
    erasure: 'kept',
    reason,
  }),
]

/**
 * Finds the events of a plugin, for the removal of the plugin. They stay: handlers of other plugins may still need them,
 * and events without handlers are finished. All events are removed after their retention time.
 */
export const eventData = (db: Database, plugins: readonly Pick<Plugin, 'id'>[]): PluginDataStore => ({
  async find({ id }) {
    const rows = await db.query<{ type: string; n: number | string }>(
      'select type, count(*) as n from outbox_event where type = ? or type like ? group by type order by type',
      [id, `${id}.%`],
    )
    return rows
      .filter(({ type }) => ownerOfName(type, plugins) === id)
      .map(({ type, n }) => ({ kind: 'events', name: type, rows: Number(n), isKept: true }))
  },
  async remove() {},
})
