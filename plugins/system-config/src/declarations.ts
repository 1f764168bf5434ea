import { TableNotFoundException } from '@mikro-orm/core'
import {
  type AuditTexts,
  defineBusinessErrors,
  errorReason,
  errorTable,
  isBusinessError,
  type Logger,
  type PermissionDeclaration,
  bilingual as text,
} from '@plinth/kernel'
import { isUnavailable } from '@plinth/kernel/host'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const systemConfigError = errorTable({
  PLINTH_SYSTEM_CONFIG_REFUSED: `{{reason}}
    {{fix}}`,
})

export const messages = { en, 'zh-CN': zhCN }

export const businessError = defineBusinessErrors('system-config', en['system-config'], {
  'change-unknown': '404',
  conflict: '409',
  'destination-changed': '409',
  'document-invalid': '400',
  'filter-unknown': '400',
  invalid: '400',
  'key-protected': '403',
  'key-unknown': '404',
  'master-key': '503',
  'approval-needed': '409',
  'own-request': '403',
  'request-closed': '409',
  'request-limit': '409',
  'request-unknown': '404',
  'storage-unavailable': '503',
  'version-changed': '409',
  'version-unknown': '400',
})

/** A changed key whose stored version is not the version that the caller has read. */
export interface Conflict {
  readonly key: string
  readonly expectedVersion: number
  readonly currentVersion: number
  readonly updatedBy: string | null
  readonly updatedAt: string | null
}

/**
 * Returns the error for all conflicts. Its top-level fields describe the newest conflict, as in every version conflict
 * (decision E15).
 */
export function conflictError(conflicts: readonly Conflict[]) {
  const [last] = conflicts.toSorted((a, b) => ((a.updatedAt ?? '') > (b.updatedAt ?? '') ? -1 : 1))
  const newest = { currentVersion: last?.currentVersion, updatedBy: last?.updatedBy, updatedAt: last?.updatedAt }
  return businessError('conflict', { data: { ...newest, conflicts } })
}

/** Converts database errors to a business error. Passes other business errors on. */
export async function translateStorageErrors<T>(log: Logger, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (isBusinessError(error)) throw error
    // If the database is not migrated, the start has already reported it.
    if (!(error instanceof TableNotFoundException)) log.error(shownError(error), 'stored configuration cannot be read')
    throw businessError('storage-unavailable', { cause: error })
  }
}

/** Omits the stack if the database is unavailable, because the driver has already reported this. */
const shownError = (error: unknown): { readonly reason: string } | { readonly err: unknown } =>
  isUnavailable(error) ? { reason: errorReason(error) } : { err: error }

/** Permission to change all keys; with a colon and a group: the keys of one group. */
export const savePermission = 'system-config:save'

/** Access rules of the routes. */
export const permissions = {
  view: { permission: 'system-config:view', scope: 'none' },
  save: { permission: savePermission, scope: 'all', orGroup: true },
  /** Scope `all`, because the history contains operators of all organisations. */
  history: { permission: 'system-config:view', scope: 'all' },
  export: { permission: 'system-config:export', scope: 'none' },
  approve: { permission: 'system-config:approve', scope: 'all' },
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
    perConfigGroup: true,
    description: { en: 'Save, reset, verify, roll back and import.', 'zh-CN': '保存、重置、验证、回退和导入。' },
  },
  {
    code: permissions.export.permission,
    displayName: { en: 'Export the configuration', 'zh-CN': '导出配置' },
    description: { en: 'All stored values but secrets.', 'zh-CN': '除密文外的全部已存储值。' },
  },
  {
    code: permissions.approve.permission,
    displayName: { en: 'Approve configuration changes', 'zh-CN': '审批配置变更' },
    description: {
      en: 'Approve or reject changes that other operators requested. Also needs the permissions of the changed keys.',
      'zh-CN': '批准或驳回其他操作员申请的变更。还需要所改配置项本身的权限。',
    },
  },
]

const key = { labels: 'console.config-key', page: 'system-config.centre' }

/** Names of the audited actions, for people. */
export const audited: Readonly<Record<string, AuditTexts>> = {
  configuration: {
    title: text('Configuration', '配置'),
    ...key,
    subjects: key,
    actions: {
      save: text('Save', '保存'),
      import: text('Import', '导入'),
      rollback: text('Restore a version', '恢复版本'),
      state: text('Change state', '更改状态'),
      verify: text('Verify', '验证'),
      request: text('Request changes', '申请变更'),
      approve: text('Approve a request', '批准申请'),
      reject: text('Reject a request', '驳回申请'),
      withdraw: text('Withdraw a request', '撤回申请'),
    },
    facts: {
      set: { title: text('Stored keys', '已保存的配置项'), ...key },
      reset: { title: text('Removed keys', '已移除的配置项'), ...key },
      unset: { title: text('Cleared secrets', '已清除的密钥'), ...key },
      destination: { title: text('Destination of the new secrets', '新密钥的发送目标') },
      request: { title: text('Request', '申请编号') },
      requestedBy: { title: text('Requested by', '申请人'), labels: 'iam.user', page: 'iam.user' },
      keys: { title: text('Requested keys', '申请变更的配置项'), ...key },
      isSame: { title: text('Same as the stored value', '与已保存的值相同') },
      reason: { title: text('Reason', '原因') },
    },
  },
}
