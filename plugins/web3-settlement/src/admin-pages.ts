import {
  adminAttention,
  adminBulkAction,
  adminDetail,
  adminForm,
  adminList,
  adminPreview,
  adminTile,
  adminTimeline,
  bulkOutcome,
  type Operations,
  type Row,
} from '@plinth/admin'
import { type LocalizedText, bilingual as text } from '@plinth/kernel'
import { paymentStatusNames, paymentStatusTones } from '@plinth/money/payments'
import {
  attemptReasonNames,
  blockingReasonNames,
  handlingStatusNames,
  reviewCauseNames,
  riskLevelNames,
  riskReasonNames,
  suggestedActionNames,
  unmatchedKindNames,
  unmatchedSourceNames,
  unmatchedStateNames,
} from './display-names.ts'

const user = { labels: 'iam.user', page: 'iam.user' }
const order = { labels: 'money.payment-order', page: 'money.payment-order' }
const review = { labels: 'web3-settlement.review', page: 'web3-settlement.review' }

const stateTitle = text('State on the chain', '链上状态')
const states = {
  pending: text('Not found on the chain', '链上未发现'),
  confirming: text('Confirming', '确认中'),
  review_required: text('Review required', '需要复核'),
  ready: text('Ready to settle', '可结算'),
  settling: text('Settling', '结算中'),
  settled: text('Settled', '已结算'),
  blocked: text('Blocked', '已阻止'),
  failed: text('Failed', '失败'),
}
const statuses = {
  open: text('Open', '待处理'),
  approved: text('Approved', '已通过'),
  settled: text('Settled', '已结算'),
  rejected: text('Rejected', '已拒绝'),
  noted: text('Noted', '仅记录'),
}
const reviewActions = {
  settle: text('Settlement requested', '申请结算'),
  record: text('Record only', '仅作记录'),
  'auto-approve': text('Approved automatically', '超时自动通过'),
  'auto-reject': text('Rejected automatically', '超时自动拒绝'),
  'auto-retry': text('Retried automatically', '自动重试'),
}
const results = {
  settled: text('Settled', '已结算'),
  skipped: text('Skipped', '已跳过'),
  failed: text('Failed', '失败'),
}

const triggers = {
  settle: text('Operator', '操作人员'),
  retry: text('Operator retry', '操作人员重试'),
  'auto-approve': text('Timeout', '超时自动通过'),
  'auto-reject': text('Timeout', '超时自动拒绝'),
  'auto-retry': text('Automatic retry', '自动重试'),
}
const triggerTones = {
  settle: 'info',
  retry: 'info',
  'auto-approve': 'quiet',
  'auto-reject': 'quiet',
  'auto-retry': 'quiet',
} as const

const stateTones = {
  pending: 'quiet',
  confirming: 'info',
  review_required: 'warn',
  ready: 'good',
  settling: 'info',
  settled: 'good',
  blocked: 'bad',
  failed: 'bad',
} as const
const statusTones = { open: 'warn', approved: 'info', settled: 'good', rejected: 'bad', noted: 'quiet' } as const
const actionTones = {
  settle: 'info',
  record: 'quiet',
  'auto-approve': 'info',
  'auto-reject': 'warn',
  'auto-retry': 'info',
} as const
const riskTones = { none: 'quiet', low: 'info', medium: 'warn', high: 'bad' } as const
const handlingTones = { open: 'warn', resolved: 'good', ignored: 'quiet' } as const
const adviceTones = {
  'mark-resolved': 'good',
  'wait-confirmations': 'info',
  'recheck-later': 'info',
  'manual-compensation': 'bad',
  'manual-review': 'warn',
} as const
const resultTones = { settled: 'good', skipped: 'quiet', failed: 'bad' } as const

const paidAmount = text('Paid amount', '实付金额')

type Plan = Operations['postAdminWeb3PaymentConfirmations']['data']

const planColumns = (it: Row<Plan>) => [
  it.status('state', stateTones, { labels: states, title: stateTitle }),
  it.chips('reasons', undefined, { labels: blockingReasonNames }),
  it.chips('causes', undefined, { labels: reviewCauseNames }),
  it.text('chainName'),
  it.text('transactionHash', { mono: true, opens: { base: 'explorer', path: 'tx' } }),
  it.text('transfer.from', { mono: true, opens: { base: 'explorer', path: 'address' } }),
  it.text('transfer.to', { mono: true, opens: { base: 'explorer', path: 'address' } }),
  it.text('transfer.tokenContract', { mono: true, opens: { base: 'explorer', path: 'address' } }),
  it.amount('expectedAmount', { decimals: 'decimals', symbol: 'symbol' }),
  it.amount('transfer.value', { title: paidAmount, decimals: 'transfer.decimals', symbol: 'transfer.symbol' }),
  it.text('payer', { mono: true, opens: { base: 'explorer', path: 'address' } }),
  it.chips('claimedBy'),
  it.count('claimedByTotal'),
  it.text('transfer.blockNumber', { mono: true, opens: { base: 'explorer', path: 'block' } }),
  it.time('blockTime'),
  it.count('confirmations'),
  it.count('requiredConfirmations'),
  it.text('providerId'),
  it.text('reviewFingerprint', { mono: true }),
]

