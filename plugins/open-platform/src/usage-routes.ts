import { type HttpServer, page, pageQuery, type Site, Type } from '@plinth/http'
import type { Clock } from '@plinth/kernel'
import type { CallRecords } from './call-records.ts'
import { refusal } from './failures.ts'
import { own } from './permissions.ts'

interface UsageRouteParts {
  readonly http: HttpServer
  readonly plugin: string
  readonly records: CallRecords
  readonly clock: Pick<Clock, 'now'>
  readonly site: Pick<Site, 'dayOf'>
}

const day = Type.String({ format: 'date', description: 'Day in the time zone of the site.' })
const count = Type.Integer({ minimum: 0 })
const usageView = Type.Object({
  day: Type.String(),
  appId: Type.Integer(),
  appKey: Type.String(),
  method: Type.String(),
  route: Type.String(),
  calls: count,
  failed: Type.Integer({ minimum: 0, description: 'Of these, answered with a failure or not at all.' }),
  cost: Type.Integer({ minimum: 0, description: 'Units of the quota that they took.' }),
})

/** A day so many days before another one, whatever the time zone. */
const earlier = (from: string, days: number) =>
  new Date(Date.parse(from) - days * 86_400_000).toISOString().slice(0, 10)

/** What applications called. */
export function addUsageRoutes({ http, plugin, records, clock, site }: UsageRouteParts): void {
  http.route(plugin, {
    method: 'GET',
    path: '/api/v1/admin/open-platform/usage',
    summary: 'Accepted calls by day, application and route, the newest day first',
    description: 'Without days: the last 30. Calls of the last moments are still to be written.',
    tags: ['open-platform'],
    access: { permission: own.usageView },
    request: {
      query: Type.Object({
        ...pageQuery.properties,
        from: Type.Optional(day),
        to: Type.Optional(day),
        appId: Type.Optional(Type.Integer({ minimum: 1 })),
      }),
    },
    response: page(usageView),
    async handler({ query: { page, size, appId, ...days } }) {
      const to = days.to ?? site.dayOf(new Date(clock.now()))
      const from = days.from ?? earlier(to, 29)
      if (from > to) throw refusal('day-range')
      const { items, total } = await records.usage({ from, to, page, size, ...(appId === undefined ? {} : { appId }) })
      return { items, page, size, total }
    },
  })
}
