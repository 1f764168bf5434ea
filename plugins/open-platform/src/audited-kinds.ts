import { type AuditTexts, bilingual as text } from '@plinth/kernel'

/** Names of the audited actions, for people. */
export const audited: Readonly<Record<string, AuditTexts>> = {
  'open-app': {
    title: text('Application', '应用'),
    page: 'open-platform.app',
    labels: 'open-platform.app',
    nameFrom: 'name',
    facts: {
      appKey: { title: text('App key', '应用标识') },
      name: { title: text('Name', '名称') },
      graceSeconds: { title: text('Old secret stays valid, in seconds', '旧密钥继续有效的秒数') },
      force: { title: text('Without grace period', '立即失效') },
    },
  },
}
