import { createStaticLabelSource, type LabelSource, maxLabels } from '@plinth/admin'
import { type Database, findPage } from '@plinth/database'
import type { WebhookEventType } from '@plinth/events'
import { callerRows } from '@plinth/iam'
import { bilingual, localize } from '@plinth/kernel'
import { viewEndpoints } from './declarations.ts'
import { Endpoint } from './entities.ts'
import { testType } from './fan-out.ts'

const first = { orderBy: [{ property: 'name', direction: 'asc' }], size: maxLabels, offset: 0, count: 'none' } as const
const labelOf = ({ id, name }: { readonly id: number; readonly name: string }) => ({ id, name })

/** Names of the event types, and of the test event, which endpoints cannot subscribe to and a search does not find. */
function eventTypeLabels(types: ReadonlyMap<string, WebhookEventType>): LabelSource {
  const labels = (locale: string) =>
    [...types].map(([id, { title }]) => ({ id, name: `${localize(title, locale)} (${id})` }))
  const test = (locale: string) => ({ id: testType, name: localize(bilingual('Test event', '测试事件'), locale) })
  const { byIds } = createStaticLabelSource((locale) => [...labels(locale), test(locale)])
  return { ...createStaticLabelSource(labels, viewEndpoints.code), byIds }
}

export const webhookLabels = (
  db: Database,
  types: ReadonlyMap<string, WebhookEventType>,
): Readonly<Record<string, LabelSource>> => ({
  'webhooks.event-type': eventTypeLabels(types),
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
})
