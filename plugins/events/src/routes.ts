import { type Database, maxCounted } from '@plinth/database'
import {
  bulkRateLimit,
  bulkResult,
  count,
  filterQuery,
  id,
  idParams,
  instant,
  line,
  listPage,
  listQuery,
  listResponse,
  mapListRows,
  nullable,
  rangeQuery,
  routesWith,
  sortQuery,
  Type,
  traceId,
  withDescription,
} from '@plinth/http'
import {
  type AuditedRequest,
  type AuditSummary,
  auditFieldsOfCaller,
  type Kernel,
  type Logger,
  traceIdOfParent,
  writeAuditEntry,
} from '@plinth/kernel'
import { permissionCodes } from './declarations.ts'
import { blockedEventTime, dueImmediatelyTime, type EventRow, outboxStates } from './entities.ts'
import type { OutboxAdmin } from './outbox-admin.ts'

const path = '/api/v1/admin/events/outbox'
const state = Type.Enum(outboxStates)
/** Ids have the order of publication. */
const sort = sortQuery({ id: 'id', createdAt: 'created_at' }, '-id')

const eventView = Type.Object({
  id,
  type: Type.String(),
  key: nullable(Type.String()),
  status: state,
  attempts: count,
  nextAt: withDescription(instant, 'Time of the next attempt. For an event that is being handled: end of its lease.'),
  notBefore: withDescription(nullable(instant), 'Earliest delivery time, as published. Null: immediately.'),
  lastError: nullable(Type.String()),
  createdAt: instant,
  finishedAt: nullable(instant),
  traceId: withDescription(nullable(Type.String()), 'Trace in which the event was published.'),
})
const eventDetail = Type.Object({
  ...eventView.properties,
  payload: Type.String({ description: 'Payload as JSON with masked secrets.' }),
  handled: Type.Array(Type.String(), { description: 'Handlers that have finished, while others have not.' }),
  deliveries: Type.Array(Type.Object({ handler: Type.String(), deliveredAt: instant }), {
    description: 'Time at which each of these handlers finished.',
  }),
})
const backlog = Type.Object({
  counts: Type.Object({ scheduled: count, pending: count, delivered: count, failed: count, skipped: count }),
  counted: Type.Enum(['exact', 'capped'], {
    description: `\`capped\`: at least one count is limited to ${maxCounted}, and the real number is larger.`,
  }),
  oldestPendingAt: nullable(instant),
  blockedKeys: Type.Integer({
    minimum: 0,
    description: 'Number of ordering keys whose events are blocked by a failed event.',
  }),
})

const hasTime = ({ nextAt }: EventRow) => nextAt > dueImmediatelyTime && nextAt < blockedEventTime

const viewOf = (event: EventRow) => ({
  id: event.id,
  type: event.type,
  key: event.streamKey ?? null,
  status: event.status,
  attempts: event.attempts,
  nextAt: (hasTime(event) ? event.nextAt : event.createdAt).toISOString(),
  notBefore: event.notBefore?.toISOString() ?? null,
  lastError: event.lastError ?? null,
  createdAt: event.createdAt.toISOString(),
  finishedAt: event.finishedAt?.toISOString() ?? null,
  traceId: traceIdOfParent(event.traceparent) ?? null,
})

interface OutboxRouteDependencies {
  readonly product: Kernel
  readonly db: Database
  readonly admin: OutboxAdmin
  readonly redact: (text: string) => string
  readonly log: Logger
}

const range = rangeQuery('createdAt', 'id')

const eventFilter = filterQuery(eventView, ['status', 'type', 'attempts', 'notBefore', 'finishedAt'])

const { route } = routesWith<OutboxRouteDependencies>()

/** Runs the work and writes its audit record in one transaction. */
const recorded = <T>(
  { db, product }: Pick<OutboxRouteDependencies, 'db' | 'product'>,
  request: AuditedRequest,
  verb: 'replay' | 'skip',
  events: number | AuditSummary,
  work: () => Promise<T>,
): Promise<T> =>
  db.transactional(async () => {
    const done = await work()
    const about = typeof events === 'number' ? { subject: events } : { summary: { ...events, ...done } }
    await writeAuditEntry(product, { ...auditFieldsOfCaller(request), action: `outbox-event.${verb}`, ...about })
    return done
  })

