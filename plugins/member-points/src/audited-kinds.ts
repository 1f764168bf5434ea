import { type AuditTexts, bilingual as text } from '@plinth/kernel'

/** Names of the audited actions, for people. */
export const audited: Readonly<Record<string, AuditTexts>> = {
  'points-account': {
    title: text('Points', '积分'),
    page: 'iam.user',
    labels: 'iam.user',
    actions: { adjust: text('Adjust', '调整') },
    facts: {
      points: { title: text('Change', '变动'), unitFrom: 'asset' },
      asset: { title: text('Asset', '资产'), hidden: true },
      journalId: { title: text('Journal', '记账凭证'), labels: 'money.journal', page: 'money.journal' },
    },
  },
  'points-rule': {
    title: text('Points rule', '积分规则'),
    labels: 'member-points.rule',
    actions: { save: text('Save', '保存') },
    facts: {
      version: { title: text('Version', '版本') },
      enabled: { title: text('Enabled', '启用') },
    },
  },
  'points-expiry': {
    title: text('Expiry of points', '积分过期'),
    actions: { run: text('Expire points now', '立即处理过期积分') },
  },
}