const reviews = adminList('getAdminWeb3PaymentSettlementReviewLogs', (row) => ({
  id: 'web3-settlement.reviews',
  title: text('Settlement reviews', '结算复核'),
  empty: text('No settlement reviews yet.', '尚无结算复核。'),
  lead: text(
    'State of the chain and the order at the time of each review, and the next steps.',
    '每次复核时链上与订单的状态，以及后续步骤。',
  ),
  place: { group: 'orders', order: 210 },
  key: 'id',
  detail: 'web3-settlement.review',
  live: ['web3_settlement_review_log'],
  columns: [
    row.time('createdAt'),
    row.text('outTradeNo', { link: true, mono: true }),
    row.status('status', statusTones, { labels: statuses }),
    row.status('state', stateTones, { labels: states, title: stateTitle }),
    row.status('action', actionTones, { labels: reviewActions }),
    row.chips('reasons', undefined, { labels: blockingReasonNames }),
    row.status('lastAttempt.outcome', resultTones, { labels: results, title: text('Last attempt', '最近一次尝试') }),
    row.chips('lastAttempt.reasons', undefined, {
      labels: attemptReasonNames,
      title: text('Reasons why it is not settled', '未结算原因'),
    }),
    row.time('lastAttempt.attemptedAt', { hidden: true }),
    row.time('heldAt', { hidden: true }),
    row.text('chainName'),
    row.text('transactionHash', { mono: true, hidden: true, opens: { base: 'plan.explorer', path: 'tx' } }),
    row.flag('retryable'),
    row.reference('actorUserId', user, { title: text('Reviewed by', '复核人') }),
    row.text('remark', { hidden: true }),
    row.time('retryAt', { hidden: true }),
  ],
  find: ['outTradeNo'],
  filters: [{ name: 'status', labels: statuses }, { name: 'lastOutcome', labels: results }, 'outTradeNo', 'retryable'],
  create: adminForm('postAdminWeb3PaymentSettlementReviewLogs', {
    title: text('New review', '新建复核'),
    lead: text(
      'Queries the chain and the order and saves the result. The order is not settled yet.',
      '查询链上与订单并保存结果，此时不会结算订单。',
    ),
    fields: ['outTradeNo', 'transactionHash', 'logIndex', 'action', 'remark'],
    options: { outTradeNo: { labels: 'money.payment-order', title: text('Payment order', '支付订单') } },
    preview: adminPreview('postAdminWeb3PaymentConfirmations', {
      takes: ['outTradeNo', 'transactionHash', 'logIndex'],
      answer: planColumns,
    }),
    reason: 'required',
    outcome: { field: 'status', good: ['open', 'approved', 'settled', 'noted'] },
  }),
  forms: [
    adminForm('postAdminWeb3PaymentSettlementReviewLogsAutoHandleExpired', {
      title: text('Handle overdue reviews', '处理超时复核'),
      lead: text(
        'Approves or rejects overdue reviews and settles approved ones, according to the configuration. The scheduled task does the same.',
        '按配置通过或拒绝超时的复核，并结算已通过的复核。定时任务执行相同的操作。',
      ),
      submit: text('Handle', '处理'),
      fields: [],
      reason: 'required',
      tone: 'danger',
      answer: (it) => [
        it.reference('reviewLogId', review, { title: text('Review', '复核') }),
        it.text('action'),
        it.text('reason'),
        it.status('result.outcome', resultTones, { labels: results }),
      ],
      outcome: { field: 'result.outcome', good: ['settled'] },
    }),
  ],
  bulk: [
    adminBulkAction('postAdminWeb3PaymentSettlementReviewLogsRetryBatch', {
      label: text('Settle again', '再次结算'),
      ids: 'ids',
      confirm: text(
        'The orders of these reviews are settled one by one. An order is only settled if the chain and the order have not changed since the review.',
        '将逐个结算这些复核的订单。仅当链上与订单自复核后均未变化时才会结算。',
      ),
      reason: 'required',
      tone: 'danger',
      answer: (it) => [
        it.reference('id', review, { title: text('Review', '复核') }),
        it.status('outcome', resultTones, { labels: results }),
        it.text('reason'),
      ],
      outcome: { field: 'outcome', good: ['settled'], reason: 'reason', id: 'id' },
    }),
  ],
}))

const settleLabel = text('Settle', '结算')
const settleConfirm = text(
  'Order {{outTradeNo}} is settled if the chain and the order have not changed since the review. It is then marked as paid and fulfilled.',
  '若链上与订单自复核后均未变化，将结算订单 {{outTradeNo}}：订单记为已支付并完成后续处理。',
)

