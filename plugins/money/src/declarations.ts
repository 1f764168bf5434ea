import { type AuditTexts, defineBusinessErrors, type PermissionDeclaration, bilingual as text } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

export const businessError = defineBusinessErrors('money', en.money, {
  'posting-invalid': '400',
  'asset-unknown': '400',
  'account-unknown': '404',
  'account-closed': '409',
  'balance-insufficient': '409',
  'balance-limit': '409',
  'journal-unknown': '404',
  'journal-not-reversible': '409',
  'exceeds-journal': '409',
  'hold-unknown': '404',
  'hold-closed': '409',
  'exceeds-hold': '409',
  'idempotency-mismatch': '409',
  'owner-incomplete': '400',
  'reconciliation-unknown': '404',
  busy: '503',
})

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

/** Names of the audited actions, for people. */
export const audited: Readonly<Record<string, AuditTexts>> = {
  'payment-order': {
    title: text('Payment order', '支付订单'),
    page: 'money.payment-order',
    actions: {
      refund: text('Refund', '退款'),
      close: text('Close', '关闭'),
    },
    facts: {
      amount: { title: text('Amount', '金额'), unitFrom: 'asset' },
      asset: { title: text('Asset', '资产'), hidden: true },
      refundNo: { title: text('Refund number', '退款单号') },
      receiver: { title: text('Receiver', '收款地址') },
      owed: { title: text('Owed', '欠款'), unitFrom: 'asset' },
      recovery: {
        title: text('Recovery', '追回方式'),
        values: {
          none: text('No recovery', '不追回'),
          'future-credits': text('From later credits', '从以后的入账中扣回'),
        },
      },
      reason: { title: text('Reason', '原因') },
    },
  },
}
