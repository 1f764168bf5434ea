import { findPage, selectionOf } from '@plinth/database'
import {
  count,
  id,
  instant,
  line,
  listPage,
  listQuery,
  listResponse,
  newestFirst,
  nullable,
  routesWith,
  Type,
  text,
  viewOf,
} from '@plinth/http'
import { callerRows } from '@plinth/iam'
import { permissionCodes } from '../declarations.ts'
import { OrderRewardRow, orderOutcomes, ReversalRow } from '../entities.ts'
import type { Parts } from '../parts.ts'

const root = '/api/v1/admin/member-points'
const owner = 'user_id'
const query = Type.Object({ ...listQuery.properties, orderNo: Type.Optional(line(64, { minLength: 1 })) })
/** Returns the condition for one order, or for all orders. */
const ofOrder = (orderNo: string | undefined) => (orderNo === undefined ? {} : { orderNo })

const rewardView = Type.Object({
  orderNo: text,
  userId: id,
  asset: text,
  outcome: nullable(Type.Enum([...orderOutcomes, 'awaited']), {
    description:
      'Why the order got points or none. `awaited`: a refund arrived before the payment. Null: paid before outcomes were recorded.',
  }),
  granted: nullable(count, { description: 'Points. Null: none.' }),
  ruleCode: nullable(text),
  ruleId: nullable(id, { description: 'Version of the rule that applied.' }),
  createdAt: instant,
})

const reversal = viewOf(
  selectionOf(ReversalRow).pick(
    'refundNo',
    'orderNo',
    'userId',
    'status',
    'deducted',
    'shortfall',
    'journalId',
    'createdAt',
  ),
  { status: Type.Enum(['deferred', 'booked']), deducted: count, shortfall: count, createdAt: instant },
)
const reversalView = Type.Object({
  ...reversal.schema.properties,
  asset: nullable(text, { description: 'Null if the order is not known.' }),
})

const { route } = routesWith<Pick<Parts, 'db' | 'rules'>>()

/** Points of one order: what the payment granted or why it granted nothing, and what refunds took back. */
export const orderRewardRoutes = [
  route({
    method: 'GET',
    path: `${root}/order-rewards`,
    summary: 'List the points of orders, or why they got none',
    access: { permission: permissionCodes.ledgerView, scope: 'caller' },
    request: { query },
    response: listPage(rewardView),
    reasons: [],
    handler: (request, { db, rules }) =>
      listResponse(request.query, newestFirst, async (window) => {
        const where = { $and: [ofOrder(request.query.orderNo), callerRows(request, owner)] }
        const found = await findPage<OrderRewardRow>(db.fork(), OrderRewardRow, where, window)
        const versions = await rules.versions(
          found.items.flatMap(({ ruleCode: code, ruleVersion: version }) =>
            code == null || version == null ? [] : [{ code, version }],
          ),
        )
        return {
          ...found,
          items: found.items.map(
            ({ orderNo, userId, asset, status, outcome, granted, ruleCode, ruleVersion, createdAt }) => ({
              orderNo,
              userId,
              asset,
              outcome: status === 'awaited' ? ('awaited' as const) : (outcome ?? null),
              granted: granted === 0 ? null : granted,
              ruleCode: ruleCode ?? null,
              ruleId: versions.find(({ code, version }) => code === ruleCode && version === ruleVersion)?.id ?? null,
              createdAt: createdAt.toISOString(),
            }),
          ),
        }
      }),
  }),
  route({
    method: 'GET',
    path: `${root}/order-reversals`,
    summary: 'List the points that refunds of an order took back, newest first',
    access: { permission: permissionCodes.ledgerView, scope: 'caller' },
    request: { query },
    response: listPage(reversalView),
    reasons: [],
    handler: (request, { db }) =>
      listResponse(request.query, newestFirst, async (window) => {
        const where = { $and: [ofOrder(request.query.orderNo), callerRows(request, owner)] }
        const found = await findPage<ReversalRow>(db.fork(), ReversalRow, where, window)
        const orderNos = [...new Set(found.items.map(({ orderNo }) => orderNo))]
        const orders = await db
          .fork()
          .find(OrderRewardRow, { orderNo: { $in: orderNos } }, { fields: ['orderNo', 'asset'] })
        const assets = new Map(orders.map(({ orderNo, asset }) => [orderNo, asset]))
        return {
          ...found,
          items: found.items.map((row) => ({ ...reversal.of(row), asset: assets.get(row.orderNo) ?? null })),
        }
      }),
  }),
]
