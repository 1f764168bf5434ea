import {
  answerList,
  count,
  id,
  instant,
  line,
  listPage,
  listQuery,
  newestFirst,
  nullable,
  routesWith,
  Type,
  text,
} from '@plinth/http'
import type { Static } from 'typebox'
import { type PaymentOrder, type Payments, type PaymentTransaction, paymentStatuses } from './contract.ts'
import { own } from './permissions.ts'

const root = '/api/v1/admin/money'
const amount = Type.Integer({ minimum: 0, description: 'Minor units of the asset.' })

const orderView = Type.Object({
  outTradeNo: text,
  provider: text,
  scene: text,
  userId: nullable(id),
  asset: text,
  amount,
  chainName: nullable(text),
  chainId: nullable(id),
  tokenContract: nullable(text),
  receiver: nullable(text),
  amountRaw: nullable(text, { description: 'Units of the token, as decimal text.' }),
  requiredConfirmations: nullable(count),
  transactionHash: nullable(text),
  status: Type.Enum(paymentStatuses),
  refundedAmount: amount,
  createdAt: instant,
  paidAt: nullable(instant),
})

const transactionView = Type.Object({
  id,
  outTradeNo: text,
  type: text,
  transactionHash: text,
  asset: nullable(text, { description: 'Of the order; null where the order is gone.' }),
  amount,
  eventKey: nullable(text),
  chainName: nullable(text),
  logOrdinal: nullable(count),
  createdAt: instant,
})

const moment = (ms: number) => new Date(ms).toISOString()

function viewOfOrder(order: PaymentOrder): Static<typeof orderView> {
  const { id: _id, version: _version, createdAt, paidAt, ...rest } = order
  return { ...rest, createdAt: moment(createdAt), paidAt: paidAt === null ? null : moment(paidAt) }
}

function viewOfTransaction(
  transaction: PaymentTransaction,
  asset = null as string | null,
): Static<typeof transactionView> {
  const { facts: _facts, createdAt, ...rest } = transaction
  return { ...rest, asset, createdAt: moment(createdAt) }
}

const outTradeNo = line(64, { minLength: 1 })
const name = (longest: number) => Type.Optional(line(longest, { minLength: 1 }))

const { route } = routesWith<{ readonly payments: Payments }>()

/** What operators see of payments. Nothing is settled or paid back here: that is for whoever knows what was paid. */
export const paymentRoutes = [
  route({
    method: 'GET',
    path: `${root}/payment-orders`,
    summary: 'Payment orders, the newest first',
    access: { permission: own.paymentView },
    request: {
      query: Type.Object({
        ...listQuery.properties,
        status: Type.Optional(Type.Enum(paymentStatuses)),
        provider: name(32),
        userId: Type.Optional(id),
        outTradeNo: Type.Optional(outTradeNo),
      }),
    },
    response: listPage(orderView),
    handler: ({ query }, { payments }) =>
      answerList(query, newestFirst, async (window) => {
        const { status, provider, userId, outTradeNo } = query
        const found = await payments.list(withoutAbsent({ status, provider, userId, outTradeNo }), window)
        return { ...found, items: found.items.map(viewOfOrder) }
      }),
  }),
  route({
    method: 'GET',
    path: `${root}/payment-orders/:outTradeNo`,
    summary: 'One payment order',
    access: { permission: own.paymentView },
    request: { params: Type.Object({ outTradeNo }) },
    response: orderView,
    handler: async ({ params }, { payments }) => viewOfOrder(await payments.get(params.outTradeNo)),
  }),
  route({
    method: 'GET',
    path: `${root}/payment-transactions`,
    summary: 'What was paid and paid back, the newest first',
    access: { permission: own.paymentView },
    request: {
      query: Type.Object({ ...listQuery.properties, outTradeNo: Type.Optional(outTradeNo), type: name(32) }),
    },
    response: listPage(transactionView),
    handler: ({ query }, { payments }) =>
      answerList(query, newestFirst, async (window) => {
        const { outTradeNo, type } = query
        const found = await payments.transactions(withoutAbsent({ outTradeNo, type }), window)
        const orders = await payments.findMany([...new Set(found.items.map(({ outTradeNo: of }) => of))])
        return { ...found, items: found.items.map((one) => viewOfTransaction(one, orders.get(one.outTradeNo)?.asset)) }
      }),
  }),
]

function withoutAbsent<Members extends object>(members: Members) {
  const given = Object.entries(members).filter(([, value]) => value !== undefined)
  return Object.fromEntries(given) as { [Name in keyof Members]?: Exclude<Members[Name], undefined> }
}
