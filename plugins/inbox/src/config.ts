import { purgeKeys } from '@plinth/coordination'
import { guardsPermission, key } from '@plinth/kernel'
import { declarePluginKey } from '@plinth/system-config'

export const linkKeyName = 'platform.notification.inbox.preference-link-key'

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
  'platform.notification.inbox.preference-link-lifetime': key.duration({
    title: { en: 'Lifetime of preference links', 'zh-CN': '通知偏好链接有效期' },
    description: {
      en: 'E-mails to users contain a link to their notification preferences that works without signing in. It is valid for this time. 0: e-mails contain no such link.',
      'zh-CN': '发给用户的邮件含有无需登录即可更改通知偏好的链接，其有效期由此设定。0 表示邮件不含该链接。',
    },
    default: '30d',
    minimum: '0s',
    maximum: '365d',
    reload: 'live',
  }),
  [linkKeyName]: declarePluginKey({
    title: { en: 'Signing key of preference links', 'zh-CN': '通知偏好链接的签名密钥' },
    description: {
      en: 'Created automatically with the first link and stored encrypted. Do not set it manually.',
      'zh-CN': '首次生成链接时自动创建并加密存储，无需人工设置。',
    },
  }),
  'platform.notification.inbox.embed.origins': key.stringList({
    title: { en: 'Sites that may embed inboxes', 'zh-CN': '可嵌入站内信的站点' },
    description: {
      en: 'Origins of pages with the inbox element, for example https://shop.example. The origin of this product need not be listed. Pages of other sites cannot call the operations of the inbox.',
      'zh-CN':
        '使用站内信组件的页面来源，例如 https://shop.example。本产品自身的来源无需列出；其他站点的页面不能调用站内信接口。',
    },
    default: [],
    items: { pattern: '^https?://[a-z0-9.-]+(:[0-9]{1,5})?$' },
    rule: {
      en: 'be the scheme, host and optional port of a site in lower case, without a path, such as https://shop.example',
      'zh-CN': '是小写的站点协议、主机和可选端口，不含路径，例如 https://shop.example',
    },
    maxItems: 100,
    reload: 'live',
    permission: guardsPermission,
  }),
  ...purgeKeys('platform.notification.inbox', {
    en: 'Interval for removing old notifications from inboxes.',
    'zh-CN': '清除站内信旧通知的间隔。',
  }),
}
