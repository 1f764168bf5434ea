import type { PermissionDeclaration } from '@plinth/kernel'

export const own = { diskView: 'storage:disk:view' } as const

export const permissions: readonly PermissionDeclaration[] = [
  {
    code: own.diskView,
    displayName: { en: 'View storage disks and what they hold', 'zh-CN': '查看存储磁盘及其占用' },
  },
]
