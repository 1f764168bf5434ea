import type { PermissionDeclaration } from '@plinth/kernel'

export const permissionCodes = {
  reviewView: 'money:web3:payment-settlement-review-log:view',
  reviewCreate: 'money:web3:payment-settlement-review-log:create',
  auditView: 'money:web3:payment-settlement-audit-log:view',
  execute: 'money:web3:payment-settlement:execute',
} as const

export const permissions: readonly PermissionDeclaration[] = [
  {
    code: permissionCodes.reviewView,
    displayName: { en: 'View settlement reviews', 'zh-CN': '查看结算复核记录' },
    description: { en: 'Includes read-only confirmations.', 'zh-CN': '包括只读确认。' },
  },
  {
    code: permissionCodes.reviewCreate,
    displayName: { en: 'Save settlement reviews', 'zh-CN': '保存结算复核记录' },
    description: { en: 'Includes starting the handling of overdue reviews.', 'zh-CN': '包括触发超时处理。' },
  },
  { code: permissionCodes.auditView, displayName: { en: 'View settlement audits', 'zh-CN': '查看结算审计记录' } },
  {
    code: permissionCodes.execute,
    displayName: { en: 'Execute settlements', 'zh-CN': '执行结算' },
    description: {
      en: 'Settles reviewed payments, and closes audit logs.',
      'zh-CN': '结算已复核的付款，并关闭审计记录。',
    },
  },
]

/** Returns the permissions of this plugin that the user has. Each decision stores them. */
export const permissionSnapshotOf = (principal: { can(permission: string): boolean }): readonly string[] =>
  Object.values(permissionCodes).filter((code) => principal.can(code))
