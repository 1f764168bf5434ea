import type { PermissionDeclaration } from '@plinth/kernel'

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
