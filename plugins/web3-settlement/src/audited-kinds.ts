import { type AuditTexts, bilingual as text } from '@plinth/kernel'

/** Names of the audited actions, for people. */
export const audited: Readonly<Record<string, AuditTexts>> = {
  'web3-settlement-review': {
    title: text('Settlement review', '结算复核'),
    page: 'web3-settlement.review',
    nameFrom: 'outTradeNo',
    actions: {
      save: text('Save', '保存'),
      settle: text('Settle', '结算'),
      retry: text('Settle again', '重新结算'),
    },
    facts: { outTradeNo: { title: text('Order number', '订单号') }, state: { title: text('State', '状态') } },
  },
  'web3-settlement-audit': {
    title: text('Settlement audit', '结算审计'),
    actions: { 'status-batch': text('Close', '关闭') },
    facts: {
      status: { title: text('State', '状态') },
      ids: { title: text('Audit logs', '审计记录'), page: 'web3-settlement.audit' },
      closed: { title: text('Closed', '已关闭') },
    },
  },
}
