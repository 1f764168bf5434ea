import { adminChart, adminTile } from '@plinth/admin'
import { bilingual as text } from '@plinth/kernel'

export const paymentTiles = [
  adminTile('getAdminMoneyPaymentFigures', {
    id: 'money.payments.orders',
    title: text('Orders', '订单'),
    order: 10,
    range: true,
    field: 'orders',
    more: 'good',
    opens: { id: 'money.payment-orders' },
  }),
  adminTile('getAdminMoneyPaymentFigures', {
    id: 'money.payments.revenue',
    title: text('Revenue', '收入'),
    order: 20,
    range: true,
    field: 'revenue',
    currency: 'asset',
    more: 'good',
    opens: { id: 'money.payment-orders', filter: { status: 'success' } },
  }),
  adminTile('getAdminMoneyPaymentFigures', {
    id: 'money.payments.refunded',
    title: text('Refunds', '退款'),
    order: 25,
    range: true,
    field: 'refunded',
    currency: 'asset',
    more: 'bad',
    opens: { id: 'money.payment-orders', filter: { status: 'refunded' } },
  }),
]

export const paymentCharts = [
  adminChart('getAdminMoneyPaymentFigures', {
    id: 'money.payments.revenue',
    title: text('Revenue', '收入'),
    order: 1,
    as: 'bar',
    range: true,
    at: 'at',
    currency: 'asset',
    lines: [{ field: 'revenue' }],
  }),
  adminChart('getAdminMoneyPaymentFigures', {
    id: 'money.payments.orders',
    title: text('Orders', '订单'),
    order: 2,
    as: 'bar',
    range: true,
    at: 'at',
    lines: [
      { field: 'orders', tone: 'info' },
      { field: 'paidOrders', tone: 'good' },
    ],
  }),
]
