import { answerList, listPage, listQuery, newestFirst, routesWith, Type } from '@plinth/http'
import { requirePrincipal } from '@plinth/iam'
import { defaultAsset } from '../contract.ts'
import { ownerOf } from '../rewards/owner.ts'
import { ledgerView, viewOfEntry } from './ledger-views.ts'
import { type OverviewParts, overviewOf, overviewView } from './overview.ts'
import { type TaskParts, tasksOf, taskView } from './tasks.ts'

type MemberRouteParts = OverviewParts & TaskParts

const root = '/api/v1/member-points'

const checkInView = Type.Object({
  checkedIn: Type.Literal(true),
  repeated: Type.Boolean({ description: 'True when the member had checked in today before: nothing was granted.' }),
  points: Type.Integer({ minimum: 0, description: 'Points that this call granted.' }),
  date: Type.String({ description: 'Day of the programme, `YYYY-MM-DD`.' }),
  consecutiveDays: Type.Integer({ minimum: 1 }),
})

const month = Type.String({
  pattern: '^[0-9]{4}-(0[1-9]|1[0-2])$',
  description: '`YYYY-MM`; the current month of the programme where absent.',
})

const checkInMonthView = Type.Object({
  month: Type.String({ description: '`YYYY-MM`' }),
  today: Type.String({ description: 'Day of the programme now, `YYYY-MM-DD`.' }),
  days: Type.Array(
    Type.Object({
      date: Type.String({ description: 'Day of the programme, `YYYY-MM-DD`.' }),
      points: Type.Integer({ minimum: 0, description: 'Points that the check-in granted.' }),
      consecutiveDays: Type.Integer({ minimum: 1 }),
    }),
    { description: 'Days with a check-in, the earliest first.' },
  ),
})

const { route } = routesWith<MemberRouteParts>()

/** What members do with their points. Whose they are, the login says and nothing else. */
export const memberRoutes = [
  route({
    method: 'GET',
    path: `${root}/users/me/overview`,
    summary: 'Points overview of the current user',
    access: 'user',
    response: overviewView,
    handler: (request, parts) => overviewOf(requirePrincipal(request).userId, parts),
  }),
  route({
    method: 'GET',
    path: `${root}/users/me/ledgers`,
    summary: 'Points ledger of the current user',
    access: 'user',
    request: { query: listQuery },
    response: listPage(ledgerView),
    handler: (request, { ledger, texts }) =>
      answerList(request.query, newestFirst, async (window) => {
        const account = await ledger.find(ownerOf(requirePrincipal(request).userId, defaultAsset))
        // Nothing was ever posted.
        if (account === undefined) return { items: [], total: 0, isCapped: false, next: null }
        const found = await ledger.entries({ accountId: account.id }, window)
        return { ...found, items: found.items.map((entry) => viewOfEntry(entry, texts, request.locale)) }
      }),
  }),
  route({
    method: 'GET',
    path: `${root}/tasks`,
    summary: 'What the current user is rewarded for',
    access: 'user',
    response: Type.Array(taskView),
    handler: (request, parts) => tasksOf(requirePrincipal(request).userId, request.locale, parts),
  }),
  route({
    method: 'GET',
    path: `${root}/users/me/check-ins`,
    summary: 'Days of a month on which the current user checked in',
    access: 'user',
    request: { query: Type.Object({ month: Type.Optional(month) }) },
    response: checkInMonthView,
    async handler(request, { checkIns }) {
      const { days, ...shown } = await checkIns.month(requirePrincipal(request).userId, request.query.month)
      return { ...shown, days: [...days] }
    },
  }),
  route({
    method: 'POST',
    path: `${root}/users/me/check-in`,
    summary: 'Check the current user in, once a day',
    access: 'user',
    response: checkInView,
    handler: async (request, { checkIns }) => ({
      checkedIn: true as const,
      ...(await checkIns.checkIn(requirePrincipal(request).userId)),
    }),
  }),
]
