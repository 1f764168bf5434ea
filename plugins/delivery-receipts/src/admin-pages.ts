import { adminAttention, adminTimeline } from '@plinth/admin'
import { bilingual as text } from '@plinth/kernel'
import { titlesOfChoices } from '@plinth/table'
import { confirmations } from './confirmations.ts'
import { StoredReceipt } from './entities.ts'
import { receipts } from './receipts.ts'

const stateTones = {
  queued: 'info',
  sent: 'info',
  delayed: 'warn',
  delivered: 'good',
  failed: 'bad',
  bounced: 'bad',
  complained: 'bad',
} as const

export const pages = [...receipts.pages, ...confirmations.pages]

export const timelines = [
  adminTimeline('getAdminDeliveryReceiptsReceipts', (row) => ({
    id: 'delivery-receipts.receipts-of-send',
    page: 'notification.send',
    filter: { sendLogId: 'id' },
    at: 'occurredAt',
    columns: [
      row.status('state', stateTones, { labels: titlesOfChoices(StoredReceipt.columns.state.description) }),
      row.text('source', { mono: true }),
      row.text('detail'),
    ],
    opens: { page: 'delivery-receipts.delivery-receipt', field: 'id' },
  })),
]

export const needsAttention = [
  adminAttention('getAdminDeliveryReceiptsSubscriptions', {
    id: 'delivery-receipts.subscriptions',
    title: text('Receipt subscriptions that wait for a confirmation', '待确认的回执订阅'),
    tone: 'warn',
    unattended: text('The provider sends no receipts until then.', '在此之前服务商不会发送回执。'),
    query: { status: 'waiting', size: 1, count: 'capped' },
    count: 'total',
    page: { id: 'delivery-receipts.receipt-subscriptions', filter: { status: 'waiting' } },
  }),
]
