import type { PermissionDeclaration } from '@plinth/kernel'

export const permissionCodes = {
  view: 'template:template:view',
  create: 'template:template:create',
  update: 'template:template:update',
  delete: 'template:template:delete',
} as const

export const permissions: readonly PermissionDeclaration[] = [
  { code: permissionCodes.view, displayName: { en: 'View message templates', 'zh-CN': '查看消息模板' } },
  { code: permissionCodes.create, displayName: { en: 'Create message templates', 'zh-CN': '创建消息模板' } },
  { code: permissionCodes.update, displayName: { en: 'Change message templates', 'zh-CN': '修改消息模板' } },
  { code: permissionCodes.delete, displayName: { en: 'Delete message templates', 'zh-CN': '删除消息模板' } },
]
