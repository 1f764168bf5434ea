import { type AuditTexts, bilingual, defineBusinessErrors, type PermissionDeclaration } from '@plinth/kernel'
import { permission } from '@plinth/resource'
import { localizedOf } from '@plinth/table'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

/** Errors of the mall. An order of another user is reported as unknown. */
export const businessError = defineBusinessErrors('mall', en.mall, {
  'goods-unknown': '404',
  'goods-repeated': '400',
  'stock-short': '409',
  'credit-off': '409',
  'credit-exceeds-price': '409',
  'coupon-unusable': '409',
  'coupon-used': '409',
  'order-unknown': '404',
  'order-not-unpaid': '409',
  'order-not-paid': '409',
  'test-payments-off': '403',
  'refund-unknown': '404',
  'refund-of-nothing': '400',
  'refund-exceeds-paid': '409',
  'refund-asked': '409',
  'refund-decided': '409',
  'own-refund': '403',
  'line-unknown': '404',
})

/** Permission codes of the mall. */
export const permissionCodes = {
  orderShip: 'mall:order:ship',
  refundDecide: 'mall:refund:decide',
} as const

export const viewOrders = permission('mall:order:view', 'View orders of the mall', '查看商城订单')
export const viewRefunds = permission('mall:refund:view', 'View refunds of the mall', '查看商城退款')

export const permissions: readonly PermissionDeclaration[] = [
  { code: viewOrders.code, displayName: localizedOf(viewOrders.title) },
  { code: permissionCodes.orderShip, displayName: { en: 'Ship orders of the mall', 'zh-CN': '商城订单发货' } },
  { code: viewRefunds.code, displayName: localizedOf(viewRefunds.title) },
  { code: permissionCodes.refundDecide, displayName: { en: 'Decide refunds of the mall', 'zh-CN': '审核商城退款' } },
]

/** Names of the audited actions. Those of an order are in the timeline of its payment. */
export const audited: Readonly<Record<string, AuditTexts>> = {
  'mall-order': {
    title: bilingual('Order', '订单'),
    page: 'money.payment-order',
    labels: 'money.payment-order',
    actions: { ship: bilingual('Mark as shipped', '标记为已发货') },
  },
  'mall-refund': {
    title: bilingual('Refund', '退款'),
    actions: { decide: bilingual('Decide', '审核') },
    facts: {
      approve: { title: bilingual('Approved', '同意') },
      amount: { title: bilingual('Amount', '金额') },
    },
  },
}
