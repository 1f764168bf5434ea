import { createStaticLabelSource, type LabelSource, maxLabels } from '@plinth/admin'
import { type Database, findPage } from '@plinth/database'
import type { WebhookEventType } from '@plinth/events'
import { callerRows } from '@plinth/iam'
import { localize } from '@plinth/kernel'
import { viewEndpoints } from './declarations.ts'
import { Endpoint } from './entities.ts'

const first = { orderBy: [{ property: 'name', direction: 'asc' }], size: maxLabels, offset: 0, count: 'none' } as const
const labelOf = ({ id, name }: { readonly id: number; readonly name: string }) => ({ id, name })

export const webhookLabels = (
  db: Database,
  types: ReadonlyMap<string, WebhookEventType>,
): Readonly<Record<string, LabelSource>> => ({
  'webhooks.endpoint': {
    permission: viewEndpoints.code,
    scope: 'caller',
    async byIds(ids, request) {
      const numbers = ids.map(Number).filter(Number.isSafeInteger)
      const where = { $and: [{ id: { $in: numbers } }, callerRows(request, 'owner_id')] }
      return (await db.fork().find(Endpoint.entity, where)).map(labelOf)
    },
    async search(text, request) {
      const search = { text, properties: ['name', 'url'] }
      return (await findPage(db.fork(), Endpoint.entity, callerRows(request, 'owner_id'), first, { search })).items.map(
        labelOf,
      )
    },
  },
  'webhooks.event-type': createStaticLabelSource(
    (locale) => [...types].map(([id, { title }]) => ({ id, name: `${localize(title, locale)} (${id})` })),
    viewEndpoints.code,
  ),
})
