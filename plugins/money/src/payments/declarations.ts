import { defineBusinessErrors, type PermissionDeclaration } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

export const businessError = defineBusinessErrors('payment', en.payment, {
  'terms-invalid': '400',
  'terms-differ': '409',
  'scene-unknown': '400',
  'order-unknown': '404',
  'order-not-pending': '409',
  'order-not-paid': '409',
  'payer-differs': '409',
  'refund-exceeds-paid': '409',
  'refund-differs': '409',
  'refund-hash-needed': '400',
  'refund-receiver-needed': '400',
  'refund-is-payment': '409',
  'refund-already-used': '409',
  'refund-transfer-missing': '409',
  'refund-unconfirmed': '409',
  'refund-not-verifiable': '503',
  'refund-elsewhere': '409',
  'recharge-without-user': '400',
  'unmatched-already-used': '409',
  'unmatched-without-account': '409',
})

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
