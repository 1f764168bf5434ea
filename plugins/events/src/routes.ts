import type { Database } from '@plinth/database'
import { answerList, type HttpServer, listPage, listQuery, sortQuery } from '@plinth/http'
import { type AuditedRequest, type AuditSummary, audit, auditCaller, type Kernel, type Logger } from '@plinth/kernel'
import { bulkLimited } from '@plinth/rate-limit'
import { Type } from 'typebox'
import { mostCounted } from './backlog.ts'
import { dueAtOnce, type OutboxEvent, outboxStates, waitsForItsTurn } from './entities.ts'
import type { OutboxAdmin } from './outbox-admin.ts'
import { own } from './permissions.ts'

const path = '/api/v1/admin/events/outbox'
const line = (maxLength: number) => Type.String({ minLength: 1, maxLength, pattern: '^[^\\p{Cc}\\p{Cs}]*$' })
const id = Type.Integer({ minimum: 1 })
const count = Type.Integer({ minimum: 0 })
const moment = Type.String({ format: 'date-time' })
const orNull = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()])
const state = Type.Enum(outboxStates)
/** Ids sort by the time of publication. */
const sort = sortQuery({ id: 'id', createdAt: 'created_at' }, '-id')

const eventView = Type.Object({
  id,
  type: Type.String(),
  key: orNull(Type.String()),
  status: state,
  attempts: count,
  nextAt: Type.String({ format: 'date-time', description: 'Of a pending event: not before, or the end of its lease.' }),
  lastError: orNull(Type.String()),
  createdAt: moment,
  finishedAt: orNull(moment),
})
const eventDetail = Type.Object({
  ...eventView.properties,
  payload: Type.String({ description: 'JSON; known secrets are masked.' }),
  handled: Type.Array(Type.String(), { description: 'Handlers that are done while others are not.' }),
})
const backlog = Type.Object({
  counts: Type.Object({ pending: count, delivered: count, failed: count, skipped: count }),
  counted: Type.Enum(['exact', 'capped'], {
    description: `\`capped\`: a number stands at ${mostCounted} because there are more.`,
  }),
  oldestPendingAt: orNull(moment),
  blockedKeys: Type.Integer({ minimum: 0, description: 'Ordering keys whose events wait behind a failed one.' }),
})

const hasTime = ({ nextAt }: OutboxEvent) => nextAt > dueAtOnce && nextAt < waitsForItsTurn

const viewOf = (event: OutboxEvent) => ({
  id: event.id,
  type: event.type,
  key: event.streamKey ?? null,
  status: event.status,
  attempts: event.attempts,
  nextAt: (hasTime(event) ? event.nextAt : event.createdAt).toISOString(),
  lastError: event.lastError ?? null,
  createdAt: event.createdAt.toISOString(),
  finishedAt: event.finishedAt?.toISOString() ?? null,
})

interface OutboxRouteParts {
  readonly http: HttpServer
  readonly product: Kernel
  readonly db: Database
  readonly admin: OutboxAdmin
  readonly redact: (text: string) => string
  readonly log: Logger
}

/** Administration of the outbox. */
export function addOutboxRoutes({ http, product, db, admin, redact, log }: OutboxRouteParts): void {
  const params = Type.Object({ id })
  /** Does the work together with its record in the audit. */
  const recorded = <T>(
    request: AuditedRequest,
    verb: 'replay' | 'skip',
    events: number | AuditSummary,
    work: () => Promise<T>,
  ): Promise<T> =>
    db.transactional(async () => {
      const done = await work()
      const about = typeof events === 'number' ? { subject: events } : { summary: { ...events, ...done } }
      await audit(product, { ...auditCaller(request), action: `outbox-event.${verb}`, ...about })
      return done
    })

  http.route('events', {
    method: 'GET',
    path: `${path}/backlog`,
    summary: 'Events in the outbox by state',
    access: { permission: own.view },
    response: backlog,
    handler: async () => {
      const { oldestPendingAt, ...counted } = await admin.backlog()
      return { ...counted, oldestPendingAt: oldestPendingAt?.toISOString() ?? null }
    },
  })
  http.route('events', {
    method: 'GET',
    path,
    summary: 'Events in the outbox, the newest first',
    access: { permission: own.view },
    request: {
      query: Type.Object({
        ...listQuery.properties,
        ...sort.properties,
        status: Type.Optional(state),
        type: Type.Optional(line(128)),
        key: Type.Optional(line(200)),
      }),
    },
    response: listPage(eventView),
    handler: ({ query }) => {
      const [rule] = sort.parse(query.sort)
      const orderBy = [{ property: 'id', direction: rule?.direction ?? 'desc' }] as const
      return answerList(query, orderBy, async (window) => {
        const found = await admin.list(query, window)
        return { ...found, items: found.items.map(viewOf) }
      })
    },
  })
  http.route('events', {
    method: 'GET',
    path: `${path}/:id`,
    summary: 'One event with its payload',
    access: { permission: own.view },
    request: { params },
    response: eventDetail,
    handler: async (request) => {
      const { event, handled } = await admin.one(request.params.id)
      return { ...viewOf(event), payload: redact(event.payload), handled }
    },
  })
  http.route('events', {
    method: 'POST',
    path: `${path}/:id/replay`,
    summary: 'Give an event that is failed or pending all its attempts again, at once',
    access: { permission: own.replay },
    request: { params },
    response: Type.Null(),
    async handler(request) {
      const { id } = request.params
      await recorded(request, 'replay', id, () => admin.replay(id))
      log.info({ event: id, traceId: request.traceId }, 'an event is replayed')
      return null
    },
  })
  http.route('events', {
    method: 'POST',
    path: `${path}/:id/skip`,
    summary: 'Leave an event out that is failed or pending, so that later ones of its key go on',
    access: { permission: own.replay },
    request: { params },
    response: Type.Null(),
    async handler(request) {
      const { id } = request.params
      await recorded(request, 'skip', id, () => admin.skip(id))
      log.info({ event: id, traceId: request.traceId }, 'an event is skipped')
      return null
    },
  })
  http.route('events', {
    method: 'POST',
    path: `${path}/replay`,
    annotations: [bulkLimited],
    summary: 'Replay the failed events among those that match all that is given',
    access: { permission: own.replay },
    request: {
      body: Type.Object(
        {
          ids: Type.Optional(Type.Array(id, { minItems: 1, maxItems: 200, uniqueItems: true })),
          type: Type.Optional(line(128)),
          key: Type.Optional(line(200)),
        },
        { minProperties: 1 },
      ),
    },
    response: Type.Object({
      affected: count,
      isMore: Type.Boolean({ description: 'True when one call could not replay all that match: call again.' }),
    }),
    async handler(request) {
      const done = await recorded(request, 'replay', request.body, () => admin.replayAll(request.body))
      log.info({ ...done, traceId: request.traceId }, 'events are replayed')
      return done
    },
  })
}
