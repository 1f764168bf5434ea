import { ignoreMembers, listPage, listQuery, listResponse, newestFirst, routesWith, Type } from '@plinth/http'
import { requirePrincipal } from '@plinth/iam'
import { postingReasons } from '@plinth/money'
import { defaultAsset } from '../contract.ts'
import { accountRefOf } from './account.ts'
import { ledgerView, readEntryNames, viewOfEntry } from './ledger-views.ts'
import { type OverviewDependencies, overviewView, readOverview } from './overview.ts'
import { readMemberTasks, type TaskDependencies, taskView } from './tasks.ts'

type MemberRouteDependencies = OverviewDependencies & TaskDependencies

const root = '/api/v1/member-points'

/**
 * Query parameter that is accepted and ignored, because members only see their own points (document 1 of the
 * specification, "Authentication" 2).
 */
const ignoredQuery = ['userId']

const checkInView = Type.Object({
  checkedIn: Type.Literal(true),
  repeated: Type.Boolean({ description: 'True if the member had already checked in today. No points were granted.' }),
  points: Type.Integer({ minimum: 0, description: 'Points that this call granted.' }),
  settled: Type.Integer({
    minimum: 0,
    description: 'Number of these points that paid a debt from refunds. The balance increases by the rest.',
  }),
  date: Type.String({ description: 'Day in the time zone of the points programme, `YYYY-MM-DD`.' }),
  consecutiveDays: Type.Integer({ minimum: 1 }),
})

const month = Type.String({
  pattern: '^[0-9]{4}-(0[1-9]|1[0-2])$',
  description: 'Month, `YYYY-MM`. Default: the current month in the time zone of the points programme.',
})

const checkInMonthView = Type.Object({
  month: Type.String({ description: 'Month, `YYYY-MM`.' }),
  today: Type.String({ description: 'Today in the time zone of the points programme, `YYYY-MM-DD`.' }),
  days: Type.Array(
    Type.Object({
      date: Type.String({ description: 'Day in the time zone of the points programme, `YYYY-MM-DD`.' }),
      points: Type.Integer({ minimum: 0, description: 'Points that the check-in granted.' }),
      consecutiveDays: Type.Integer({ minimum: 1 }),
    }),
    { description: 'Days with a check-in, earliest first.' },
  ),
})

const { route } = routesWith<MemberRouteDependencies>()

/** Routes for members. The login alone determines whose points a route shows. */
export const memberRoutes = [
  route({
    method: 'GET',
    path: `${root}/users/me/overview`,
    summary: 'Get the points overview of the current user',
    access: 'user',
    response: overviewView,
    reasons: ['money.busy'],
    handler: (request, parts) => readOverview(requirePrincipal(request).userId, parts),
  }),
  route({
    method: 'GET',
    path: `${root}/users/me/ledgers`,
    summary: 'List entries of the points ledger of the current user',
    access: 'user',
    request: { query: ignoreMembers(listQuery, ignoredQuery) },
    response: listPage(ledgerView),
    reasons: [],
    handler: (request, parts) =>
      listResponse(request.query, newestFirst, async (window) => {
        const { ledger } = parts
        const account = await ledger.find(accountRefOf(requirePrincipal(request).userId, defaultAsset))
        // The member never had a posting.
        if (account === undefined) return { items: [], total: 0, isCapped: false, next: null }
        const found = await ledger.entries({ accountId: account.id }, window)
        const names = await readEntryNames(found.items, request.locale, parts)
        return { ...found, items: found.items.map((entry) => viewOfEntry(entry, names)) }
      }),
  }),
  route({
    method: 'GET',
    path: `${root}/tasks`,
    summary: 'List the tasks that earn points for the current user',
    access: 'user',
    response: Type.Array(taskView),
    reasons: [],
    handler: (request, parts) => readMemberTasks(requirePrincipal(request).userId, request.locale, parts),
  }),
  route({
    method: 'GET',
    path: `${root}/users/me/check-ins`,
    summary: 'List the days of a month on which the current user checked in',
    access: 'user',
    request: { query: ignoreMembers(Type.Object({ month: Type.Optional(month) }), ignoredQuery) },
    response: checkInMonthView,
    reasons: [],
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
    reasons: [...postingReasons, 'member-points.rule-disabled', 'member-points.rule-unknown'],
    handler: async (request, { checkIns }) => ({
      checkedIn: true as const,
      ...(await checkIns.checkIn(requirePrincipal(request).userId)),
    }),
  }),
]
