import type { PermissionDeclaration } from '@plinth/kernel'

/** Codes of the permissions of this plugin. */
export const permissionCodes = {
  appView: 'open-platform:app:view',
  appCreate: 'open-platform:app:create',
  appUpdate: 'open-platform:app:update',
  appRotateSecret: 'open-platform:app:rotate-secret',
  appDelete: 'open-platform:app:delete',
  usageView: 'open-platform:usage:view',
} as const

export const permissions: readonly PermissionDeclaration[] = [
  {
    code: permissionCodes.appView,
    displayName: { en: 'View open-platform applications', 'zh-CN': '查看开放平台应用' },
    description: { en: 'Also the scopes; never a secret.', 'zh-CN': '包括授权范围，不含密钥。' },
  },
  {
    code: permissionCodes.appCreate,
    displayName: { en: 'Create open-platform applications', 'zh-CN': '创建开放平台应用' },
  },
  {
    code: permissionCodes.appUpdate,
    displayName: { en: 'Change open-platform applications', 'zh-CN': '修改开放平台应用' },
    description: { en: 'Scopes, limit, owner; enable and disable.', 'zh-CN': '授权范围、限额、负责人；启用和停用。' },
  },
  {
    code: permissionCodes.appRotateSecret,
    displayName: { en: 'Rotate secrets of open-platform applications', 'zh-CN': '轮换开放平台应用密钥' },
  },
  {
    code: permissionCodes.appDelete,
    displayName: { en: 'Delete open-platform applications', 'zh-CN': '删除开放平台应用' },
  },
  { code: permissionCodes.usageView, displayName: { en: 'View open-platform usage', 'zh-CN': '查看开放平台用量' } },
]
