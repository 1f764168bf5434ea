import { type AuditTexts, defineBusinessErrors, type PermissionDeclaration, bilingual as text } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

export const businessError = defineBusinessErrors('web3-settlement', en['web3-settlement'], {
  'review-log-unknown': '404',
  'audit-log-unknown': '404',
  'order-unknown': '404',
  'orders-needed': '400',
  'fingerprint-differs': '409',
  'second-person-required': '403',
  'other-orders-out-of-scope': '403',
  'payer-invalid': '400',
  'payer-not-proven': '403',
  'chain-not-available': '503',
  'own-account': '403',
  'unmatched-payment-unknown': '404',
  'unmatched-payment-missing': '409',
  'unmatched-payment-changed': '409',
  'unmatched-payment-closed': '409',
  'unmatched-payment-settles-order': '409',
  'unmatched-payment-not-creditable': '409',
})

export const permissionCodes = {
  reviewView: 'money:web3:payment-settlement-review-log:view',
  reviewCreate: 'money:web3:payment-settlement-review-log:create',
  auditView: 'money:web3:payment-settlement-audit-log:view',
  execute: 'money:web3:payment-settlement:execute',
  unmatchedView: 'money:web3:unmatched-payment:view',
  unmatchedHandle: 'money:web3:unmatched-payment:handle',
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
  { code: permissionCodes.unmatchedView, displayName: { en: 'View unmatched payments', 'zh-CN': '查看未匹配付款' } },
  {
    code: permissionCodes.unmatchedHandle,
    displayName: { en: 'Handle unmatched payments', 'zh-CN': '处理未匹配付款' },
    description: {
      en: 'Credits payments that settle no order to the buyer, and records their repayment.',
      'zh-CN': '将未结算任何订单的付款记入买家账户，或登记其退回。',
    },
  },
]

/** Returns the permissions of this plugin that the user has. Each decision stores them. */
export const permissionSnapshotOf = (principal: { can(permission: string): boolean }): readonly string[] =>
  Object.values(permissionCodes).filter((code) => principal.can(code))

/** Names of the audited actions, for people. */
export const audited: Readonly<Record<string, AuditTexts>> = {
  'web3-settlement-review': {
    title: text('Settlement review', '结算复核'),
    page: 'web3-settlement.review',
    nameFrom: 'outTradeNo',
    actions: {
      save: text('Save', '保存'),
      settle: text('Settle', '结算'),
      retry: text('Settle again', '重新结算'),
    },
    facts: { outTradeNo: { title: text('Order number', '订单号') }, state: { title: text('State', '状态') } },
  },
  'web3-unmatched-payment': {
    title: text('Unmatched payment', '未匹配付款'),
    page: 'web3-settlement.unmatched-payment',
    nameFrom: 'outTradeNo',
    actions: {
      search: text('Search', '查找'),
      credit: text('Credit', '入账'),
      repay: text('Record the repayment', '登记退回'),
    },
    facts: {
      outTradeNo: { title: text('Order number', '订单号') },
      eventKey: { title: text('Event key', '事件键') },
      value: { title: text('Amount on chain', '链上金额') },
      amount: { title: text('Amount', '金额') },
      repaymentHash: { title: text('Hash of the repayment', '退回交易哈希') },
      found: { title: text('Found', '找到') },
    },
  },
  'web3-settlement-audit': {
    title: text('Settlement audit', '结算审计'),
    actions: { 'status-batch': text('Close', '关闭') },
    facts: {
      status: { title: text('State', '状态') },
      ids: { title: text('Audit logs', '审计记录'), page: 'web3-settlement.audit' },
      closed: { title: text('Closed', '已关闭') },
    },
  },
}
