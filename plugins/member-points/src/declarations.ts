import {
  type AuditEntry,
  type AuditedRequest,
  type AuditTexts,
  auditFieldsOfCaller,
  defineBusinessErrors,
  type Kernel,
  type PermissionDeclaration,
  bilingual as text,
  writeAuditEntry,
} from '@plinth/kernel'
import { permission } from '@plinth/resource'
import { localizedOf } from '@plinth/table'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

const chineseKinds: Readonly<Record<string, string>> = zhCN['member-points'].kinds

export const messages = { en, 'zh-CN': zhCN }

const { received, used, held, ...ownKinds } = en['member-points'].kinds

export const kindNames = Object.fromEntries(
  Object.entries(ownKinds).map(([kind, name]) => [`points.${kind}`, { en: name, 'zh-CN': chineseKinds[kind] ?? name }]),
)

/** Codes of this plugin. They are additions to document 1 of the specification, "Errors" 6. */
export const businessError = defineBusinessErrors('member-points', en['member-points'], {
  'rule-unknown': '404',
  'rule-invalid': '400',
  'rule-conflict': '409',
  'rule-disabled': '409',
  'asset-unconfirmed': '400',
  'key-invalid': '400',
  'amount-invalid': '400',
  'position-invalid': '400',
  'user-unknown': '404',
  'user-needed': '403',
  'own-account': '403',
  'account-closed': '409',
  'points-lapsed': '409',
  'order-mismatch': '409',
  'refund-mismatch': '409',
  'refund-exceeds-paid': '409',
  'expiry-running': '409',
})

export const permissionCodes = {
  accountView: 'member-points:account:view',
  ledgerView: 'member-points:ledger:view',
  ruleView: 'member-points:rule:view',
  ruleSave: 'member-points:rule:save',
  adjust: 'member-points:adjust',
  expireRun: 'member-points:expire:run',
} as const

export const viewLedger = permission(permissionCodes.ledgerView, 'View points ledger', '查看积分流水')

export const permissions: readonly PermissionDeclaration[] = [
  { code: permissionCodes.accountView, displayName: { en: 'View points accounts', 'zh-CN': '查看积分账户' } },
  { code: viewLedger.code, displayName: localizedOf(viewLedger.title) },
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

/** Names of the audited actions, for people. */
export const audited: Readonly<Record<string, AuditTexts>> = {
  'points-account': {
    title: text('Points', '积分'),
    page: 'iam.user',
    labels: 'iam.user',
    actions: { adjust: text('Adjust', '调整') },
    facts: {
      points: { title: text('Change', '变动'), unitFrom: 'asset' },
      asset: { title: text('Asset', '资产'), hidden: true },
      journalId: { title: text('Journal', '记账凭证'), labels: 'money.journal', page: 'money.journal' },
    },
  },
  'points-rule': {
    title: text('Points rule', '积分规则'),
    labels: 'member-points.rule',
    actions: { save: text('Save', '保存') },
    facts: {
      version: { title: text('Version', '版本') },
      enabled: { title: text('Enabled', '启用') },
    },
  },
  'points-expiry': {
    title: text('Expiry of points', '积分过期'),
    actions: { run: text('Expire points now', '立即处理过期积分') },
  },
}

/** Writes an audit entry in the current transaction. */
export type AccessAudit = (
  what: Pick<AuditEntry, 'subject' | 'summary'> & { readonly reason?: string },
) => Promise<void>

export const createAccessAudit =
  (kernel: Pick<Kernel, 'contributions'>, request: AuditedRequest, action: string): AccessAudit =>
  (what) =>
    writeAuditEntry(kernel, { ...auditFieldsOfCaller(request), ...what, action })
