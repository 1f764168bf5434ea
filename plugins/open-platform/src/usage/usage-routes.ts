import { type ListOrder, listPage, listQuery, listResponse, mapListRows, routesWith, Type } from '@plinth/http'
import { callerRows } from '@plinth/iam'
import type { Clock } from '@plinth/kernel'
import { omitUndefined } from '@plinth/kernel'
import type { Site } from '@plinth/site'
import type { Static } from 'typebox'
import { businessError, permissionCodes } from '../declarations.ts'
import { usageOwner } from '../entities.ts'
import type { CallRecords } from './call-meter.ts'

interface UsageRouteDependencies {
  readonly records: CallRecords
  readonly clock: Pick<Clock, 'now'>
  readonly site: Pick<Site, 'dayOf'>
}

const day = Type.String({ format: 'date', description: 'Day in the time zone of the site.' })
const count = Type.Integer({ minimum: 0 })
const usageView = Type.Object({
  id: Type.String({ description: 'Id of the row: day, application, method and route.' }),
  day: Type.String(),
  appId: Type.Integer(),
  appKey: Type.String(),
  method: Type.String(),
  route: Type.String(),
  calls: count,
  failed: Type.Integer({ minimum: 0, description: 'Number of these calls that failed or got no response.' }),
  cost: Type.Integer({ minimum: 0, description: 'Units of the quota that the calls used.' }),
})

/** All columns have the same direction, so that one index scan finds each page. */
const newestDayFirst: ListOrder = ['day', 'appId', 'route', 'method'].map((property) => ({
  property,
  direction: 'desc',
}))

const idOf = ({ day, appId, method, route }: Pick<Static<typeof usageView>, 'day' | 'appId' | 'method' | 'route'>) =>
  `${day} ${appId} ${method} ${route}`

const earlier = (from: string, days: number) =>
  new Date(Date.parse(from) - days * 86_400_000).toISOString().slice(0, 10)

const { route } = routesWith<UsageRouteDependencies>()

export const usageRoutes = [
  route({
    method: 'GET',
    path: '/api/v1/admin/open-platform/usage',
    summary: 'Count accepted calls by day, application and route, newest day first',
    description: 'Returns the last 30 days by default. The most recent calls may not be included yet.',
    access: { permission: permissionCodes.usageView, scope: 'caller' },
    request: {
      query: Type.Object({
        ...listQuery.properties,
        from: Type.Optional(day),
        to: Type.Optional(day),
        appId: Type.Optional(Type.Integer({ minimum: 1 })),
      }),
    },
    response: listPage(usageView),
    reasons: ['open-platform.day-range'],
    async handler(request, { records, clock, site }) {
      const { query } = request
      const rows = callerRows(request, usageOwner)
      const { appId } = query
      const to = query.to ?? site.dayOf(new Date(clock.now()))
      const from = query.from ?? earlier(to, 29)
      if (from > to) throw businessError('day-range', { data: { field: 'from' } })
      return listResponse(query, newestDayFirst, async (window) =>
        mapListRows(await records.usage(omitUndefined({ from, to, rows, appId }), window), (line) => ({
          ...line,
          id: idOf(line),
        })),
      )
    },
  }),
]
