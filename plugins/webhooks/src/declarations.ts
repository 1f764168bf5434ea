import { type AuditTexts, defineBusinessErrors, type PermissionDeclaration, bilingual as text } from '@plinth/kernel'
import { permission } from '@plinth/resource'
import { localizedOf } from '@plinth/table'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

export const businessError = defineBusinessErrors('webhooks', en.webhooks, {
  'endpoint-unknown': '404',
  'delivery-unknown': '404',
  'version-conflict': '409',
  'url-rejected': '400',
  'event-type-unknown': '400',
  'too-many-endpoints': '409',
  'grace-running': '409',
  'endpoint-disabled': '409',
  'delivery-pending': '409',
  'range-invalid': '400',
  'secret-key-unusable': '503',
})

export const viewEndpoints = permission('webhooks:endpoint:view', 'View webhook endpoints', '查看 Webhook 端点')
export const manageEndpoints = permission('webhooks:endpoint:manage', 'Manage webhook endpoints', '管理 Webhook 端点')
export const viewDeliveries = permission('webhooks:delivery:view', 'View webhook deliveries', '查看 Webhook 投递')
export const redeliver = permission('webhooks:delivery:redeliver', 'Send webhooks again', '重新投递 Webhook')

/** Permissions that no resource declares. */
export const permissions: readonly PermissionDeclaration[] = [
  viewEndpoints,
  manageEndpoints,
  viewDeliveries,
  redeliver,
].map(({ code, title }) => ({ code, displayName: localizedOf(title) }))

/** Texts of the audit for actions whose routes are written by hand. */
export const auditedByHand: Pick<AuditTexts, 'facts' | 'actions'> = {
  facts: {
    graceSeconds: { title: text('Old secret signs for, in seconds', '旧密钥继续签名的秒数') },
    force: { title: text('Force', '强制轮换') },
    from: { title: text('From', '开始时间') },
    to: { title: text('To', '结束时间') },
    redelivered: { title: text('Redelivered', '重新投递数') },
  },
  actions: {
    'rotate-secret': text('New secret', '轮换密钥'),
    redeliver: text('Send again', '重新投递'),
  },
}
