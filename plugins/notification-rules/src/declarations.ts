import { type AuditTexts, defineBusinessErrors, bilingual as text } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

export const businessError = defineBusinessErrors('notification-rules', en['notification-rules'], {
  'channel-unknown': '400',
  'code-taken': '409',
  'event-invalid': '400',
  'ids-invalid': '400',
  'recipients-needed': '403',
  'too-many': '409',
  unknown: '404',
  'version-conflict': '409',
})

/** Permissions for operators (document 2 of the specification, "Authentication"). */
export const permissionCodes = {
  ruleView: 'notification:rule:view',
  ruleCreate: 'notification:rule:create',
  ruleUpdate: 'notification:rule:update',
  ruleDelete: 'notification:rule:delete',
} as const

/** Names of the audited actions, for people. */
export const audited: Readonly<Record<string, AuditTexts>> = {
  'notification-rule': {
    title: text('Notification rule', '通知规则'),
    page: 'notification.rule',
    nameFrom: 'code',
    facts: { code: { title: text('Code', '代码') } },
  },
}
