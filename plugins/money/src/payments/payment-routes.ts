import { createStaticLabelSource, type LabelSource } from '@plinth/admin'
import { type Database, findPage } from '@plinth/database'
import {
  count,
  filterQuery,
  id,
  instant,
  line,
  listPage,
  listQuery,
  listResponse,
  newestFirst,
  nullable,
  rangeQuery,
  routesWith,
  Type,
  text,
  viewOf,
} from '@plinth/http'
import { callerRows } from '@plinth/iam'
import { localize } from '@plinth/kernel'
import {
  orderOwnerColumn,
  ownerThroughOrder,
  type PaymentSuccessHandler,
  type Payments,
  payerProofs,
  paymentStatuses,
} from './contract.ts'
import { permissionCodes } from './declarations.ts'
import { orders, PaymentOrderRow, transactions } from './entities.ts'

const root = '/api/v1/admin/money'
const amount = Type.Integer({ minimum: 0, description: 'Amount in minor units of the asset.' })

const exposedOrder = orders.pick(
  'outTradeNo',
  'provider',
  'scene',
  'userId',
  'asset',
  'amount',
  'chainName',
  'chainId',
  'tokenContract',
  'receiver',
  'amountRaw',
  'requiredConfirmations',
  'transactionHash',
  'payer',
  'payerProof',
  'status',
  'refundedAmount',
  'createdAt',
  'paidAt',
)
export const orderView = viewOf(exposedOrder, {
  amount,
  chainId: nullable(id),
  amountRaw: nullable(text, { description: 'Amount in the smallest units of the token, as decimal text.' }),
  requiredConfirmations: nullable(count),
  payer: nullable(text, { description: 'Address that must send the payment. Its owner proved control of it.' }),
  payerProof: nullable(Type.Enum(payerProofs)),
  status: Type.Enum(paymentStatuses),
  refundedAmount: amount,
  createdAt: instant,
  paidAt: nullable(instant),
})

const shared = 'True for a refund of an earlier version whose transaction repaid another order as well, or paid one.'
const transaction = viewOf(transactions.omit('facts'), {
  amount,
  logOrdinal: nullable(count),
  shared: nullable(Type.Boolean(), { description: shared }),
  createdAt: instant,
})
const asset = nullable(text, { description: 'Asset of the order. Null if the order no longer exists.' })
const transactionView = Type.Object({ ...transaction.schema.properties, asset })

const outTradeNo = line(64, { minLength: 1 })
const name = (longest: number) => Type.Optional(line(longest, { minLength: 1 }))

const range = rangeQuery('createdAt', 'id')

const orderFilter = filterQuery(orderView.schema, [
  'status',
  'provider',
  'scene',
  'userId',
  'outTradeNo',
  'asset',
  'amount',
  'refundedAmount',
  'paidAt',
  'chainName',
  'transactionHash',
  'payer',
])
const transactionFilter = filterQuery(transactionView, [
  'outTradeNo',
  'type',
  'transactionHash',
  'amount',
  'shared',
  'chainName',
])

const { route } = routesWith<{ readonly payments: Payments }>()

export const paymentRoutes = [
  route({
    method: 'GET',
    path: `${root}/payment-orders`,
    summary: 'List payment orders, newest first',
    access: { permission: permissionCodes.paymentView, scope: 'caller' },
    request: {
      query: Type.Object({
        ...listQuery.properties,
        ...orderFilter.properties,
        ...range.properties,
        status: Type.Optional(Type.Enum(paymentStatuses)),
        provider: name(32),
        userId: Type.Optional(id),
        outTradeNo: Type.Optional(outTradeNo),
      }),
    },
    response: listPage(orderView.schema),
    reasons: [],
    handler: (request, { payments }) =>
      listResponse(
        request.query,
        newestFirst,
        async (window) => {
          const { status, provider, userId, outTradeNo } = request.query
          const rows = callerRows(request, orderOwnerColumn)
          const found = await payments.list(withoutAbsent({ status, provider, userId, outTradeNo, rows }), window)
          return { ...found, items: found.items.map(orderView.of) }
        },
        range,
        orderFilter,
      ),
  }),
  route({
    method: 'GET',
    path: `${root}/payment-orders/:outTradeNo`,
    summary: 'Get a payment order',
    access: { permission: permissionCodes.paymentView, scope: 'caller' },
    request: { params: Type.Object({ outTradeNo }) },
    response: orderView.schema,
    reasons: ['money.asset-unknown', 'payment.order-unknown'],
    handler: async (request, { payments }) =>
      orderView.of(await payments.get(request.params.outTradeNo, callerRows(request, orderOwnerColumn))),
  }),
  route({
    method: 'GET',
    path: `${root}/payment-transactions`,
    summary: 'List payments and refunds, newest first',
    access: { permission: permissionCodes.paymentView, scope: 'caller' },
    request: {
      query: Type.Object({
        ...listQuery.properties,
        ...transactionFilter.properties,
        ...range.properties,
        outTradeNo: Type.Optional(outTradeNo),
        type: name(32),
        shared: Type.Optional(Type.Boolean({ description: shared })),
      }),
    },
    response: listPage(transactionView),
    reasons: ['money.asset-unknown', 'payment.order-unknown'],
    handler: (request, { payments }) =>
      listResponse(
        request.query,
        newestFirst,
        async (window) => {
          const { outTradeNo, type, shared } = request.query
          const rows = callerRows(request, ownerThroughOrder('out_trade_no'))
          const found = await payments.transactions(withoutAbsent({ outTradeNo, type, shared, rows }), window)
          const ordersOf = await payments.findMany([...new Set(found.items.map(({ outTradeNo: of }) => of))])
          return {
            ...found,
            items: found.items.map((one) => ({
              ...transaction.of(one),
              asset: ordersOf.get(one.outTradeNo)?.asset ?? null,
            })),
          }
        },
        range,
        transactionFilter,
      ),
  }),
]

function withoutAbsent<Members extends object>(members: Members) {
  const given = Object.entries(members).filter(([, value]) => value !== undefined)
  return Object.fromEntries(given) as { [Name in keyof Members]?: Exclude<Members[Name], undefined> }
}

/** A search returns the newest 20 rows. */
const window = { orderBy: [{ property: 'id', direction: 'desc' }], size: 20, offset: 0, count: 'none' } as const
const labelOf = ({ outTradeNo }: Pick<PaymentOrderRow, 'outTradeNo'>) => ({ id: outTradeNo, name: outTradeNo })

/** The id of a label is the order number. */
export const orderLabels = (db: Database): LabelSource => ({
  permission: permissionCodes.paymentView,
  scope: 'caller',
  async byIds(ids, request) {
    const where = { $and: [{ outTradeNo: { $in: [...ids] } }, callerRows(request, orderOwnerColumn)] }
    return (await db.fork().find(PaymentOrderRow, where)).map(labelOf)
  },
  async search(text, request) {
    const where = { $and: [text === '' ? {} : { outTradeNo: text }, callerRows(request, orderOwnerColumn)] }
    return (await findPage<PaymentOrderRow>(db.fork(), PaymentOrderRow, where, window)).items.map(labelOf)
  },
})

/** Names of the scenes, from their handlers. */
export const sceneLabels = (handlers: ReadonlyMap<string, PaymentSuccessHandler>): LabelSource =>
  createStaticLabelSource(
    (locale) => [...handlers].flatMap(([id, { title }]) => (title ? [{ id, name: localize(title, locale) }] : [])),
    permissionCodes.paymentView,
  )
