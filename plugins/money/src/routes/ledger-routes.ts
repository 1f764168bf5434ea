import {
  filterQuery,
  id,
  idParams,
  line,
  listPage,
  listQuery,
  listResponse,
  mapListRows,
  newestFirst,
  rangeQuery,
  routesWith,
  Type,
} from '@plinth/http'
import { callerRows } from '@plinth/iam'
import { localize } from '@plinth/kernel'
import type { Ledger } from '../contract.ts'
import { businessError, permissionCodes } from '../declarations.ts'
import { accountOwner, entryOwner } from '../entities.ts'
import {
  accountSchema,
  accountView,
  debtSchema,
  debtView,
  entrySchema,
  entryView,
  explanationSchema,
  holdSchema,
  holdView,
  journalSchema,
  journalView,
  lotView,
  type NameOfKind,
} from './views.ts'

interface LedgerRouteDependencies {
  readonly ledger: Ledger
}

const root = '/api/v1/admin/money'
const asset = Type.Optional(line(64, { minLength: 1 }))
const role = (description: string) => Type.Enum(['owner', 'system'], { default: 'owner', description })

const range = rangeQuery('createdAt', 'id')

const accountFilter = filterQuery(accountSchema, ['asset', 'available', 'frozen', 'owed', 'status', 'updatedAt'])
const entryFilter = filterQuery(entrySchema, ['asset', 'accountId', 'journalId', 'kind', 'monthKey'])
const holdFilter = filterQuery(holdSchema, ['accountId', 'amount', 'captured', 'released', 'journalId'])
const debtFilter = filterQuery(debtSchema, [
  'accountId',
  'kind',
  'deducted',
  'shortfall',
  'owed',
  'recovery',
  'actor',
  'reason',
])

const { route } = routesWith<LedgerRouteDependencies>()

