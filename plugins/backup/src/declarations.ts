import { type AuditTexts, defineBusinessErrors, type PermissionDeclaration, bilingual as text } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

export const businessError = defineBusinessErrors('backup', en.backup, {
  unknown: '404',
  running: '409',
  /** No public key is set. */
  'no-recipient': '409',
  'place-late': '503',
  'place-unavailable': '503',
  /** The parameter is the code of the error. The log contains its message. */
  failed: '503',
})

export const permissionCodes = {
  view: 'backup:backup:view',
  create: 'backup:backup:create',
  prune: 'backup:backup:prune',
} as const

export const permissions: readonly PermissionDeclaration[] = [
  { code: permissionCodes.view, displayName: { en: 'View backups', 'zh-CN': '查看备份' } },
  { code: permissionCodes.create, displayName: { en: 'Make and verify backups', 'zh-CN': '创建和校验备份' } },
  { code: permissionCodes.prune, displayName: { en: 'Delete expired backups', 'zh-CN': '删除过期备份' } },
]

export const audited: Readonly<Record<string, AuditTexts>> = {
  backup: {
    title: text('Backup', '备份'),
    actions: {
      create: text('Back up', '备份'),
      verify: text('Verify', '校验'),
      prune: text('Delete expired backups', '删除过期备份'),
      restore: text('Restore', '恢复'),
    },
    facts: {
      id: { title: text('Backup', '备份') },
      restoredAt: { title: text('Restored at', '恢复时间') },
    },
  },
}
