import { purgeKeys } from '@plinth/coordination'
import { guardsPermission, key } from '@plinth/kernel'
import { attemptWindowKey, maxAttemptsKey } from '../config.ts'

export const keys = {
  'platform.iam.recovery.enabled': key.boolean({
    title: { en: 'Recovery by e-mail', 'zh-CN': '邮件找回' },
    description: {
      en: 'Links for new passwords, invitations and changes of the e-mail address. Also needs a mail driver and platform.site.url. If turned off, links that were already sent are rejected too.',
      'zh-CN':
        '重设密码、邀请和更换邮箱的链接。另外需要邮件发送方式和 platform.site.url。关闭后，已发送的链接也不再有效。',
    },
    default: true,
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.iam.recovery.page': key.string({
    title: { en: 'Page that links open', 'zh-CN': '链接打开的页面' },
    description: {
      en: 'Path of the page below platform.site.url. Default: the page of the back office.',
      'zh-CN': '页面在 platform.site.url 之下的路径。默认：管理后台的页面。',
    },
    default: '/admin/recovery',
    maxLength: 200,
    pattern: '^(?:/[A-Za-z0-9._~-]+)+/?$',
    rule: { en: 'be a path such as /admin/recovery', 'zh-CN': '是 /admin/recovery 这样的路径' },
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.iam.recovery.token-lifetime': key.duration({
    title: { en: 'Lifetime of a link for a new password', 'zh-CN': '重设密码链接有效期' },
    default: '30m',
    minimum: '10m',
    maximum: '1h',
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.iam.recovery.invitation-lifetime': key.duration({
    title: { en: 'Lifetime of an invitation', 'zh-CN': '邀请有效期' },
    default: '72h',
    minimum: '1h',
    maximum: '30d',
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.iam.recovery.account-max-mails': maxAttemptsKey({
    title: { en: 'Mails per account and hour', 'zh-CN': '每个账号每小时的邮件数' },
    description: {
      en: 'Further requests send nothing, and the last link stays valid. 0: unlimited.',
      'zh-CN': '超出后不再发送，最后一个链接仍然有效。0 表示不限。',
    },
    default: 5,
  }),
  'platform.iam.recovery.identifier-max-attempts': maxAttemptsKey({
    title: { en: 'Requests per name and IP address', 'zh-CN': '每个登录名和 IP 的请求次数' },
    default: 3,
  }),
  'platform.iam.recovery.identifier-window': attemptWindowKey({
    title: { en: 'Window per name and IP address', 'zh-CN': '每个登录名和 IP 的时间窗口' },
    default: '15m',
  }),
  'platform.iam.recovery.ip-max-attempts': maxAttemptsKey({
    title: { en: 'Requests per IP address', 'zh-CN': '每个 IP 的请求次数' },
    default: 20,
  }),
  'platform.iam.recovery.ip-window': attemptWindowKey({
    title: { en: 'Window per IP address', 'zh-CN': '每个 IP 的时间窗口' },
    default: '1h',
  }),
  ...purgeKeys('platform.iam.recovery', {
    en: 'Interval for removing expired links.',
    'zh-CN': '清除过期链接的间隔。',
  }),
}