const reviewDetail = adminDetail('getAdminWeb3PaymentSettlementReviewLogsById', (it) => {
  const settle = {
    label: settleLabel,
    params: { id: 'id' },
    when: { status: ['open', 'approved'], state: ['pending', 'confirming', 'ready', 'failed'] },
    confirm: settleConfirm,
    preview: it.preview('postAdminWeb3PaymentConfirmations', {
      body: { outTradeNo: 'outTradeNo', transactionHash: 'transactionHash', logIndex: 'logIndex' },
      answer: planColumns,
    }),
    reason: 'required',
    tone: 'danger',
  } as const
  return {
    id: 'web3-settlement.review',
    title: text('Settlement review', '结算复核'),
    name: 'outTradeNo',
    param: 'id',
    live: ['web3_settlement_review_log'],
    sections: [
      {
        columns: [
          it.status('status', statusTones, { labels: statuses }),
          it.status('action', actionTones, { labels: reviewActions }),
          it.reference('outTradeNo', order),
          it.flag('retryable'),
          it.flag('candidate'),
          it.time('retryAt'),
          it.time('heldAt'),
          it.reference('actorUserId', user, { title: text('Reviewed by', '复核人') }),
          it.text('remark'),
          it.reference('sourceLogId', review, { title: text('Based on review', '源自复核') }),
          it.reference('permissions', { labels: 'iam.permission' }),
        ],
      },
      {
        title: text('Settlement attempts', '结算尝试'),
        columns: [
          it.status('lastAttempt.outcome', resultTones, {
            labels: results,
            title: text('Last attempt', '最近一次尝试'),
          }),
          it.chips('lastAttempt.reasons', undefined, {
            labels: attemptReasonNames,
            title: text('Reasons why it is not settled', '未结算原因'),
          }),
          it.time('lastAttempt.attemptedAt'),
        ],
      },
      {
        title: text('State of the chain and the order', '复核时的链上与订单状态'),
        columns: [
          it.status('plan.state', stateTones, { labels: states, title: stateTitle }),
          it.chips('plan.reasons', undefined, { labels: blockingReasonNames }),
          it.chips('plan.causes', undefined, { labels: reviewCauseNames }),
          it.text('plan.chainName'),
          it.text('plan.transactionHash', { mono: true, opens: { base: 'plan.explorer', path: 'tx' } }),
          it.text('plan.transfer.from', { mono: true, opens: { base: 'plan.explorer', path: 'address' } }),
          it.text('plan.transfer.to', { mono: true, opens: { base: 'plan.explorer', path: 'address' } }),
          it.text('plan.transfer.tokenContract', { mono: true, opens: { base: 'plan.explorer', path: 'address' } }),
          it.amount('plan.expectedAmount', { decimals: 'plan.decimals', symbol: 'plan.symbol' }),
          it.amount('plan.transfer.value', {
            title: paidAmount,
            decimals: 'plan.transfer.decimals',
            symbol: 'plan.transfer.symbol',
          }),
          it.text('plan.payer', { mono: true, opens: { base: 'plan.explorer', path: 'address' } }),
          it.chips('plan.claimedBy'),
          it.count('plan.claimedByTotal'),
          it.text('plan.transfer.blockNumber', { mono: true, opens: { base: 'plan.explorer', path: 'block' } }),
          it.time('plan.blockTime'),
          it.count('plan.confirmations'),
          it.count('plan.requiredConfirmations'),
          it.text('plan.providerId'),
          it.text('plan.eventKey', { mono: true }),
          it.text('reviewFingerprint', { mono: true }),
        ],
      },
    ],
    actions: [
      it.action('postAdminWeb3PaymentConfirmations', {
        label: text('Current state', '当前状态'),
        params: {},
        body: { outTradeNo: 'outTradeNo' },
        answer: planColumns,
        outcome: { field: 'state', good: ['pending', 'confirming', 'review_required', 'ready', 'settling', 'settled'] },
      }),
      it.action('postAdminWeb3PaymentSettlementReviewLogs', {
        label: text('Review again', '重新复核'),
        params: {},
        body: { outTradeNo: 'outTradeNo', action: { value: 'settle' } },
        when: { status: ['open', 'approved', 'rejected', 'noted'] },
        confirm: text(
          'Saves the current state of the chain and order {{outTradeNo}} as a new review. The order is not settled yet.',
          '将链上与订单 {{outTradeNo}} 的当前状态另存为新的复核，此时不会结算。',
        ),
        preview: it.preview('postAdminWeb3PaymentConfirmations', {
          body: { outTradeNo: 'outTradeNo' },
          answer: planColumns,
        }),
        reason: 'required',
        answer: (made) => [
          made.reference('id', review, { title: text('New review', '新复核') }),
          made.status('state', stateTones, { labels: states, title: stateTitle }),
          made.chips('reasons', undefined, { labels: blockingReasonNames }),
        ],
        outcome: { field: 'status', good: ['open', 'approved', 'settled', 'noted'] },
      }),
      it.action('postAdminWeb3PaymentSettlementReviewLogsByIdSettle', {
        ...settle,
        created: { page: 'web3-settlement.review', field: 'reviewLogId' },
        answer: (result) => [
          result.status('outcome', resultTones, { labels: results }),
          result.status('state', stateTones, { labels: states, title: stateTitle }),
          result.chips('reasons', undefined, { labels: attemptReasonNames }),
        ],
        outcome: { field: 'outcome', good: ['settled'] },
      }),
      it.action('postAdminWeb3PaymentSettlementReviewLogsByIdSettle', {
        ...settle,
        created: { page: 'web3-settlement.review', field: 'reviewLogId' },
        label: text('Settle anyway', '仍然结算'),
        query: { acceptCauses: { value: true } },
        when: { status: ['open', 'approved'], state: 'review_required' },
        confirm: text(
          'Confirm that you have verified whose payment this is. Order {{outTradeNo}} is settled although other orders or a different payer may be involved. It is then marked as paid and fulfilled.',
          '请确认您已核实该付款的归属。尽管可能涉及其他订单或其他付款人，仍将结算订单 {{outTradeNo}}：订单记为已支付并完成后续处理。',
        ),
        answer: (result) => [
          result.status('outcome', resultTones, { labels: results }),
          result.status('state', stateTones, { labels: states, title: stateTitle }),
          result.chips('reasons', undefined, { labels: attemptReasonNames }),
        ],
        outcome: { field: 'outcome', good: ['settled'] },
      }),
      it.action('postAdminWeb3PaymentSettlementReviewLogsByIdRetry', {
        ...settle,
        created: { page: 'web3-settlement.review', field: 'reviewLogId' },
        label: text('Settle again', '再次结算'),
        when: { status: ['open', 'approved'], state: 'blocked', retryable: true },
        answer: (result) => [
          result.status('outcome', resultTones, { labels: results }),
          result.status('state', stateTones, { labels: states, title: stateTitle }),
          result.chips('reasons', undefined, { labels: attemptReasonNames }),
        ],
        outcome: { field: 'outcome', good: ['settled'] },
      }),
    ],
    moments: [
      { at: 'createdAt', title: text('Review saved', '保存复核') },
      it.each('attempts', (attempt) => ({
        at: 'createdAt',
        title: text('Settlement attempt', '结算尝试'),
        columns: [
          attempt.status('outcome', resultTones, { labels: results }),
          attempt.chips('reasons', undefined, { labels: attemptReasonNames }),
          attempt.status('startedBy', triggerTones, { labels: triggers }),
          attempt.reference('actorUserId', user, { title: text('Operator', '操作员') }),
        ],
      })),
    ],
    related: [
      {
        page: 'approval.records',
        title: text('Approval steps', '审批步骤'),
        filter: { sourceType: { value: 'web3-settlement-review-log' }, sourceId: 'id' },
      },
      {
        page: 'web3-settlement.audits',
        title: text('Audits of this order', '此订单的审计'),
        filter: { outTradeNo: 'outTradeNo' },
      },
    ],
  }
})

