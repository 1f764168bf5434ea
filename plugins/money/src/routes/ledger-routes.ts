import {
  answerList,
  id,
  idParams,
  line,
  listPage,
  listQuery,
  newestFirst,
  routesWith,
  rowsAs,
  Type,
} from '@plinth/http'
import type { Ledger } from '../contract.ts'
import { refusal } from '../failures.ts'
import { own } from '../permissions.ts'
import {
  accountAnswer,
  answerOfAccount,
  answerOfEntry,
  answerOfHold,
  answerOfJournal,
  answerOfLot,
  entryAnswer,
  explanationAnswer,
  holdAnswer,
  journalAnswer,
} from './views.ts'

interface LedgerRouteParts {
  readonly ledger: Ledger
}

const root = '/api/v1/admin/money'
const asset = Type.Optional(line(64, { minLength: 1 }))

const { route } = routesWith<LedgerRouteParts>()

/** What the ledger holds, for operators. Nothing here changes a balance. */
export const ledgerRoutes = [
  route({
    method: 'GET',
    path: `${root}/accounts`,
    summary: 'Accounts, the newest first',
    access: { permission: own.accountView },
    request: {
      query: Type.Object({
        ...listQuery.properties,
        asset,
        ownerType: Type.Optional(line(32, { minLength: 1, description: 'Together with `ownerId`.' })),
        ownerId: Type.Optional(line(64, { minLength: 1 })),
      }),
    },
    response: listPage(accountAnswer),
    async handler({ query }, { ledger }) {
      const { asset, ownerType, ownerId } = query
      if ((ownerType === undefined) !== (ownerId === undefined)) {
        throw refusal('owner-incomplete', { data: { field: ownerType === undefined ? 'ownerType' : 'ownerId' } })
      }
      const filter = {
        ...(asset === undefined ? {} : { asset }),
        ...(ownerType === undefined || ownerId === undefined ? {} : { ownerType, ownerId }),
      }
      return answerList(query, newestFirst, async (window) =>
        rowsAs(await ledger.accounts(filter, window), answerOfAccount),
      )
    },
  }),
  route({
    method: 'GET',
    path: `${root}/accounts/:id`,
    summary: 'One account',
    access: { permission: own.accountView },
    request: { params: idParams },
    response: accountAnswer,
    handler: async ({ params }, { ledger }) => answerOfAccount(await ledger.account(params.id)),
  }),
  route({
    method: 'GET',
    path: `${root}/accounts/:id/explain`,
    summary: 'Where a balance comes from: lots that remain, when they lapse, and holds',
    access: { permission: own.accountView },
    request: {
      params: idParams,
      query: Type.Object({
        size: Type.Integer({ minimum: 1, maximum: 200, default: 20, description: 'Lots on a page.' }),
        after: Type.Optional(line(256, { minLength: 1, description: 'The `next` of an earlier page of lots.' })),
      }),
    },
    response: explanationAnswer,
    async handler({ params, query: { size, after } }, { ledger }) {
      const page = { size, ...(after === undefined ? {} : { after }) }
      const { account, lots, holds } = await ledger.explain(params.id, page)
      return {
        account: answerOfAccount(account),
        lots:
          lots === null ? null : { items: lots.items.map((lot) => answerOfLot(lot, account.asset)), next: lots.next },
        holds: holds.map(answerOfHold),
      }
    },
  }),
  route({
    method: 'GET',
    path: `${root}/entries`,
    summary: 'Entries, the newest first',
    access: { permission: own.ledgerView },
    request: {
      query: Type.Object({ ...listQuery.properties, accountId: Type.Optional(id), asset }),
    },
    response: listPage(entryAnswer),
    async handler({ query }, { ledger }) {
      const { accountId, asset } = query
      const filter = { ...(accountId === undefined ? {} : { accountId }), ...(asset === undefined ? {} : { asset }) }
      return answerList(query, newestFirst, async (window) =>
        rowsAs(await ledger.entries(filter, window), answerOfEntry),
      )
    },
  }),
  route({
    method: 'GET',
    path: `${root}/journals/:id`,
    summary: 'One journal with its entries',
    access: { permission: own.ledgerView },
    request: { params: idParams },
    response: journalAnswer,
    handler: async ({ params }, { ledger }) => answerOfJournal(await ledger.journal(params.id)),
  }),
  route({
    method: 'GET',
    path: `${root}/holds`,
    summary: 'Holds, the newest first',
    access: { permission: own.accountView },
    request: {
      query: Type.Object({
        ...listQuery.properties,
        accountId: Type.Optional(id),
        state: Type.Enum(['open', 'captured', 'released'], { default: 'open' }),
      }),
    },
    response: listPage(holdAnswer),
    async handler({ query }, { ledger }) {
      const { accountId, state } = query
      const filter = { state, ...(accountId === undefined ? {} : { accountId }) }
      return answerList(query, newestFirst, async (window) => rowsAs(await ledger.holds(filter, window), answerOfHold))
    },
  }),
]
