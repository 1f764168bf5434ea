import { approvalWorkflow } from '@plinth/approval'
import { adminPages, attention, labelSources } from '@plinth/http'
import { definePlugin, optional } from '@plinth/kernel'
import { needsAttention, pages } from './admin-pages.ts'
import { reviewWorkflow, settlementWorkflow } from './approval-workflow.ts'
import { AuditLogs } from './audit/audit-logs.ts'
import { auditRoutes } from './audit/audit-routes.ts'
import { SettledAudit } from './audit/settled-audit.ts'
import { Candidates } from './candidates.ts'
import { keys } from './config.ts'
import { entities } from './entities.ts'
import { AutoRetry } from './execution/auto-retry.ts'
import { Executor } from './execution/executor.ts'
import { OverdueReviews } from './execution/overdue-reviews.ts'
import { Settlements } from './execution/settlements.ts'
import { messages } from './failures.ts'
import { reviewLabels } from './label-source.ts'
import { changeSets } from './migrations/index.ts'
import { addNotices } from './notices/notices.ts'
import { permissions } from './permissions.ts'
import { requires } from './requires.ts'
import { ReviewApprovals } from './reviews/review-approvals.ts'
import { ReviewLogs } from './reviews/review-logs.ts'
import { reviewRoutes } from './reviews/review-routes.ts'
import { tasks } from './tasks.ts'
import { settlementWork } from './work.ts'

const auto = 'platform.money.web3.settlement.review.auto'
const retry = 'platform.money.web3.settlement.retry'
const risk = 'platform.money.web3.settlement.audit.risk-notification'

/** Settlement of on-chain payments: plan, review, execution, audit and advice. */
export default definePlugin({
  id: 'web3-settlement',
  title: { en: 'Settlement on chains', 'zh-CN': '链上结算' },
  version: '1.0.0',
  kernel: '^1.0.0',
  requires,
  provides: [settlementWork],
  contributes: [approvalWorkflow, optional(adminPages), optional(attention), optional(labelSources)],
  config: keys,
  permissions,
  migrations: changeSets,
  entities,
  messages,
  scheduledTasks: tasks,
  setup({ services, config, clock, log, provide, contribute }) {
    const { kernel, database: db, http, events, payments, chains, notification } = services
    const approvals = new ReviewApprovals(services.approvals)
    const retryDelayMs = () => config.get(`${retry}.fixed-delay`)
    const candidates = new Candidates({ payments, chains, clock })
    const reviews = new ReviewLogs({ db, clock, approvals, candidates, payments })
    const executor = new Executor({ db, clock, log, events, payments, candidates, reviews, retryDelayMs })
    const settlements = new Settlements({ approvals, reviews, executor, log })
    const overdue = new OverdueReviews({
      ...{ db, clock, approvals, reviews, executor, retryDelayMs },
      rules: () => ({
        enabled: config.get(`${auto}.enabled`),
        timeoutMs: config.get(`${auto}.timeout`),
        action: config.get(`${auto}.action`),
        executeApproved: config.get(`${auto}.execute-approved`),
        limit: config.get(`${auto}.limit`),
      }),
    })
    const autoRetry = new AutoRetry({
      ...{ db, clock, approvals, reviews, executor },
      rules: () => ({
        enabled: config.get(`${retry}.enabled`),
        maxAttempts: config.get(`${retry}.max-attempts`),
        delayMs: retryDelayMs(),
      }),
    })
    const audit = new SettledAudit({ db, clock, events, payments, candidates })
    const logs = new AuditLogs({ db, clock, payments, audit })

    contribute(approvalWorkflow, reviewWorkflow, settlementWorkflow)
    for (const page of pages) contribute(adminPages, page.id, page)
    for (const one of needsAttention) contribute(attention, one.id, one)
    contribute(labelSources, 'web3-settlement.review', reviewLabels(db))
    provide(settlementWork, { overdue, autoRetry, audit })
    http.addRoutes(reviewRoutes, { kernel, chains, candidates, reviews, settlements, overdue })
    http.addRoutes(auditRoutes, { kernel, clock, payments, chains, audit, logs })
    if (notification !== undefined) {
      addNotices({
        ...{ events, notification, log },
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