const resolve = {
  label: suggestedActionNames['mark-resolved'],
  confirm: text('Records that this risk has been handled. No money is moved.', '记录此风险已处理。不会产生资金变动。'),
  reason: 'required',
} as const
const ignore = {
  label: text('Ignore', '忽略'),
  confirm: text(
    'Records that this risk requires no action. No money is moved.',
    '记录此风险无需处理。不会产生资金变动。',
  ),
  reason: 'required',
} as const

const closing = [
  adminBulkAction('putAdminWeb3PaymentSettlementAuditLogsStatusBatch', {
    ...resolve,
    ...bulkOutcome,
    ids: 'ids',
    body: { status: { value: 'resolved' } },
  }),
  adminBulkAction('putAdminWeb3PaymentSettlementAuditLogsStatusBatch', {
    ...ignore,
    ...bulkOutcome,
    ids: 'ids',
    body: { status: { value: 'ignored' } },
  }),
  adminBulkAction('postAdminWeb3PaymentSettlementAuditLogsRecheckBatch', {
    label: text('Query the chains again', '重新查询链'),
    ids: 'ids',
    answer: (it) => [
      it.text('entry.outTradeNo', { mono: true }),
      it.flag('stillRisky'),
      it.status('entry.riskLevel', riskTones, { labels: riskLevelNames }),
      it.chips('entry.riskReasons', undefined, { labels: riskReasonNames }),
      it.status('entry.suggestedAction', adviceTones, { labels: suggestedActionNames }),
    ],
    outcome: { field: 'stillRisky', good: [false], id: 'id' },
  }),
  adminBulkAction('postAdminWeb3PaymentSettlementAuditLogsCompensationPlanBatch', {
    label: text('Suggested action', '处理建议'),
    ids: 'ids',
    ask: ['recheck'],
    answer: (it) => [
      it.text('outTradeNo', { mono: true }),
      it.status('action', adviceTones, { labels: suggestedActionNames }),
      it.status('riskLevel', riskTones, { labels: riskLevelNames }),
      it.flag('retryable'),
      it.flag('needsManualReview'),
      it.flag('needsFundReview'),
    ],
  }),
]

