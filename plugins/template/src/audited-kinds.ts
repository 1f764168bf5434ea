import { type AuditTexts, bilingual as text } from '@plinth/kernel'

/** Names of the audited actions, for people. */
export const audited: Readonly<Record<string, AuditTexts>> = {
  template: {
    title: text('Template', '模板'),
    page: 'template.template',
    nameFrom: 'code',
    facts: {
      code: { title: text('Code', '代码') },
      channel: { title: text('Channel', '渠道') },
      locale: { title: text('Language', '语言') },
    },
  },
}
