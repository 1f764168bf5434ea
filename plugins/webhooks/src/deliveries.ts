import type { Database } from '@plinth/database'
import type { WebhookEventType } from '@plinth/events'
import type { Identity } from '@plinth/iam'
import { pluginWith } from '@plinth/resource'
import { businessError, redeliver, viewDeliveries } from './declarations.ts'
import { isEnabled } from './delivery-store.ts'
import { dueAgain } from './endpoint-routes.ts'
import { root } from './endpoints.ts'
import { Delivery, Endpoint, ownerOfEndpoint, subjectOfDelivery } from './entities.ts'

export interface DeliveryParts {
  readonly db: Database
  readonly identity: Pick<Identity, 'rowsInScope'>
  readonly types: ReadonlyMap<string, WebhookEventType>
  /** Called after the commit of deliveries that are due. */
  readonly added: () => void
}

/**
 * The delivery log. A caller sees a delivery with the permission of its event type, if the endpoint and the row of the
 * event are in the data scope.
 */
export const deliveries = pluginWith<DeliveryParts>().resource(Delivery, {
  area: 'webhooks',
  path: `${root}/deliveries`,
  notFound: 'delivery-unknown',
  errors: businessError,
  rows: (principal, { identity, types }) => {
    const hidden = [...types].filter(([, { permission }]) => !principal.can(permission)).map(([name]) => name)
    return {
      $and: [
        identity.rowsInScope(principal, ownerOfEndpoint),
        identity.rowsInScope(principal, subjectOfDelivery),
        hidden.length === 0 ? {} : { eventType: { $nin: hidden } },
      ],
    }
  },
  list: { access: viewDeliveries, filters: ['endpointId', 'status', 'eventType', 'traceId'], range: 'createdAt' },
  get: { access: viewDeliveries },
  actions: {
    redeliver: {
      access: redeliver,
      title: ['Send again', '重新投递'],
      confirm: [
        'The request is sent again immediately with the same webhook-id and, if necessary, with all retries.',
        '将立即以相同的 webhook-id 重新发送，必要时重新执行全部重试。',
      ],
      throws: ['webhooks.delivery-pending', 'webhooks.endpoint-unknown', 'webhooks.endpoint-disabled'],
      when: { status: ['delivered', 'failed', 'held', 'rejected'] },
      set({ row: { status }, now }) {
        if (status === 'pending') throw businessError('delivery-pending')
        return dueAgain(now)
      },
      async inTransaction({ em, row }) {
        const endpoint = await em.findOne(Endpoint.entity, { id: row.endpointId }, { fields: ['status'] })
        if (endpoint === null) throw businessError('endpoint-unknown')
        if (!isEnabled(endpoint)) throw businessError('endpoint-disabled')
      },
      afterCommit: ({ parts }) => parts.added(),
    },
  },
  page: { group: 'integrations', order: 21 },
})
