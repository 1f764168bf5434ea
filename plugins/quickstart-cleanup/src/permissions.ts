import type { PermissionDeclaration } from '@plinth/kernel'

/** Codes of the permissions of this plugin. */
export const permissionCodes = {
  view: 'install:quickstart-cleanup:view',
  execute: 'install:quickstart-cleanup:execute',
} as const

export const permissions: readonly PermissionDeclaration[] = [
  { code: permissionCodes.view, displayName: { en: 'View demo data', 'zh-CN': '查看演示数据' } },
  { code: permissionCodes.execute, displayName: { en: 'Remove demo data', 'zh-CN': '清理演示数据' } },
]
