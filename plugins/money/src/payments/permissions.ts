import type { PermissionDeclaration } from '@plinth/kernel'

export const permissionCodes = {
  paymentView: 'money:payment:view',
  paymentRefund: 'money:payment:refund',
  paymentClose: 'money:payment:close',
} as const

export const permissions: readonly PermissionDeclaration[] = [
  {
    code: permissionCodes.paymentView,
    displayName: { en: 'View payment orders', 'zh-CN': '查看支付单' },
    description: { en: 'Includes their payments and refunds.', 'zh-CN': '包括支付与退款流水。' },
  },
  {
    code: permissionCodes.paymentRefund,
    displayName: { en: 'Record refunds of payment orders', 'zh-CN': '登记支付单退款' },
    description: {
      en: 'Records a refund that was already made at the provider or on the chain. No money is moved.',
      'zh-CN': '登记已在渠道或链上完成的退款，不会转移资金。',
    },
  },
  {
    code: permissionCodes.paymentClose,
    displayName: { en: 'Close payment orders', 'zh-CN': '关闭支付单' },
    description: { en: 'Only orders that are not paid.', 'zh-CN': '仅限未支付的订单。' },
  },
]