type AuditRow = Operations['getAdminWeb3PaymentSettlementAuditLogs']['data']['items'][number]

const auditColumns = (row: Row<AuditRow>) => [
  row.time('createdAt'),
  row.text('outTradeNo', { link: true, mono: true }),
  row.status('riskLevel', riskTones, { labels: riskLevelNames }),
  row.chips('riskReasons', undefined, { labels: riskReasonNames }),
  row.status('suggestedAction', adviceTones, { labels: suggestedActionNames }),
  row.status('handlingStatus', handlingTones, { labels: handlingStatusNames }),
  row.text('chainName'),
  row.flag('needsFundReview'),
  row.flag('retryable', { hidden: true }),
  row.flag('needsManualReview', { hidden: true }),
  row.flag('chainReorgSuspected', { hidden: true }),
  row.text('handledBy', { hidden: true }),
  row.time('handledAt', { hidden: true }),
]

const audits = adminList('getAdminWeb3PaymentSettlementAuditLogs', (row) => ({
  id: 'web3-settlement.audits',
  title: text('Settlement audits', '结算审计'),
  empty: text('No settlements yet.', '尚无结算。'),
  lead: text(
    'Repeated comparisons of settled orders with their chain, and the differences found.',
    '将已结算订单与链上数据再次核对的记录，以及发现的差异。',
  ),
  place: { group: 'orders', order: 220 },
  formerly: ['web3-settlement.summary'],
  links: [{ page: 'web3-settlement.candidates', label: text('Compensation', '补偿') }],
  key: 'id',
  detail: 'web3-settlement.audit',
  live: ['web3_settlement_audit_log'],
  columns: auditColumns(row),
  find: ['outTradeNo'],
  filters: ['outTradeNo'],
  bulk: closing,
  create: adminForm('postAdminWeb3PaymentConfirmationsSettledAudits', {
    title: text('Compare now', '立即核对'),
    lead: text(
      'Compares settled orders with their chain. Nothing is changed or saved. Only the scheduled task saves its results.',
      '将已结算订单与链上核对，不做修改，也不保存结果；仅定时任务会保存结果。',
    ),
    submit: text('Compare', '核对'),
    fields: ['chainName', 'olderThanMinutes', 'requiredConfirmations', 'onlyRisky', 'limit'],
    options: { chainName: { labels: 'web3.chain', title: text('Chain', '链') } },
    answer: (it) => [
      it.text('outTradeNo', { mono: true }),
      it.status('riskLevel', riskTones, { labels: riskLevelNames }),
      it.chips('riskReasons', undefined, { labels: riskReasonNames }),
      it.status('suggestedAction', adviceTones, { labels: suggestedActionNames }),
    ],
    outcome: { field: 'risky', good: [false] },
  }),
}))

const candidates = adminList('getAdminWeb3PaymentSettlementAuditLogsCompensationCandidates', (row) => ({
  id: 'web3-settlement.candidates',
  title: text('Compensation', '补偿处理'),
  lead: text('Open audits with a risk, and the suggested actions.', '有风险且未处理的审计及处理建议。'),
  key: 'id',
  detail: 'web3-settlement.audit',
  columns: auditColumns(row),
  filters: [{ name: 'riskLevel', labels: riskLevelNames }, 'retryable', 'needsManualReview', 'needsFundReview'],
  bulk: closing,
  empty: text('No settled order is at risk.', '没有存在风险的已结算订单。'),
}))

