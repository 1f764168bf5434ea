import { findPage } from '@plinth/database'
import {
  filterQuery,
  listPage,
  listQuery,
  listResponse,
  mapListRows,
  newestFirst,
  rangeQuery,
  routesWith,
  Type,
} from '@plinth/http'
import { type Identity, type Principal, requirePrincipal } from '@plinth/iam'
import { localize } from '@plinth/kernel'
import { readOnlyResource } from '@plinth/resource'
import { defaultAsset } from '../contract.ts'
import { businessError, createAccessAudit, permissionCodes, viewLedger } from '../declarations.ts'
import { ExpireBatch, SourceRow } from '../entities.ts'
import { accountRefOf, userIdOfAccount } from '../members/account.ts'
import {
  accountView,
  adminLedgerView,
  adminViewOfEntry,
  readEntryNames,
  sourceStates,
  sourceView,
  viewOfAccount,
  viewOfSource,
} from '../members/ledger-views.ts'
import type { Parts } from '../parts.ts'
import { pointsAsset } from '../rules/rule-types.ts'

type AdminRouteDependencies = Pick<
  Parts,
  'db' | 'ledger' | 'identity' | 'kernel' | 'texts' | 'rules' | 'expiry' | 'continueExpiry'
>

const root = '/api/v1/admin/member-points'
/** Maximum milliseconds of an expiry scan inside a request. */
const requestBudgetMs = 10_000

/** Query parameters for the points accounts that a route reads. */
const accountFilter = {
  userId: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'Id of a user. Required for callers whose data scope does not include all users.',
    }),
  ),
  asset: Type.Optional(pointsAsset),
}

const byExpiry = [
  { property: 'expiresAt', direction: 'asc' },
  { property: 'id', direction: 'asc' },
] as const

const created = rangeQuery('createdAt', 'id')
const expires = rangeQuery('expiresAt')

const sourceFilter = filterQuery(sourceView, ['sourceType', 'sourceId', 'granted', 'remaining', 'ruleCode'])
const balanceFilter = filterQuery(accountView, ['available', 'frozen', 'status', 'updatedAt'])
const entryFilter = filterQuery(adminLedgerView, ['kind', 'accountId', 'journalId'])

const { route } = routesWith<AdminRouteDependencies>()

/** Runs that remove expired points. */
export const expireBatches = readOnlyResource(ExpireBatch, {
  area: 'member-points',
  path: `${root}/expire-batches`,
  list: {
    access: viewLedger,
    scope: 'all',
    summary: 'List expiry runs, newest first',
    range: 'startedAt',
    query: { asset: Type.Optional(pointsAsset) },
    where: ({ asset = defaultAsset }) => ({ asset }),
  },
})

