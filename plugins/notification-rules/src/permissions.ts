import type { PermissionDeclaration } from '@plinth/kernel'

/** Permissions for operators (document 2 of the specification, "Authentication"). */
export const permissionCodes = {
  ruleView: 'notification:rule:view',
  ruleCreate: 'notification:rule:create',
  ruleUpdate: 'notification:rule:update',
  ruleDelete: 'notification:rule:delete',
} as const

export const permissions: readonly PermissionDeclaration[] = [
  { code: permissionCodes.ruleView, displayName: { en: 'View notification rules', 'zh-CN': '查看通知规则' } },
  { code: permissionCodes.ruleCreate, displayName: { en: 'Create notification rules', 'zh-CN': '创建通知规则' } },
  { code: permissionCodes.ruleUpdate, displayName: { en: 'Change notification rules', 'zh-CN': '修改通知规则' } },
  { code: permissionCodes.ruleDelete, displayName: { en: 'Delete notification rules', 'zh-CN': '删除通知规则' } },
]