const audit = adminDetail('getAdminWeb3PaymentSettlementAuditLogsById', (it) => ({
  id: 'web3-settlement.audit',
  title: text('Settlement audit', '结算审计'),
  name: 'outTradeNo',
  param: 'id',
  live: ['web3_settlement_audit_log'],
  sections: [
    {
      columns: [
        it.status('riskLevel', riskTones, { labels: riskLevelNames }),
        it.chips('riskReasons', undefined, { labels: riskReasonNames }),
        it.status('suggestedAction', adviceTones, { labels: suggestedActionNames }),
        it.status('handlingStatus', handlingTones, { labels: handlingStatusNames }),
        it.reference('outTradeNo', order),
        it.flag('retryable'),
        it.flag('needsManualReview'),
        it.flag('needsFundReview'),
        it.flag('chainReorgSuspected'),
        it.text('handledBy'),
        it.time('handledAt'),
        it.time('createdAt'),
      ],
    },
    {
      title: text('State of the chain and the order', '核对时的链上与订单状态'),
      columns: [
        it.status('confirmation.state', stateTones, { labels: states }),
        it.chips('confirmation.reasons', undefined, { labels: blockingReasonNames }),
        it.text('confirmation.chainName'),
        it.text('confirmation.transactionHash', { mono: true, opens: { base: 'confirmation.explorer', path: 'tx' } }),
        it.text('confirmation.transfer.from', {
          mono: true,
          opens: { base: 'confirmation.explorer', path: 'address' },
        }),
        it.text('confirmation.transfer.to', { mono: true, opens: { base: 'confirmation.explorer', path: 'address' } }),
        it.text('confirmation.transfer.tokenContract', {
          mono: true,
          opens: { base: 'confirmation.explorer', path: 'address' },
        }),
        it.amount('confirmation.expectedAmount', { decimals: 'confirmation.decimals', symbol: 'confirmation.symbol' }),
        it.amount('confirmation.transfer.value', {
          decimals: 'confirmation.transfer.decimals',
          symbol: 'confirmation.transfer.symbol',
          title: paidAmount,
        }),
        it.count('confirmation.confirmations'),
        it.count('confirmation.requiredConfirmations'),
        it.text('confirmation.providerId'),
      ],
    },
  ],
  actions: [
    it.action('postAdminWeb3PaymentSettlementAuditLogsByIdCompensationPlan', {
      label: text('Suggested action', '处理建议'),
      params: { id: 'id' },
      ask: ['recheck'],
      answer: (plan) => [
        plan.status('action', adviceTones, { labels: suggestedActionNames }),
        plan.status('riskLevel', riskTones, { labels: riskLevelNames }),
        plan.chips('riskReasons', undefined, { labels: riskReasonNames }),
        plan.flag('retryable'),
        plan.flag('needsManualReview'),
        plan.flag('needsFundReview'),
        plan.flag('rechecked'),
      ],
    }),
    it.action('postAdminWeb3PaymentSettlementAuditLogsByIdRecheck', {
      label: text('Query the chain again', '重新查询链'),
      params: { id: 'id' },
      answer: (found) => [
        found.flag('stillRisky'),
        found.status('entry.riskLevel', riskTones, { labels: riskLevelNames }),
        found.chips('entry.riskReasons', undefined, { labels: riskReasonNames }),
        found.status('entry.suggestedAction', adviceTones, { labels: suggestedActionNames }),
      ],
      outcome: { field: 'stillRisky', good: [false] },
    }),
    it.action('putAdminWeb3PaymentSettlementAuditLogsStatusBatch', {
      ...resolve,
      ...bulkOutcome,
      params: {},
      body: { ids: { list: ['id'] }, status: { value: 'resolved' } },
      when: { handlingStatus: 'open' },
    }),
    it.action('putAdminWeb3PaymentSettlementAuditLogsStatusBatch', {
      ...ignore,
      ...bulkOutcome,
      params: {},
      body: { ids: { list: ['id'] }, status: { value: 'ignored' } },
      when: { handlingStatus: 'open' },
    }),
  ],
  related: [
    {
      page: 'web3-settlement.reviews',
      title: text('Reviews of this order', '此订单的复核'),
      filter: { outTradeNo: 'outTradeNo' },
    },
  ],
}))

const unmatchedTones = { open: 'warn', credited: 'good', repaid: 'good', used: 'quiet' } as const
const kindTones = { late: 'warn', double: 'warn', short: 'bad', long: 'warn', unknown: 'bad' } as const
const sourceTones = { order: 'quiet', review: 'info', operator: 'info' } as const
const kindTitle = text('Why it settles no order', '未结算原因')

