import type { PermissionDeclaration } from '@plinth/kernel'

export const permissionCodes = {
  messageView: 'notification:message:view',
  messageSend: 'notification:message:send',
  sendLogView: 'notification:send-log:view',
  sendLogRetry: 'notification:send-log:retry',
} as const

export const permissions: readonly PermissionDeclaration[] = [
  { code: permissionCodes.messageView, displayName: { en: 'View notifications', 'zh-CN': '查看通知' } },
  { code: permissionCodes.messageSend, displayName: { en: 'Send notifications', 'zh-CN': '发送通知' } },
  { code: permissionCodes.sendLogView, displayName: { en: 'View the send log', 'zh-CN': '查看发送记录' } },
  {
    code: permissionCodes.sendLogRetry,
    displayName: { en: 'Send failed notifications again', 'zh-CN': '重发失败的通知' },
  },
]
