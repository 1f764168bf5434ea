import { type AuditTexts, bilingual as text } from '@plinth/kernel'

/** Names of the audited actions, for people. */
export const audited: Readonly<Record<string, AuditTexts>> = {
  'notification-rule': {
    title: text('Notification rule', '通知规则'),
    page: 'notification.rule',
    nameFrom: 'code',
    facts: { code: { title: text('Code', '代码') } },
  },
}
