import type { PermissionDeclaration } from '@plinth/kernel'

export const permissionCodes = {
  accountView: 'member-points:account:view',
  ledgerView: 'member-points:ledger:view',
  ruleView: 'member-points:rule:view',
  ruleSave: 'member-points:rule:save',
  adjust: 'member-points:adjust',
  expireRun: 'member-points:expire:run',
} as const

export const permissions: readonly PermissionDeclaration[] = [
  { code: permissionCodes.accountView, displayName: { en: 'View points accounts', 'zh-CN': '查看积分账户' } },
  { code: permissionCodes.ledgerView, displayName: { en: 'View points ledger', 'zh-CN': '查看积分流水' } },
  { code: permissionCodes.ruleView, displayName: { en: 'View points rules', 'zh-CN': '查看积分规则' } },
  {
    code: permissionCodes.ruleSave,
    displayName: { en: 'Change points rules', 'zh-CN': '修改积分规则' },
    description: { en: 'Amounts, ratios and expiry of all rewards.', 'zh-CN': '所有奖励的数量、比例和有效期。' },
  },
  {
    code: permissionCodes.adjust,
    displayName: { en: 'Grant and deduct points', 'zh-CN': '发放和扣减积分' },
    description: { en: 'Manual adjustment with a reason.', 'zh-CN': '手动调整，须填写原因。' },
  },
  { code: permissionCodes.expireRun, displayName: { en: 'Expire points now', 'zh-CN': '立即执行积分过期' } },
]