export const adminRoutes = [
  route({
    method: 'GET',
    path: `${root}/accounts`,
    summary: 'List points accounts',
    access: { permission: permissionCodes.accountView, scope: 'caller' },
    request: {
      query: Type.Object({
        ...listQuery.properties,
        ...balanceFilter.properties,
        ...created.properties,
        ...accountFilter,
      }),
    },
    response: listPage(accountView),
    reasons: ['member-points.rule-unknown', 'member-points.user-needed', 'member-points.user-unknown'],
    async handler(request, { ledger, identity }) {
      const { query, locale } = request
      const { asset = defaultAsset } = query
      const userId = await reachedUser(requirePrincipal(request), query.userId, identity)
      const filter =
        userId === undefined ? { asset, ownerType: 'user' } : { asset, ownerType: 'user', ownerId: String(userId) }
      const brought = ledger.assets.get(asset)
      const name = brought === undefined ? asset : localize(brought.displayName, locale)
      return listResponse(
        query,
        newestFirst,
        async (window) => mapListRows(await ledger.accounts(filter, window), (account) => viewOfAccount(account, name)),
        created,
        balanceFilter,
      )
    },
  }),
  route({
    method: 'GET',
    path: `${root}/ledgers`,
    summary: 'List entries of the points ledger',
    access: { permission: permissionCodes.ledgerView, scope: 'caller' },
    request: {
      query: Type.Object({
        ...listQuery.properties,
        ...entryFilter.properties,
        ...created.properties,
        ...accountFilter,
      }),
    },
    response: listPage(adminLedgerView),
    reasons: ['member-points.user-needed', 'member-points.user-unknown'],
    async handler(request, parts) {
      const { ledger, identity } = parts
      const { query, locale } = request
      const { asset = defaultAsset } = query
      const userId = await reachedUser(requirePrincipal(request), query.userId, identity)
      return listResponse(
        query,
        newestFirst,
        async (window) => {
          const account = userId === undefined ? undefined : await ledger.find(accountRefOf(userId, asset))
          if (userId !== undefined && account === undefined) {
            return { items: [], total: 0, isCapped: false, next: null }
          }
          const filter = account === undefined ? { asset } : { accountId: account.id }
          const found = await ledger.entries(filter, window)
          const names = await readEntryNames(found.items, locale, parts)
          return { ...found, items: found.items.map((entry) => adminViewOfEntry(entry, userIdOfAccount(entry), names)) }
        },
        created,
        entryFilter,
      )
    },
  }),
  route({
    method: 'GET',
    path: `${root}/sources`,
    summary: 'List points by source with their remaining amounts, earliest expiry first',
    access: { permission: permissionCodes.accountView, scope: 'caller' },
    request: {
      query: Type.Object({
        ...listQuery.properties,
        ...sourceFilter.properties,
        ...expires.properties,
        ...accountFilter,
        status: Type.Enum(sourceStates, { default: 'active' }),
      }),
    },
    response: listPage(sourceView),
    reasons: ['member-points.user-needed', 'member-points.user-unknown'],
    async handler(request, { db, ledger, identity }) {
      const { query } = request
      const { asset = defaultAsset, status } = query
      const userId = await reachedUser(requirePrincipal(request), query.userId, identity)
      const account = userId === undefined ? undefined : await ledger.find(accountRefOf(userId, asset))
      if (userId !== undefined && account === undefined)
        return listResponse(
          query,
          byExpiry,
          async () => ({ items: [], total: 0, isCapped: false, next: null }),
          expires,
          sourceFilter,
        )
      const where = account === undefined ? { asset, status } : { accountId: account.id, status }
      return listResponse(
        query,
        byExpiry,
        async (window) => mapListRows(await findPage<SourceRow>(db.fork(), SourceRow, where, window), viewOfSource),
        expires,
        sourceFilter,
      )
    },
  }),
  route({
    method: 'POST',
    path: `${root}/expire-batches/run`,
    summary: 'Expire overdue points now',
    access: { permission: permissionCodes.expireRun, scope: 'all' },
    request: { body: Type.Object({ asset: Type.Optional(pointsAsset) }) },
    response: ExpireBatch.schemas.view,
    reasons: ['member-points.asset-unconfirmed', 'member-points.expiry-running'],
    async handler(request, { db, expiry, continueExpiry, kernel, ledger }) {
      const { asset = defaultAsset } = request.body
      if (!ledger.assets.has(asset))
        throw businessError('asset-unconfirmed', { params: { asset }, data: { asset, field: 'asset' } })
      await createAccessAudit(kernel, request, 'points-expiry.run')({ subject: asset })
      const batch = await expiry.run(asset, { budgetMs: requestBudgetMs })
      if (batch.status === 'running') await continueExpiry()
      const at = { now: new Date(db.clock.now()), locale: request.locale, em: db.fork() }
      const [view] = await ExpireBatch.viewsOf([batch], at)
      return { ...view }
    },
  }),
]

/** Returns the user whose data a request may read; undefined for all users, which only some data scopes allow. */
async function reachedUser(
  principal: Principal,
  userId: number | undefined,
  identity: Identity,
): Promise<number | undefined> {
  if (userId === undefined) {
    if (principal.dataScope === 'all') return undefined
    if (principal.dataScope === 'self') return principal.userId
    throw businessError('user-needed', { data: { field: 'userId' } })
  }
  if (principal.dataScope !== 'all' && !(await identity.isInScope(principal, userId))) {
    throw businessError('user-unknown', { data: { userId, field: 'userId' } })
  }
  return userId
}
