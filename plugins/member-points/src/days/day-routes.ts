import { answerList, count, described, id, type ListOrder, listPage, listQuery, routesWith, Type } from '@plinth/http'
import { defaultAsset } from '../contract.ts'
import type { Parts } from '../parts.ts'
import { own } from '../permissions.ts'
import { pointsAsset } from '../rules/rule-types.ts'

type DayRouteParts = Pick<Parts, 'days'>

const dayView = Type.Object({
  id,
  day: Type.String({ description: 'Day of the programme, `YYYY-MM-DD`.' }),
  asset: Type.String(),
  granted: described(count, 'Points that came in, what was taken back of them not subtracted.'),
  returned: described(count, 'Spent points that came back from cancelled or refunded orders.'),
  consumed: described(count, 'Points that were spent.'),
  reversed: described(count, 'Points that were taken back: by refunds and by hand.'),
  expired: described(count, 'Points that lapsed.'),
})

const newestDayFirst: ListOrder = [{ property: 'day', direction: 'desc' }]

const { route } = routesWith<DayRouteParts>()

/** Points of all members, by day. */
export const dayRoutes = [
  route({
    method: 'GET',
    path: '/api/v1/admin/member-points/days',
    summary: 'Points that were granted, returned, spent, taken back and lapsed, by day, the newest first',
    description: 'What moved in the last minutes is still to be added.',
    access: { permission: own.ledgerView, scope: 'all' },
    request: { query: Type.Object({ ...listQuery.properties, asset: Type.Optional(pointsAsset) }) },
    response: listPage(dayView),
    handler: ({ query }, { days }) =>
      answerList(query, newestDayFirst, (window) => days.list(query.asset ?? defaultAsset, window)),
  }),
]