const unmatchedPayments = adminList('getAdminWeb3UnmatchedPayments', (row) => ({
  id: 'web3-settlement.unmatched-payments',
  title: text('Unmatched payments', '未匹配付款'),
  lead: text(
    'Transfers to the shop that settle no order: too late, too little, too much, twice, or in another token.',
    '已转入但未结算任何订单的转账：逾期、金额不足、金额过多、重复付款或其他代币。',
  ),
  place: { group: 'orders', order: 215 },
  key: 'id',
  detail: 'web3-settlement.unmatched-payment',
  live: ['web3_unmatched_payment'],
  columns: [
    row.time('createdAt'),
    row.text('outTradeNo', { link: true, mono: true }),
    row.status('state', unmatchedTones, { labels: unmatchedStateNames }),
    row.status('kind', kindTones, { labels: unmatchedKindNames, title: kindTitle }),
    row.amount('value', { decimals: 'decimals', symbol: 'symbol', title: paidAmount }),
    row.reference('userId', user, { title: text('Buyer', '买家') }),
    row.status('source', sourceTones, { labels: unmatchedSourceNames }),
    row.text('chainName'),
    row.text('transactionHash', { mono: true, hidden: true, opens: { base: 'explorer', path: 'tx' } }),
    row.text('payer', { mono: true, hidden: true, opens: { base: 'explorer', path: 'address' } }),
    row.reference('handledBy', user, { hidden: true }),
    row.time('handledAt', { hidden: true }),
  ],
  find: ['outTradeNo'],
  filters: [{ name: 'state', labels: unmatchedStateNames }, { name: 'kind', labels: unmatchedKindNames }, 'outTradeNo'],
  empty: text('No transfer is unmatched.', '没有未匹配的转账。'),
  create: adminForm('postAdminWeb3UnmatchedPayments', {
    title: text('Search a transaction', '查找交易'),
    lead: text(
      'Searches a confirmed transaction for transfers that settle no order, and records them for the order of the buyer.',
      '在已确认的交易中查找未结算任何订单的转账，并登记到买家的订单。',
    ),
    submit: text('Search', '查找'),
    fields: ['outTradeNo', 'transactionHash'],
    options: { outTradeNo: { labels: 'money.payment-order', title: text('Payment order', '支付订单') } },
    reason: 'required',
    answer: (it) => [
      it.status('state', unmatchedTones, { labels: unmatchedStateNames }),
      it.status('kind', kindTones, { labels: unmatchedKindNames, title: kindTitle }),
      it.amount('value', { decimals: 'decimals', symbol: 'symbol', title: paidAmount }),
    ],
  }),
}))

const onAudits = (id: string, field: SummaryField, title: LocalizedText, order: number) =>
  adminTile('getAdminWeb3PaymentSettlementAuditLogsSummary', {
    id: `web3-settlement.${id}`,
    page: 'web3-settlement.audits',
    title,
    order,
    field,
    more: 'bad',
  })
type SummaryField = 'open' | 'risky' | 'openReorgSuspected' | 'openByRiskLevel.high'
export const auditTiles = [
  onAudits('open', 'open', text('Open', '待处理'), 10),
  onAudits('high', 'openByRiskLevel.high', text('Open with a high risk', '待处理（高风险）'), 20),
  onAudits('risky', 'risky', text('With a risk', '有风险'), 30),
  onAudits('reorg', 'openReorgSuspected', text('Chain changed afterwards', '疑似链重组'), 40),
]

/** Reviews and transfers of an order, on the page of the order. */
export const timelines = [
  adminTimeline('getAdminWeb3PaymentSettlementReviewLogs', (row) => ({
    id: 'web3-settlement.reviews-of-order',
    page: 'money.payment-order',
    objectId: 'outTradeNo',
    at: 'createdAt',
    title: text('Settlement review', '结算复核'),
    columns: [
      row.status('status', statusTones, { labels: statuses }),
      row.reference('actorUserId', user, { title: text('Reviewed by', '复核人') }),
      row.text('remark'),
    ],
    opens: { page: 'web3-settlement.review', field: 'id' },
  })),
  adminTimeline('getAdminWeb3UnmatchedPayments', (row) => ({
    id: 'web3-settlement.transfers-of-order',
    page: 'money.payment-order',
    objectId: 'outTradeNo',
    at: 'createdAt',
    title: text('Transfer that settled no order', '未结算任何订单的转账'),
    columns: [row.status('state', unmatchedTones, { labels: unmatchedStateNames })],
    opens: { page: 'web3-settlement.unmatched-payment', field: 'id' },
  })),
]

