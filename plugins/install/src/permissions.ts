import type { PermissionDeclaration } from '@plinth/kernel'

/** Codes of the permissions of this plugin. */
export const permissionCodes = { view: 'install:view', manage: 'install:manage' } as const

export const permissions: readonly PermissionDeclaration[] = [
  {
    code: permissionCodes.view,
    displayName: { en: 'View the installation, its log and its audit', 'zh-CN': '查看安装状态、日志和审计' },
  },
  {
    code: permissionCodes.manage,
    displayName: {
      en: 'Reset the installation, mark it as installed, and migrate the database',
      'zh-CN': '重置安装、标记为已安装、迁移数据库',
    },
  },
]