export const ledgerRoutes = [
  route({
    method: 'GET',
    path: `${root}/accounts`,
    summary: 'List accounts, newest first',
    access: { permission: permissionCodes.accountView, scope: 'caller' },
    request: {
      query: Type.Object({
        ...listQuery.properties,
        ...accountFilter.properties,
        ...range.properties,
        asset,
        role: role('System accounts are the other side of movements. They store no balance.'),
        ownerType: Type.Optional(line(32, { minLength: 1, description: 'Used only together with `ownerId`.' })),
        ownerId: Type.Optional(line(64, { minLength: 1 })),
      }),
    },
    response: listPage(accountSchema),
    reasons: ['money.owner-incomplete'],
    async handler(request, { ledger }) {
      const { query } = request
      const { asset, role, ownerType, ownerId } = query
      if ((ownerType === undefined) !== (ownerId === undefined)) {
        throw businessError('owner-incomplete', { data: { field: ownerType === undefined ? 'ownerType' : 'ownerId' } })
      }
      const filter = {
        role,
        rows: callerRows(request, accountOwner),
        ...(asset === undefined ? {} : { asset }),
        ...(ownerType === undefined || ownerId === undefined ? {} : { ownerType, ownerId }),
      }
      return listResponse(
        query,
        newestFirst,
        async (window) => mapListRows(await ledger.accounts(filter, window), accountView),
        range,
        accountFilter,
      )
    },
  }),
  route({
    method: 'GET',
    path: `${root}/accounts/:id`,
    summary: 'Get an account',
    access: { permission: permissionCodes.accountView, scope: 'caller' },
    request: { params: idParams },
    response: accountSchema,
    reasons: ['money.account-unknown'],
    handler: async (request, { ledger }) =>
      accountView(await ledger.account(request.params.id, callerRows(request, accountOwner))),
  }),
  route({
    method: 'GET',
    path: `${root}/accounts/:id/explain`,
    summary: 'Explain a balance: remaining lots, their expiry and holds',
    access: { permission: permissionCodes.accountView, scope: 'caller' },
    request: {
      params: idParams,
      query: Type.Object({
        size: Type.Integer({ minimum: 1, maximum: 200, default: 20, description: 'Number of lots per page.' }),
        after: Type.Optional(line(256, { minLength: 1, description: 'Value `next` of the previous page of lots.' })),
      }),
    },
    response: explanationSchema,
    reasons: ['*', 'money.account-unknown'],
    async handler(request, { ledger }) {
      const { params, query } = request
      const { size, after } = query
      const page = { size, ...(after === undefined ? {} : { after }) }
      const { account, lots, holds } = await ledger.explain(params.id, page, callerRows(request, accountOwner))
      return {
        account: accountView(account),
        lots: lots === null ? null : { items: lots.items.map((lot) => lotView(lot, account.asset)), next: lots.next },
        holds: holds.map(holdView),
      }
    },
  }),
  route({
    method: 'GET',
    path: `${root}/entries`,
    summary: 'List entries, newest first',
    access: { permission: permissionCodes.ledgerView, scope: 'caller' },
    request: {
      query: Type.Object({
        ...listQuery.properties,
        ...entryFilter.properties,
        ...range.properties,
        accountId: Type.Optional(id),
        asset,
        role: role('Role of the accounts. Has no effect together with `accountId`.'),
      }),
    },
    response: listPage(entrySchema),
    reasons: [],
    async handler(request, { ledger }) {
      const { query } = request
      const { accountId, asset, role } = query
      const rows = callerRows(request, entryOwner)
      const filter = {
        rows,
        ...(accountId === undefined ? { role } : { accountId }),
        ...(asset === undefined ? {} : { asset }),
      }
      return listResponse(
        query,
        newestFirst,
        async (window) =>
          mapListRows(await ledger.entries(filter, window), (entry) =>
            entryView(entry, namesIn(ledger, request.locale)),
          ),
        range,
        entryFilter,
      )
    },
  }),
  route({
    method: 'GET',
    path: `${root}/journals/:id`,
    summary: 'Get a journal with its entries',
    access: { permission: permissionCodes.ledgerView, scope: 'caller' },
    request: { params: idParams },
    response: journalSchema,
    reasons: ['money.journal-unknown'],
    handler: async (request, { ledger }) =>
      journalView(
        await ledger.journal(request.params.id, callerRows(request, accountOwner)),
        namesIn(ledger, request.locale),
      ),
  }),
  route({
    method: 'GET',
    path: `${root}/holds`,
    summary: 'List holds, newest first',
    access: { permission: permissionCodes.accountView, scope: 'caller' },
    request: {
      query: Type.Object({
        ...listQuery.properties,
        ...holdFilter.properties,
        ...range.properties,
        accountId: Type.Optional(id),
        state: Type.Enum(['open', 'captured', 'released'], { default: 'open' }),
      }),
    },
    response: listPage(holdSchema),
    reasons: [],
    async handler(request, { ledger }) {
      const { query } = request
      const { accountId, state } = query
      const filter = { state, rows: callerRows(request, entryOwner), ...(accountId === undefined ? {} : { accountId }) }
      return listResponse(
        query,
        newestFirst,
        async (window) => mapListRows(await ledger.holds(filter, window), holdView),
        range,
        holdFilter,
      )
    },
  }),
  route({
    method: 'GET',
    path: `${root}/debts`,
    summary: 'List amounts that owners had spent before they were taken back, newest first',
    access: { permission: permissionCodes.accountView, scope: 'caller' },
    request: {
      query: Type.Object({
        ...listQuery.properties,
        ...debtFilter.properties,
        ...range.properties,
        accountId: Type.Optional(id),
      }),
    },
    response: listPage(debtSchema),
    reasons: [],
    async handler(request, { ledger }) {
      const { query } = request
      const { accountId } = query
      const filter = { rows: callerRows(request, entryOwner), ...(accountId === undefined ? {} : { accountId }) }
      const nameOf = namesIn(ledger, request.locale)
      return listResponse(
        query,
        newestFirst,
        async (window) => mapListRows(await ledger.debts(filter, window), (debt) => debtView(debt, nameOf)),
        range,
        debtFilter,
      )
    },
  }),
]

function namesIn({ kinds }: Pick<Ledger, 'kinds'>, locale: string): NameOfKind {
  return (kind) => {
    const name = kinds.get(kind)
    return name === undefined ? kind : localize(name, locale)
  }
}
