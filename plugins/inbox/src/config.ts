import { purgeKeys } from '@plinth/coordination'
import { key } from '@plinth/kernel'

export const keys = {
  'platform.notification.inbox.retention': key.duration({
    title: { en: 'Retention of read notifications', 'zh-CN': '已读通知保留时间' },
    description: {
      en: 'Items go so long after they were read; deleted ones so long after they came. 0 keeps them for ever.',
      'zh-CN': '通知在阅读后保留的时间；已删除的通知自送达起按此时间清除。0 表示永久保留。',
    },
    default: '90d',
    minimum: '0s',
    reload: 'live',
  }),
  'platform.notification.inbox.unread-retention': key.duration({
    title: { en: 'Longest retention of notifications', 'zh-CN': '通知最长保留时间' },
    description: {
      en: 'Items go so long after they came, also those that nobody has read. 0 keeps them for ever.',
      'zh-CN': '通知自送达起的最长保留时间，未读的也会清除。0 表示永久保留。',
    },
    default: '365d',
    minimum: '0s',
    reload: 'live',
  }),
  ...purgeKeys('platform.notification.inbox', {
    en: 'How often old items of inboxes are removed.',
    'zh-CN': '清除收件箱旧通知的间隔。',
  }),
}
