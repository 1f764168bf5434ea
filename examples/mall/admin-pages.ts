import { adminAttention, adminList } from '@plinth/admin'
import { bilingual as text } from '@plinth/kernel'

const customer = { labels: 'iam.user', page: 'iam.user' }

const orders = adminList('getAdminMallOrders', (row) => ({
  id: 'mall.orders',
  title: text('Orders', '订单'),
  place: { group: 'value', order: 110 },
  key: 'orderNo',
  columns: [
    row.text('orderNo', { mono: true }),
    row.reference('userId', customer),
    row.status(
      'status',
      { unpaid: 'info', paid: 'warn', shipped: 'good', refunded: 'quiet', cancelled: 'quiet' },
      {
        labels: {
          unpaid: text('Unpaid', '待付款'),
          paid: text('To be shipped', '待发货'),
          shipped: text('Shipped', '已发货'),
          refunded: text('Refunded', '已退款'),
          cancelled: text('Cancelled', '已取消'),
        },
      },
    ),
    row.amount('cashAmount', { currency: 'currency' }),
    row.amount('refundedAmount', { currency: 'currency', hidden: true }),
    row.time('createdAt'),
    row.time('paidAt', { hidden: true }),
  ],
  find: ['orderNo'],
  filters: ['status', 'orderNo', { name: 'userId', options: { labels: 'iam.user', title: text('Customer', '顾客') } }],
  actions: [
    row.action('postAdminMallOrdersByOrderNoShip', {
      label: text('Shipped', '发货'),
      params: { orderNo: 'orderNo' },
      when: { status: 'paid' },
      confirm: text('The parcels of {orderNo} are on their way.', '订单 {orderNo} 的包裹已寄出。'),
    }),
  ],
}))

const refunds = adminList('getAdminMallRefunds', (row) => ({
  id: 'mall.refunds',
  title: text('Refunds', '退款'),
  place: { group: 'value', order: 120 },
  key: 'refundNo',
  columns: [
    row.text('refundNo', { mono: true }),
    row.text('orderNo', { mono: true }),
    row.reference('userId', customer),
    row.amount('amount', { currency: 'currency' }),
    row.text('reason'),
    row.status(
      'status',
      { pending: 'warn', refunded: 'good', rejected: 'quiet' },
      {
        labels: {
          pending: text('To be decided', '待处理'),
          refunded: text('Refunded', '已退款'),
          rejected: text('Rejected', '已拒绝'),
        },
      },
    ),
    row.time('createdAt'),
    row.time('decidedAt', { hidden: true }),
  ],
  filters: ['status'],
  actions: [
    row.action('postAdminMallRefundsByRefundNoDecision', {
      label: text('Pay back', '同意退款'),
      params: { refundNo: 'refundNo' },
      body: { approve: { value: true } },
      when: { status: 'pending' },
      confirm: text(
        '{amount} of {orderNo} is paid back. Credit that paid a part of it comes back when all of the money is.',
        '退还订单 {orderNo} 的 {amount}。全部金额退还后，抵扣部分也会退回。',
      ),
      reason: 'required',
    }),
    row.action('postAdminMallRefundsByRefundNoDecision', {
      label: text('Reject', '拒绝'),
      params: { refundNo: 'refundNo' },
      body: { approve: { value: false } },
      when: { status: 'pending' },
      tone: 'danger',
      reason: 'required',
    }),
  ],
}))

/** Pages of the mall in the back office. */
export const pages = [orders, refunds]

export const needsAttention = [
  adminAttention('getAdminMallRefunds', {
    id: 'mall.refunds-pending',
    title: text('Refunds that wait for a decision', '等待处理的退款'),
    tone: 'warn',
    query: { status: 'pending', size: 1, count: 'capped' },
    count: 'total',
    page: { id: 'mall.refunds', filter: { status: 'pending' } },
  }),
]
