import type { PermissionDeclaration } from '@plinth/kernel'

/** Permission codes of the mall. */
export const permissionCodes = {
  orderView: 'mall:order:view',
  orderShip: 'mall:order:ship',
  refundView: 'mall:refund:view',
  refundDecide: 'mall:refund:decide',
} as const

export const permissions: readonly PermissionDeclaration[] = [
  { code: permissionCodes.orderView, displayName: { en: 'View orders of the mall', 'zh-CN': '查看商城订单' } },
  { code: permissionCodes.orderShip, displayName: { en: 'Ship orders of the mall', 'zh-CN': '商城订单发货' } },
  { code: permissionCodes.refundView, displayName: { en: 'View refunds of the mall', 'zh-CN': '查看商城退款' } },
  { code: permissionCodes.refundDecide, displayName: { en: 'Decide refunds of the mall', 'zh-CN': '审核商城退款' } },
]
