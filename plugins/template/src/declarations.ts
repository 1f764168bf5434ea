import { type AuditTexts, defineBusinessErrors, bilingual as text } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

export const businessError = defineBusinessErrors('template', en.template, {
  unknown: '404',
  taken: '409',
  'version-conflict': '409',
  'locale-invalid': '400',
  'html-format': '400',
  'source-refused': '400',
  'compile-timeout': '400',
  'compiler-busy': '503',
  'value-refused': '400',
  'output-too-large': '400',
})

export const permissionCodes = {
  view: 'template:template:view',
  create: 'template:template:create',
  update: 'template:template:update',
  delete: 'template:template:delete',
} as const

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
