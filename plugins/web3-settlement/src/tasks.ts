import { createPurgeTask, rowsBefore } from '@plinth/coordination'
import { type ScheduledTask, service } from '@plinth/kernel'
import { auditCountUpdate } from './audit/audit-logs.ts'
import type { SettledAudit } from './audit/settled-audit.ts'
import type { keys } from './config.ts'
import type { AutoRetry } from './execution/auto-retry.ts'
import type { OverdueReviews } from './execution/overdue-reviews.ts'
import type { requires } from './parts.ts'
import type { NamedTransactions } from './unmatched/named-transactions.ts'

interface SettlementWork {
  readonly overdue: OverdueReviews
  readonly autoRetry: AutoRetry
  readonly audit: SettledAudit
  readonly named: NamedTransactions
}

/** Work of this plugin that only its own scheduled tasks use. */
export const settlementWork = service<SettlementWork>('web3-settlement.work', { from: '@plinth/web3-settlement' })

type Uses = {
  requires: typeof requires
  config: typeof keys
  provides: readonly [typeof settlementWork]
}

const review = 'platform.money.web3.settlement.review.auto'
const audit = 'platform.money.web3.settlement.audit'
const retry = 'platform.money.web3.settlement.retry'

const handleOverdue: ScheduledTask<Uses> = {
  name: 'money.web3.payment-settlement-review.auto-handle',
  nameFrom: `${review}.task-name`,
  displayName: { en: 'Handle overdue settlement reviews', 'zh-CN': '处理超时的结算复核' },
  fixedDelay: `${review}.fixed-delay`,
  autoStartup: `${review}.auto-startup`,
  irreversible: true,
  async run({ own, signal }) {
    await own(settlementWork).overdue.handle(signal)
  },
}

const retrySettlements: ScheduledTask<Uses> = {
  name: 'money.web3.payment-settlement.retry',
  nameFrom: `${retry}.task-name`,
  displayName: { en: 'Retry settlements', 'zh-CN': '重试结算' },
  fixedDelay: `${retry}.fixed-delay`,
  autoStartup: `${retry}.auto-startup`,
  irreversible: true,
  async run({ own, signal }) {
    await own(settlementWork).autoRetry.run(signal)
  },
}

const auditSettled: ScheduledTask<Uses> = {
  name: 'money.web3.payment-settlement.audit',
  nameFrom: `${audit}.task-name`,
  displayName: { en: 'Audit settled payments', 'zh-CN': '审计已结算付款' },
  fixedDelay: `${audit}.fixed-delay`,
  autoStartup: `${audit}.auto-startup`,
  irreversible: true,
  async run({ services: { database: db }, own, config, signal }) {
    if (!config.get(`${audit}.enabled`)) return
    const chainName = config.get(`${audit}.chain-name`).trim()
    const scope = {
      provider: config.get(`${audit}.provider`),
      chainName: chainName === '' ? undefined : chainName,
      paidBefore: new Date(db.clock.expiryNow() - config.get(`${audit}.older-than-minutes`) * 60_000),
      limit: config.get(`${audit}.limit`),
      requiredConfirmations: config.get(`${audit}.required-confirmations`),
    }
    const onlyRisky = config.get(`${audit}.only-risky`)
    const notify = config.get(`${audit}.risk-notification.enabled`)
    await own(settlementWork).audit.run(scope, { onlyRisky, notify }, signal)
  },
}

const searchUnmatched: ScheduledTask<Uses> = {
  name: 'money.web3.unmatched-payment.search',
  displayName: { en: 'Search unmatched payments', 'zh-CN': '查找未匹配付款' },
  fixedDelay: 'platform.money.web3.settlement.unmatched.fixed-delay',
  autoStartup: 'platform.money.web3.settlement.unmatched.auto-startup',
  async run({ own, signal }) {
    await own(settlementWork).named.search(signal)
  },
}

const purge = createPurgeTask<Uses>('platform.money.web3.settlement', {
  displayName: { en: 'Remove old settlement logs', 'zh-CN': '清除过期的结算日志' },
  old({ config, clock }) {
    const before = new Date(clock.now() - config.get('platform.money.web3.settlement.retention'))
    return [
      rowsBefore('web3_settlement_review_log', 'created_at', before),
      rowsBefore('web3_payment_callback_log', 'created_at', before),
      rowsBefore('web3_settlement_retry', 'updated_at', before),
      { ...rowsBefore('web3_settlement_audit_log', 'created_at', before), tally: auditCountUpdate },
      // Open payments have no such time, so they are kept.
      rowsBefore('web3_unmatched_payment', 'handled_at', before),
      rowsBefore('web3_named_transaction', 'created_at', before),
    ]
  },
})

export const tasks = [handleOverdue, retrySettlements, auditSettled, searchUnmatched, purge]
