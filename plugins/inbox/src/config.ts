import { purgeKeys } from '@plinth/coordination'
import { key } from '@plinth/kernel'

export const keys = {
  'platform.notification.inbox.retention': key.duration({
    title: { en: 'Retention of read notifications', 'zh-CN': '已读通知保留时间' },
    description: {
      en: 'Notifications are removed this long after they were read. Notifications that the user deleted are removed this long after they arrived. 0 keeps them indefinitely.',
      'zh-CN': '通知在阅读后保留的时间；用户已删除的通知自送达起按此时间清除。0 表示永久保留。',
    },
    default: '90d',
    minimum: '0s',
    reload: 'live',
  }),
  'platform.notification.inbox.unread-retention': key.duration({
    title: { en: 'Maximum retention of notifications', 'zh-CN': '通知最长保留时间' },
    description: {
      en: 'Notifications are removed this long after they arrived, even if they are unread. 0 keeps them indefinitely.',
      'zh-CN': '通知自送达起的最长保留时间，未读的也会清除。0 表示永久保留。',
    },
    default: '365d',
    minimum: '0s',
    reload: 'live',
  }),
  ...purgeKeys('platform.notification.inbox', {
    en: 'Interval for removing old notifications from inboxes.',
    'zh-CN': '清除站内信旧通知的间隔。',
  }),
}
