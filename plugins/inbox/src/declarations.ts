import { defineBusinessErrors, type PermissionDeclaration } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

export const businessError = defineBusinessErrors('notification-inbox', en['notification-inbox'], {
  'item-unknown': '404',
  'message-invalid': '400',
  'message-needed': '400',
  'ids-missing': '400',
  'locale-unknown': '400',
  'time-zone-unknown': '400',
  'quiet-hours-empty': '400',
})

/** Permissions for operators. Users need no permission for their own inbox. */
export const permissionCodes = {
  attachmentView: 'notification:attachment:view',
  receiptView: 'notification:receipt:view',
} as const

export const permissions: readonly PermissionDeclaration[] = [
  {
    code: permissionCodes.attachmentView,
    displayName: { en: 'View attachments of notifications', 'zh-CN': '查看通知附件' },
  },
  {
    code: permissionCodes.receiptView,
    displayName: { en: 'View read receipts of notifications', 'zh-CN': '查看通知已读回执' },
  },
]
