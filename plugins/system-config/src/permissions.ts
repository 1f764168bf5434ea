import type { PermissionDeclaration } from '@plinth/kernel'

/** Access rules of the routes. */
export const permissions = {
  view: { permission: 'system-config:view', scope: 'none' },
  save: { permission: 'system-config:save', scope: 'none' },
  /** The history names operators of all organisations. */
  history: { permission: 'system-config:view', scope: 'all' },
  export: { permission: 'system-config:export', scope: 'none' },
} as const

export const permissionDeclarations: readonly PermissionDeclaration[] = [
  {
    code: permissions.view.permission,
    displayName: { en: 'View the configuration', 'zh-CN': '查看配置' },
    description: {
      en: 'Keys, values, origins and history; secrets stay masked.',
      'zh-CN': '配置项、值、来源和历史；密文保持掩码。',
    },
  },
  {
    code: permissions.save.permission,
    displayName: { en: 'Change the configuration', 'zh-CN': '修改配置' },
    description: { en: 'Save, reset, verify, roll back and import.', 'zh-CN': '保存、重置、验证、回退和导入。' },
  },
  {
    code: permissions.export.permission,
    displayName: { en: 'Export the configuration', 'zh-CN': '导出配置' },
    description: { en: 'All stored values but secrets.', 'zh-CN': '除密文外的全部已存储值。' },
  },
]
