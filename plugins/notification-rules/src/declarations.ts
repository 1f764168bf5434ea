import { type AuditTexts, defineBusinessErrors, type PermissionDeclaration, bilingual as text } from '@plinth/kernel'
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

export const permissions: readonly PermissionDeclaration[] = [
  { code: permissionCodes.ruleView, displayName: { en: 'View notification rules', 'zh-CN': '查看通知规则' } },
  { code: permissionCodes.ruleCreate, displayName: { en: 'Create notification rules', 'zh-CN': '创建通知规则' } },
  { code: permissionCodes.ruleUpdate, displayName: { en: 'Change notification rules', 'zh-CN': '修改通知规则' } },
  { code: permissionCodes.ruleDelete, displayName: { en: 'Delete notification rules', 'zh-CN': '删除通知规则' } },
]

/** Names of the audited actions, for people. */
export const audited: Readonly<Record<string, AuditTexts>> = {
  'notification-rule': {
    title: text('Notification rule', '通知规则'),
    page: 'notification.rule',
    nameFrom: 'code',
    facts: { code: { title: text('Code', '代码') } },
  },
}
