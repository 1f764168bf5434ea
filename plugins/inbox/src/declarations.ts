import { type AuditTexts, bilingual, defineBusinessErrors, type PermissionDeclaration } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

export const businessError = defineBusinessErrors('notification-inbox', en['notification-inbox'], {
  'category-required': '409',
  'cell-locked': '409',
  'cell-unknown': '404',
  'item-unknown': '404',
  'message-invalid': '400',
  'message-needed': '400',
  'ids-missing': '400',
  'link-unavailable': '503',
  'locale-unknown': '400',
  'marketing-locked': '400',
  'time-zone-unknown': '400',
  'quiet-hours-empty': '400',
})

/** Permissions for operators. Users need no permission for their own inbox. */
export const permissionCodes = {
  attachmentView: 'notification:attachment:view',
  preferenceDefaultManage: 'notification:preference-default:manage',
  receiptView: 'notification:receipt:view',
} as const

export const permissions: readonly PermissionDeclaration[] = [
  {
    code: permissionCodes.attachmentView,
    displayName: { en: 'View attachments of notifications', 'zh-CN': '查看通知附件' },
  },
  {
    code: permissionCodes.preferenceDefaultManage,
    displayName: { en: 'Manage defaults of notification preferences', 'zh-CN': '管理通知偏好默认值' },
  },
  {
    code: permissionCodes.receiptView,
    displayName: { en: 'View read receipts of notifications', 'zh-CN': '查看通知已读回执' },
  },
]

/** Names of the audited actions, for people. */
export const audited: Readonly<Record<string, AuditTexts>> = {
  'notification-preference-default': {
    title: bilingual('Default of a notification preference', '通知偏好默认值'),
    actions: { update: bilingual('Change', '修改') },
    facts: {
      channel: { title: bilingual('Channel', '渠道') },
      category: { title: bilingual('Category', '类别') },
      enabled: { title: bilingual('On by default', '默认开启') },
      locked: { title: bilingual('Locked', '锁定') },
    },
  },
}
