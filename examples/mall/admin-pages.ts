import { adminAttention, adminList, adminTimeline } from '@plinth/admin'
import { bilingual as text } from '@plinth/kernel'
import { titlesOfChoices } from '@plinth/table'
import { Order, Refund } from './entities.ts'

const customer = { labels: 'iam.user', page: 'iam.user' }

const orders = adminList('getAdminMallOrders', (row) => ({
  id: 'mall.orders',
  title: text('Orders', '订单'),
  empty: text('No orders yet.', '尚无订单。'),
  lead: text('All orders of the shop, with their payment.', '商城的全部订单及其付款情况。'),
  place: { group: 'orders', order: 110 },
  key: 'orderNo',
  columns: [
    row.text('orderNo', { mono: true }),
    row.reference('userId', customer, { title: text('Customer', '顾客') }),
    row.status(
      'status',
      { unpaid: 'info', paid: 'warn', shipped: 'good', refunded: 'quiet', cancelled: 'quiet' },
      { labels: titlesOfChoices(Order.columns.status.description) },
    ),
    row.amount('cashAmount', { title: text('Amount', '金额'), currency: 'currency', total: true }),
    row.amount('refundedAmount', { currency: 'currency', hidden: true }),
    row.reference('payment', { labels: 'money.payment-order', page: 'money.payment-order' }),
    row.time('createdAt'),
    row.time('paidAt', { hidden: true }),
  ],
  find: ['orderNo'],
  filters: ['status', 'orderNo', { name: 'userId', options: { labels: 'iam.user', title: text('Customer', '顾客') } }],
  board: { column: 'status', cards: ['userId', 'cashAmount', 'createdAt'] },
  actions: [
    row.action('postAdminMallOrdersByOrderNoShip', {
      label: text('Mark as shipped', '标记为已发货'),
      params: { orderNo: 'orderNo' },
      when: { status: 'paid' },
      leadsTo: 'shipped',
      confirm: text('Marks order {{orderNo}} as shipped.', '将订单 {{orderNo}} 标记为已发货。'),
    }),
  ],
}))

const refundStates = titlesOfChoices(Refund.columns.status.description)
const refundTones = { pending: 'warn', refunded: 'good', rejected: 'quiet' } as const

const refunds = adminList('getAdminMallRefunds', (row) => ({
  id: 'mall.refunds',
  title: text('Refunds', '退款'),
  empty: text('No refunds yet.', '尚无退款。'),
  lead: text('Refunds that customers asked for. Approve or reject each one.', '顾客申请的退款，逐笔批准或拒绝。'),
  place: { group: 'orders', order: 120 },
  key: 'refundNo',
  columns: [
    row.text('refundNo', { mono: true }),
    row.text('orderNo', { mono: true }),
    row.reference('userId', customer, { title: text('Customer', '顾客') }),
    row.amount('amount', { currency: 'currency' }),
    row.text('reason'),
    row.status('status', refundTones, { labels: refundStates }),
    row.time('createdAt'),
    row.time('decidedAt', { hidden: true }),
  ],
  filters: ['status'],
  board: { column: 'status', cards: ['orderNo', 'amount', 'reason'] },
  actions: [
    row.action('postAdminMallRefundsByRefundNoDecision', {
      label: text('Approve refund', '同意退款'),
      params: { refundNo: 'refundNo' },
      body: { approve: { value: true } },
      when: { status: 'pending' },
      leadsTo: 'refunded',
      confirm: text(
        'Refunds {{amount}} of order {{orderNo}}. Credit is returned when the full amount is refunded.',
        '退还订单 {{orderNo}} 的 {{amount}}。全部金额退还后，抵扣部分也会退回。',
      ),
      reason: 'required',
    }),
    row.action('postAdminMallRefundsByRefundNoDecision', {
      label: text('Reject', '拒绝'),
      params: { refundNo: 'refundNo' },
      body: { approve: { value: false } },
      when: { status: 'pending' },
      leadsTo: 'rejected',
      tone: 'danger',
      reason: 'required',
    }),
  ],
}))

/** Pages of the mall in the back office, declared as data. */
export const pages = [orders, refunds]

const onPayment = { page: 'money.payment-order', filter: { orderNo: 'outTradeNo' } } as const

/** Refunds of an order, on the page of its payment. */
export const timelines = [
  adminTimeline('getAdminMallRefunds', (row) => ({
    id: 'example.mall.refunds-of-order',
    ...onPayment,
    at: 'createdAt',
    title: text('Refund requested', '申请退款'),
    columns: [row.amount('amount', { currency: 'currency' }), row.text('reason')],
  })),
  adminTimeline('getAdminMallRefunds', (row) => ({
    id: 'example.mall.decisions-of-order',
    ...onPayment,
    at: 'decidedAt',
    title: text('Refund decided', '审核退款'),
    columns: [
      row.status('status', refundTones, { labels: refundStates }),
      row.amount('amount', { currency: 'currency' }),
      row.text('decidedBy'),
    ],
  })),
]

export const needsAttention = [
  adminAttention('getAdminMallRefunds', {
    id: 'mall.refunds-pending',
    title: text('Refunds awaiting a decision', '等待处理的退款'),
    tone: 'warn',
    query: { status: 'pending', size: 1, count: 'capped' },
    count: 'total',
    unattended: text('The customers wait for their money.', '客户在等待退款。'),
    page: { id: 'mall.refunds', filter: { status: 'pending' } },
  }),
]