const unmatchedPayment = adminDetail('getAdminWeb3UnmatchedPaymentsById', (it) => ({
  id: 'web3-settlement.unmatched-payment',
  title: text('Unmatched payment', '未匹配付款'),
  name: 'outTradeNo',
  param: 'id',
  live: ['web3_unmatched_payment', 'money_payment_order'],
  sections: [
    {
      columns: [
        it.status('state', unmatchedTones, { labels: unmatchedStateNames }),
        it.status('kind', kindTones, { labels: unmatchedKindNames, title: kindTitle }),
        it.reference('outTradeNo', order),
        it.status('orderStatus', paymentStatusTones, { labels: paymentStatusNames }),
        it.reference('userId', user, { title: text('Buyer', '买家') }),
        it.flag('sentByBuyer'),
        it.chips('otherOrders'),
        it.count('otherOrdersTotal'),
        it.amount('amount', { currency: 'asset' }),
        it.status('source', sourceTones, { labels: unmatchedSourceNames }),
        it.reference('actorUserId', user, { title: text('Named by', '登记人') }),
        it.time('createdAt'),
        it.reference('handledBy', user),
        it.time('handledAt'),
        it.text('reason'),
        it.text('repaymentHash', { mono: true, opens: { base: 'explorer', path: 'tx' } }),
      ],
    },
    {
      title: text('On the chain', '链上信息'),
      columns: [
        it.text('chainName'),
        it.text('transactionHash', { mono: true, opens: { base: 'explorer', path: 'tx' } }),
        it.text('payer', { mono: true, opens: { base: 'explorer', path: 'address' } }),
        it.text('receiver', { mono: true, opens: { base: 'explorer', path: 'address' } }),
        it.text('tokenContract', { mono: true, opens: { base: 'explorer', path: 'address' } }),
        it.amount('value', { decimals: 'decimals', symbol: 'symbol', title: paidAmount }),
        it.text('blockNumber', { mono: true, opens: { base: 'explorer', path: 'block' } }),
        it.text('eventKey', { mono: true }),
      ],
    },
  ],
  actions: [
    it.action('postAdminWeb3UnmatchedPaymentsByIdCredit', {
      label: text('Credit to the buyer', '记入买家账户'),
      params: { id: 'id' },
      body: { fingerprint: 'fingerprint' },
      ask: ['reason'],
      when: { state: 'open' },
      confirm: text(
        'Credits the payment to the account of the buyer. The order {{outTradeNo}} does not change.',
        '将此付款记入买家账户，订单 {{outTradeNo}} 不变。',
      ),
      preview: it.preview('postAdminWeb3UnmatchedPaymentsByIdCreditPreview', {
        params: { id: 'id' },
        possible: 'possible',
        answer: (shown) => [
          shown.reference('userId', user, { title: text('Buyer', '买家') }),
          shown.amount('amount', { currency: 'asset' }),
          shown.amount('availableAfter', { currency: 'asset' }),
          shown.flag('sentByBuyer'),
          shown.count('otherOrdersTotal'),
          shown.flag('possible'),
          shown.text('blockedBy', { mono: true }),
        ],
      }),
      tone: 'danger',
    }),
    it.action('postAdminWeb3UnmatchedPaymentsByIdRepayment', {
      label: text('Record the repayment', '登记退回'),
      params: { id: 'id' },
      body: { fingerprint: 'fingerprint' },
      ask: ['transactionHash', 'receiver', 'reason'],
      when: { state: 'open' },
      confirm: text(
        'Records that the whole payment was returned on the chain. No money is moved, and the order {{outTradeNo}} does not change.',
        '登记此付款已在链上全额退回。此处不会转移资金，订单 {{outTradeNo}} 不变。',
      ),
      preview: it.preview('postAdminWeb3UnmatchedPaymentsByIdRepaymentPreview', {
        params: { id: 'id' },
        takes: ['transactionHash', 'receiver'],
        possible: 'possible',
        answer: (shown) => [
          shown.amount('value', { decimals: 'decimals', symbol: 'symbol' }),
          shown.text('payer', { mono: true }),
          shown.flag('possible'),
          shown.text('blockedBy', { mono: true }),
        ],
      }),
      tone: 'danger',
    }),
  ],
  related: [
    {
      page: 'web3-settlement.reviews',
      title: text('Reviews of this order', '此订单的复核'),
      filter: { outTradeNo: 'outTradeNo' },
    },
  ],
}))

export const pages = [reviews, reviewDetail, audits, candidates, audit, unmatchedPayments, unmatchedPayment]

export const needsAttention = [
  adminAttention('getAdminWeb3PaymentSettlementAuditLogsSummary', {
    id: 'web3-settlement.high-risk',
    title: text('Settled orders at high risk', '高风险的已结算订单'),
    tone: 'bad',
    unattended: text('Goods may have been delivered without a payment.', '可能已发货但并未收款。'),
    count: 'openByRiskLevel.high',
    page: { id: 'web3-settlement.candidates', filter: { riskLevel: 'high' } },
  }),
  adminAttention('getAdminWeb3PaymentSettlementAuditLogsSummary', {
    id: 'web3-settlement.medium-risk',
    title: text('Settled orders at medium risk', '中风险的已结算订单'),
    tone: 'warn',
    unattended: text('A payment may turn out to be missing.', '之后可能发现未收到付款。'),
    count: 'openByRiskLevel.medium',
    page: { id: 'web3-settlement.candidates', filter: { riskLevel: 'medium' } },
  }),
  adminAttention('getAdminWeb3UnmatchedPayments', {
    id: 'web3-settlement.unmatched-payments',
    title: text('Unmatched payments waiting for a decision', '等待处理的未匹配付款'),
    tone: 'warn',
    unattended: text('A buyer has paid and gets nothing.', '买家已付款，但没有得到任何结果。'),
    query: { state: 'open', size: 1, count: 'capped' },
    count: 'total',
    page: { id: 'web3-settlement.unmatched-payments', filter: { state: 'open' } },
  }),
  adminAttention('getAdminWeb3PaymentSettlementReviewLogs', {
    id: 'web3-settlement.open-reviews',
    title: text('Settlement reviews waiting for a decision', '等待处理的结算复核'),
    tone: 'warn',
    unattended: text('These orders are not settled.', '这些订单不会结算。'),
    query: { status: 'open', size: 1, count: 'capped' },
    count: 'total',
    page: { id: 'web3-settlement.reviews', filter: { status: 'open' } },
  }),
]
