import type { SqlEntityManager } from '@mikro-orm/sql'
import { type Database, insertRows } from '@plinth/database'
import type { WebhookEventType } from '@plinth/events'
import { Type } from '@plinth/http'
import { type Operator, sessionOnly } from '@plinth/iam'
import { isOutgoingHttpError, type OutgoingHttp } from '@plinth/outgoing-http'
import { pluginWith } from '@plinth/resource'
import { businessError, manageEndpoints, viewEndpoints } from './declarations.ts'
import { isEnabled } from './delivery-store.ts'
import { Delivery, Endpoint, Subscription } from './entities.ts'
import type { FanOut } from './fan-out.ts'

export const root = '/api/v1/admin/webhooks'

export interface EndpointParts {
  readonly db: Database
  readonly fanOut: Pick<FanOut, 'test'>
  readonly http: Pick<OutgoingHttp, 'check'>
  readonly types: ReadonlyMap<string, WebhookEventType>
}

interface Content {
  readonly url?: string | undefined
  readonly eventTypes?: readonly string[] | undefined
}

/** Reasons with which a new or changed endpoint is rejected. */
export const contentReasons = ['webhooks.url-rejected', 'webhooks.event-type-unknown']

/**
 * Checks URL and event types.
 *
 * @param held event types that the endpoint has; it keeps them even if their plugin is not loaded
 * @throws BusinessError "400" `webhooks.url-rejected`, `webhooks.event-type-unknown`
 */
export function assertContent(
  { url, eventTypes = [] }: Content,
  { http, types }: Pick<EndpointParts, 'http' | 'types'>,
  { principal }: Operator,
  held: readonly string[] = [],
): void {
  if (url !== undefined) assertUrl(url, http)
  const unknown = eventTypes.filter((name) => {
    const type = types.get(name)
    return !held.includes(name) && (type === undefined || !principal.can(type.permission))
  })
  if (unknown.length === 0) return
  const data = { field: 'eventTypes', types: unknown }
  throw businessError('event-type-unknown', { params: { types: unknown.join(', ') }, data })
}

function assertUrl(url: string, http: Pick<OutgoingHttp, 'check'>): void {
  try {
    http.check(url)
  } catch (cause) {
    if (!isOutgoingHttpError(cause)) throw cause
    throw businessError('url-rejected', {
      params: { reason: cause.code },
      data: { field: 'url', rule: cause.code },
      cause,
    })
  }
}

/** Replaces the rows by which events find the endpoint. Call it in the transaction that writes the endpoint. */
export async function writeSubscriptions(
  db: Database,
  em: SqlEntityManager,
  { id: endpointId, eventTypes }: Pick<Endpoint, 'id' | 'eventTypes'>,
): Promise<void> {
  await em.nativeDelete(Subscription.entity, { endpointId })
  const rows = eventTypes.map((eventType) => ({ id: db.newId(), eventType, endpointId }))
  await insertRows(db, Subscription.entity, rows)
}

const authorize = ({ principal }: Operator) => ({ authorizedBy: principal.userId })
const enabledOnly = (endpoint: Pick<Endpoint, 'status'>) => {
  if (!isEnabled(endpoint)) throw businessError('endpoint-disabled')
  return {}
}

/** Endpoints, without the operations whose responses contain a secret: creation and rotation. */
export const endpoints = pluginWith<EndpointParts>().resource(Endpoint, {
  area: 'webhooks',
  path: `${root}/endpoints`,
  notFound: 'endpoint-unknown',
  errors: businessError,
  list: { access: viewEndpoints, filters: ['status', 'ownerId'], search: ['name', 'url'], sort: ['name', 'createdAt'] },
  get: { access: viewEndpoints },
  change: {
    access: manageEndpoints,
    fresh: '5m',
    // The endpoint receives events after the end of an API token.
    annotations: [sessionOnly],
    throws: contentReasons,
    prepare({ input, before, operator, parts }) {
      assertContent(input, parts, operator, before.eventTypes)
      return authorize(operator)
    },
    inTransaction: ({ em, row, parts }) => writeSubscriptions(parts.db, em, row),
  },
  actions: {
    enable: {
      access: manageEndpoints,
      annotations: [sessionOnly],
      title: ['Enable', '启用'],
      confirm: [
        '{{name}} receives new events again. Send the held deliveries again separately.',
        '{{name}} 将重新接收新事件。已保留的投递需另行重新投递。',
      ],
      when: { status: ['disabled', 'suspended'] },
      set: ({ operator }) => ({
        ...authorize(operator),
        status: 'active' as const,
        statusReason: null,
        statusNote: null,
        failingSince: null,
        failedAttempts: 0,
      }),
    },
    disable: {
      access: manageEndpoints,
      title: ['Disable', '停用'],
      confirm: [
        '{{name}} receives no events. Due deliveries are held and can be sent again later.',
        '{{name}} 将不再接收事件。到期的投递会被保留，之后可重新投递。',
      ],
      input: Type.Object({ note: Type.Optional(Type.String({ maxLength: 200, pattern: '^[^\\p{Cc}\\p{Cs}]*$' })) }),
      when: { status: ['active', 'failing'] },
      set: ({ input }) => ({ status: 'disabled' as const, statusReason: null, statusNote: input.note ?? null }),
    },
    test: {
      access: manageEndpoints,
      title: ['Send a test event', '发送测试事件'],
      throws: ['webhooks.endpoint-disabled'],
      when: { status: ['active', 'failing'] },
      set: ({ row }) => enabledOnly(row),
      inTransaction: ({ row, parts }) => parts.fanOut.test(row),
    },
  },
  remove: {
    access: manageEndpoints,
    fresh: '5m',
    async inTransaction({ em, row, parts }) {
      const pending = { endpointId: row.id, status: 'pending' as const }
      const finishedAt = new Date(parts.db.clock.now())
      await em.nativeUpdate(Delivery.entity, pending, { status: 'held', leaseToken: null, finishedAt })
      await em.nativeDelete(Subscription.entity, { endpointId: row.id })
    },
  },
  page: { group: 'integrations', order: 20 },
})
