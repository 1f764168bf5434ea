import type { PermissionDeclaration } from '@plinth/kernel'

export const permissionCodes = {
  accountView: 'money:account:view',
  ledgerView: 'money:ledger:view',
  reconcileRun: 'money:reconcile:run',
} as const

export const permissions: readonly PermissionDeclaration[] = [
  {
    code: permissionCodes.accountView,
    displayName: { en: 'View ledger accounts', 'zh-CN': '查看账本账户' },
    description: { en: 'Balances, holds and lots of all owners.', 'zh-CN': '所有所有者的余额、冻结和批次。' },
  },
  {
    code: permissionCodes.ledgerView,
    displayName: { en: 'View the ledger', 'zh-CN': '查看账本流水' },
    description: { en: 'Journals, entries and reconciliations.', 'zh-CN': '流水、分录和对账结果。' },
  },
  { code: permissionCodes.reconcileRun, displayName: { en: 'Reconcile the ledger', 'zh-CN': '执行账本对账' } },
]
