import { backOffice } from '@plinth/admin'
import { approvalWorkflow } from '@plinth/approval'
import type { WithDatabase } from '@plinth/database'
import { settlementFailed, webhookEventTypes } from '@plinth/events'
import { auditTexts, definePlugin, optional, personalData } from '@plinth/kernel'
import { paymentNamed, refundVerifier } from '@plinth/money/payments'
import { type Chain, chainUse } from '@plinth/web3'
import { auditTiles, needsAttention, pages, timelines } from './admin-pages.ts'
import { auditRoutes } from './audit/audit-routes.ts'
import { keys } from './config.ts'
import { orderSettlements } from './contract.ts'
import { audited, businessError, messages, permissionCodes, permissions } from './declarations.ts'
import { entities, settlementTables } from './entities.ts'
import { createWeb3Settlement } from './migrations/0001-create-web3-settlement.ts'
import { storeAttempts } from './migrations/0002-keep-attempts.ts'
import { storeUnmatchedPayments } from './migrations/0003-unmatched-payments.ts'
import { addNotices } from './notices/notices.ts'
import { type Parts, requires, resolvers } from './parts.ts'
import { settlementProvider } from './planning/plan.ts'
import { confirmationRoutes } from './reviews/confirmation-routes.ts'
import { ReviewApprovals, reviewWorkflow, settlementWorkflow } from './reviews/review-approvals.ts'
import { reviewLabels } from './reviews/review-logs.ts'
import { reviewRoutes } from './reviews/review-routes.ts'
import { settlementWork, tasks } from './tasks.ts'
import { storeNamedTransaction } from './unmatched/named-transactions.ts'
import { unmatchedRoutes } from './unmatched/unmatched-routes.ts'
import { webhookEvents } from './webhook-events.ts'

const auto = 'platform.money.web3.settlement.review.auto'
const risk = 'platform.money.web3.settlement.audit.risk-notification'

/** A chain without required confirmations settles no order. */
const usesChain = ({ requiredConfirmations }: Chain) => requiredConfirmations !== null

export default definePlugin({
  id: 'web3-settlement',
  title: { en: 'On-chain settlement', 'zh-CN': '链上结算' },
  version: '1.0.0',
  businessErrors: [businessError],
  kernel: '^1.0.0',
  requires,
  provides: [settlementWork, orderSettlements],
  contributes: [
    auditTexts.of(audited),
    personalData.of(({ database }: WithDatabase) => ({ 'web3-settlement': settlementTables(database) })),
    approvalWorkflow.of({ [reviewWorkflow]: settlementWorkflow }),
    refundVerifier,
    ...backOffice({
      pages,
      attention: needsAttention,
      tiles: auditTiles,
      timelines,
      labels: ({ database }: WithDatabase) => ({ 'web3-settlement.review': reviewLabels(database) }),
    }),
    optional(webhookEventTypes.of(webhookEvents)),
    optional(chainUse.of({ 'web3-settlement': { permission: permissionCodes.execute, uses: usesChain } })),
  ],
  config: keys,
  permissions,
  migrations: [createWeb3Settlement, storeAttempts, storeUnmatchedPayments],
  entities,
  messages,
  scheduledTasks: tasks,
  setup({ services, config, log, wire, provide, contribute }) {
    const { database: db, http, events, notification } = services
    const { clock } = db
    const approvals = new ReviewApprovals(services.approvals)
    const parts = wire<Parts>()({ ...services, db, config, clock, log, approvals }, resolvers)
    const { overdue, autoRetry, audit, named } = parts

    events.declarePublished(settlementFailed)
    contribute(refundVerifier, settlementProvider, parts.refunds)
    provide(orderSettlements, parts.payers)
    provide(settlementWork, { overdue, autoRetry, audit, named })
    http.addRoutes(confirmationRoutes, parts)
    http.addRoutes(reviewRoutes, parts)
    http.addRoutes(auditRoutes, parts)
    http.addRoutes(unmatchedRoutes, parts)
    events.on(
      paymentNamed,
      'web3-settlement.named-transaction',
      async ({ payload }) => {
        if (payload.provider === settlementProvider) await storeNamedTransaction(parts, payload)
      },
      { transaction: true },
    )
    if (notification !== undefined) {
      addNotices({
        events,
        notification,
        log,
        failures: () => ({
          enabled: config.get(`${auto}.failure-notification.enabled`),
          channels: config.get(`${auto}.failure-notification.channels`),
          subject: config.get(`${auto}.failure-notification.subject`),
          recipient: {
            type: config.get(`${auto}.failure-notification.recipient-type`),
            value: config.get(`${auto}.failure-notification.recipient-value`),
          },
        }),
        risks: () => ({
          enabled: config.get(`${risk}.enabled`),
          channels: config.get(`${risk}.channels`),
          subject: config.get(`${risk}.subject`),
        }),
      })
    }
  },
})
