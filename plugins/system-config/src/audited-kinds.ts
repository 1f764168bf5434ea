import { type AuditTexts, bilingual as text } from '@plinth/kernel'

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
    },
    facts: {
      set: { title: text('Stored keys', '已保存的配置项'), ...key },
      reset: { title: text('Removed keys', '已移除的配置项'), ...key },
      unset: { title: text('Cleared secrets', '已清除的密钥'), ...key },
      isSame: { title: text('Same as the stored value', '与已保存的值相同') },
      reason: { title: text('Reason', '原因') },
    },
  },
}
