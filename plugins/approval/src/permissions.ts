import type { PermissionDeclaration } from '@plinth/kernel'

/** Codes of the permissions of this plugin. */
export const permissionCodes = { instanceView: 'approval:instance:view' } as const

export const permissions: readonly PermissionDeclaration[] = [
  { code: permissionCodes.instanceView, displayName: { en: 'View approvals', 'zh-CN': '查看审批记录' } },
]
