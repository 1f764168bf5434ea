import type { PermissionDeclaration } from '@plinth/kernel'

/** Codes of the permissions of this plugin. */
export const own = { paymentView: 'money:payment:view' } as const

export const permissions: readonly PermissionDeclaration[] = [
  {
    code: own.paymentView,
    displayName: { en: 'View payment orders', 'zh-CN': '查看支付单' },
    description: { en: 'Also what was paid and paid back on them.', 'zh-CN': '包括支付与退款流水。' },
  },
]