/** Returns the route that changes one event, which must not be finished. The log says that an operator `does` it. */
const eventChange = (verb: 'replay' | 'skip', summary: string, does: string) =>
  route({
    method: 'POST',
    path: `${path}/:id/${verb}`,
    summary,
    access: { permission: permissionCodes.replay, scope: 'all' },
    request: { params: idParams },
    response: Type.Null(),
    reasons: ['events.event-finished', 'events.event-unknown'],
    async handler(request, parts) {
      const { id } = request.params
      await recorded(parts, request, verb, id, () => parts.admin[verb](id))
      parts.log.info({ event: id, traceId: request.traceId }, `an operator ${does} an event`)
      return null
    },
  })

export const outboxRoutes = [
  route({
    method: 'GET',
    path: `${path}/backlog`,
    summary: 'Count events in the outbox by state',
    access: { permission: permissionCodes.view, scope: 'all' },
    response: backlog,
    reasons: [],
    handler: async (_request, { admin }) => {
      const { oldestPendingAt, ...counted } = await admin.backlog()
      return { ...counted, oldestPendingAt: oldestPendingAt?.toISOString() ?? null }
    },
  }),
  route({
    method: 'GET',
    path,
    summary: 'List events in the outbox, newest first',
    access: { permission: permissionCodes.view, scope: 'all' },
    request: {
      query: Type.Object({
        ...listQuery.properties,
        ...eventFilter.properties,
        ...range.properties,
        ...sort.properties,
        status: Type.Optional(state),
        type: Type.Optional(line(128, { minLength: 1 })),
        key: Type.Optional(line(200, { minLength: 1 })),
        traceId: Type.Optional(traceId),
      }),
    },
    response: listPage(eventView),
    reasons: [],
    handler: ({ query }, { admin }) => {
      const [rule] = sort.parse(query.sort)
      const orderBy = [{ property: 'id', direction: rule?.direction ?? 'desc' }] as const
      return listResponse(
        query,
        orderBy,
        async (window) => mapListRows(await admin.list(query, window), viewOf),
        range,
        eventFilter,
      )
    },
  }),
  route({
    method: 'GET',
    path: `${path}/:id`,
    summary: 'Get an event with its payload',
    access: { permission: permissionCodes.view, scope: 'all' },
    request: { params: idParams },
    response: eventDetail,
    reasons: ['events.event-unknown'],
    handler: async (request, { admin, redact }) => {
      const { event, deliveries } = await admin.one(request.params.id)
      return {
        ...viewOf(event),
        payload: redact(event.payload),
        handled: deliveries.map(({ handler }) => handler),
        deliveries: deliveries.map(({ handler, deliveredAt }) => ({ handler, deliveredAt: deliveredAt.toISOString() })),
      }
    },
  }),
  eventChange('replay', 'Retry a failed, pending or scheduled event now, with all its attempts', 'retries'),
  eventChange(
    'skip',
    'Skip a failed, pending or scheduled event and unblock later events with the same key',
    'skipped',
  ),
  route({
    method: 'POST',
    path: `${path}/replay`,
    annotations: [bulkRateLimit],
    summary: 'Retry the failed events that match all filters',
    access: { permission: permissionCodes.replay, scope: 'all' },
    request: {
      body: Type.Object(
        {
          ids: Type.Optional(Type.Array(id, { minItems: 1, maxItems: 200, uniqueItems: true })),
          type: Type.Optional(line(128, { minLength: 1 })),
          key: Type.Optional(line(200, { minLength: 1 })),
        },
        { minProperties: 1 },
      ),
    },
    response: Type.Object({
      ...bulkResult.properties,
      isMore: Type.Boolean({ description: 'True if more events match. Call again to retry them.' }),
    }),
    reasons: ['events.event-finished', 'events.event-unknown'],
    async handler(request, parts) {
      const done = await recorded(parts, request, 'replay', request.body, () => parts.admin.replayAll(request.body))
      const { affected, isMore, results } = done
      parts.log.info({ affected, isMore, traceId: request.traceId }, 'an operator retries events')
      return { affected, isMore, results }
    },
  }),
]
