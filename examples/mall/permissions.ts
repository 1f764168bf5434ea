import type { PermissionDeclaration } from '@plinth/kernel'

/** Permission codes of the mall. */
export const own = {
  orderView: 'mall:order:view',
  orderShip: 'mall:order:ship',
  refundView: 'mall:refund:view',
  refundDecide: 'mall:refund:decide',
} as const

export const permissions: readonly PermissionDeclaration[] = [
  { code: own.orderView, displayName: { en: 'View orders of the mall', 'zh-CN': '查看商城订单' } },
  { code: own.orderShip, displayName: { en: 'Ship orders of the mall', 'zh-CN': '商城订单发货' } },
  { code: own.refundView, displayName: { en: 'View refunds of the mall', 'zh-CN': '查看商城退款' } },
  { code: own.refundDecide, displayName: { en: 'Decide refunds of the mall', 'zh-CN': '审核商城退款' } },
]
