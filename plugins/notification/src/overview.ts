import { adminChart, adminTile } from '@plinth/admin'
import { bilingual as text } from '@plinth/kernel'

export const sendTiles = [
  adminTile('getAdminNotificationSendFigures', {
    id: 'notification.sent',
    title: text('Messages sent', '已发送的消息'),
    order: 60,
    range: true,
    field: 'sent',
    opens: { id: 'notification.send-log', filter: { status: 'success' } },
  }),
  adminTile('getAdminNotificationSendFigures', {
    id: 'notification.failed',
    title: text('Messages failed', '发送失败的消息'),
    order: 70,
    range: true,
    field: 'failed',
    more: 'bad',
    opens: { id: 'notification.send-log', filter: { status: 'failed' } },
  }),
]

export const figureCharts = [
  adminChart('getAdminNotificationSendFigures', {
    id: 'notification.messages',
    title: text('Messages', '消息'),
    order: 4,
    as: 'bar',
    range: true,
    at: 'at',
    lines: [
      { field: 'sent', tone: 'good' },
      { field: 'failed', tone: 'bad' },
    ],
  }),
  adminChart('getAdminNotificationSendFigures', {
    id: 'notification.by-channel',
    title: text('Messages by channel', '各渠道的消息'),
    order: 5,
    as: 'share',
    range: true,
    at: 'at',
    by: 'channel',
    names: 'notification.channel',
    lines: [{ field: 'sent' }],
  }),
]
