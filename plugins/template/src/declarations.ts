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
  'test-values-refused': '400',
  'test-values-unknown': '400',
  'version-unknown': '404',
  'no-draft': '404',
  'draft-outdated': '409',
  'no-files': '400',
  'too-many-attachments': '400',
  'attachment-taken': '409',
  'attachment-unknown': '404',
})

export const permissionCodes = {
  view: 'template:template:view',
  create: 'template:template:create',
  update: 'template:template:update',
  delete: 'template:template:delete',
  draft: 'template:template:draft',
  publish: 'template:template:publish',
} as const

/** Names of the audited actions, for people. */
export const audited: Readonly<Record<string, AuditTexts>> = {
  template: {
    title: text('Template', '模板'),
    page: 'template.template',
    nameFrom: 'code',
    actions: {
      publish: text('Publish', '发布'),
      'take-back': text('Publish an earlier version again', '恢复早期版本'),
      'save-draft': text('Save draft', '保存草稿'),
      'discard-draft': text('Discard draft', '丢弃草稿'),
    },
    facts: {
      code: { title: text('Code', '代码') },
      channel: { title: text('Channel', '渠道') },
      locale: { title: text('Language', '语言') },
    },
  },
}
