import { type LocalizedText, bilingual as text } from '@plinth/kernel'
import type { RiskLevel, RiskReason, SuggestedAction } from './audit/risk.ts'
import type { HandlingStatus, UnmatchedSource, UnmatchedState } from './entities.ts'
import type { AttemptObstacle, AttemptReason, BlockingReason, ReviewCause } from './planning/reasons.ts'
import type { UnmatchedKind } from './unmatched/unmatched-transfers.ts'

type Names<Code extends string> = Readonly<Record<Code, LocalizedText>>

export const riskLevelNames: Names<RiskLevel> = {
  none: text('None', '无'),
  low: text('Low', '低'),
  medium: text('Medium', '中'),
  high: text('High', '高'),
}

export const handlingStatusNames: Names<HandlingStatus> = {
  open: text('Open', '待处理'),
  resolved: text('Resolved', '已解决'),
  ignored: text('Ignored', '已忽略'),
}

export const suggestedActionNames: Names<SuggestedAction> = {
  'mark-resolved': text('Mark as resolved', '标记为已解决'),
  'wait-confirmations': text('Wait for confirmations', '等待确认'),
  'recheck-later': text('Query the chain again later', '稍后再次查询链'),
  'manual-compensation': text('Compensate manually', '人工补偿'),
  'manual-review': text('Review manually', '人工复核'),
}

/** Names of blocking reasons. Some of these reasons are also risks of a paid order. */
export const blockingReasonNames: Names<BlockingReason> = {
  'order-not-found': text('Order not found', '订单不存在'),
  'order-not-settleable': text('Order cannot be settled', '订单不可结算'),
  'order-update-conflict': text('Order was changed', '订单已变更'),
  'provider-not-web3': text('Not paid on a chain', '非链上支付'),
  'local-order-already-paid': text('Order is already paid', '订单已支付'),
  'local-order-not-settleable': text('Order is closed', '订单已关闭'),
  'chain-not-configured': text('Chain not configured', '链未配置'),
  'chain-id-mismatch': text('Different chain', '链编号不符'),
  'transaction-hash-missing': text('Transaction hash missing', '缺少交易哈希'),
  'chain-transaction-not-mined': text('Not in a block yet', '交易未上链'),
  'chain-transaction-failed': text('Transaction failed', '交易执行失败'),
  'chain-confirmations-insufficient': text('Too few confirmations', '确认数不足'),
  'transfer-missing': text('No matching transfer', '没有匹配的转账'),
  'receiver-address-mismatch': text('Different receiver', '收款地址不符'),
  'token-contract-mismatch': text('Different token', '代币合约不符'),
  'amount-mismatch': text('Different amount', '金额不符'),
  'transaction-already-exists': text('Transaction is already used', '交易已被使用'),
  'review-fingerprint-mismatched': text('Changed since the review', '复核后已变化'),
  'applier-not-available': text('No plugin handles this type of order', '没有处理此类订单的插件'),
  'transfer-removed': text('Transfer is no longer on the chain', '转账已不在链上'),
  'rpc-query-failed': text('Chain query failed', '链查询失败'),
}

export const riskReasonNames: Names<RiskReason> = {
  ...blockingReasonNames,
  'transfer-moved': text('Transfer moved to another block', '转账已移至其他区块'),
}

/** Names of causes, about which an operator must decide. */
export const reviewCauseNames: Names<ReviewCause> = {
  'match-context-missing': text('The order lacks data to find its transfer', '订单缺少查找转账所需的信息'),
  'several-matching-transfers': text('Several transfers match', '多笔转账匹配'),
  'named-by-another-order': text('Another order claims this transfer', '其他订单也声明了此转账'),
  'transfer-before-order': text('The transfer is older than the order', '转账早于订单'),
  'payer-mismatch': text('Sender is not the payer of the order', '付款地址与订单的付款人不符'),
}

const obstacles: Names<AttemptObstacle> = {
  'handler-failed': text('The order could not be fulfilled', '订单后续处理失败'),
  'saver-not-active': text('The user who saved the review is disabled or deleted', '保存复核的用户已停用或删除'),
  'second-person-required': text('A second person must settle', '须由第二人结算'),
  'approval-rejected': text('The approval was rejected', '审批未通过'),
  'retries-used-up': text('No automatic retries left', '自动重试次数已用完'),
}

export const unmatchedKindNames: Names<UnmatchedKind> = {
  late: text('Order was closed', '订单已关闭'),
  double: text('Order is already paid', '订单已支付'),
  short: text('Too little', '金额不足'),
  long: text('Too much', '金额过多'),
  unknown: text('Other token, or order without terms', '其他代币或订单信息不全'),
}

export const unmatchedStateNames: Names<UnmatchedState> = {
  open: text('Open', '待处理'),
  credited: text('Credited', '已入账'),
  repaid: text('Returned', '已退回'),
  used: text('Used elsewhere', '已另行使用'),
}

export const unmatchedSourceNames: Names<UnmatchedSource> = {
  order: text('Order', '订单'),
  review: text('Review', '复核'),
  operator: text('Operator', '操作员'),
}

export const attemptReasonNames: Names<AttemptReason> = { ...blockingReasonNames, ...reviewCauseNames, ...obstacles }
