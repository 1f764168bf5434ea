import type { Database } from '@plinth/database'
import type { Clock, ConfigView, Logger, Makers, ServicesOf } from '@plinth/kernel'
import { AuditLogs } from './audit/audit-logs.ts'
import { SettledAudit } from './audit/settled-audit.ts'
import { Candidates } from './candidates.ts'
import type { keys } from './config.ts'
import { AutoRetry } from './execution/auto-retry.ts'
import { Executor } from './execution/executor.ts'
import { OverdueReviews, type OverdueRules } from './execution/overdue-reviews.ts'
import { Settlements } from './execution/settlements.ts'
import type { requires } from './requires.ts'
import type { ReviewApprovals } from './reviews/review-approvals.ts'
import { ReviewLogs } from './reviews/review-logs.ts'

/** What the product gives to the plugin. */
interface Given extends Omit<ServicesOf<typeof requires>, 'approvals'> {
  readonly db: Database
  readonly config: ConfigView<typeof keys>
  readonly clock: Clock
  readonly log: Logger
  readonly approvals: ReviewApprovals
}

/** Everything that the parts of the plugin may be made of, by name; each names what it needs by `Pick`. */
export interface Parts extends Given {
  /** Milliseconds until a try that time may mend is made again. */
  readonly retryDelayMs: () => number
  readonly overdueRules: () => OverdueRules
  readonly candidates: Candidates
  readonly reviews: ReviewLogs
  readonly executor: Executor
  readonly settlements: Settlements
  readonly overdue: OverdueReviews
  readonly autoRetry: AutoRetry
  readonly audit: SettledAudit
  readonly logs: AuditLogs
}

const auto = 'platform.money.web3.settlement.review.auto'

/** How each part is made that is not given. */
export const makers: Makers<Parts, Given> = {
  retryDelayMs:
    ({ config }) =>
    () =>
      config.get('platform.money.web3.settlement.retry.fixed-delay'),
  overdueRules:
    ({ config }) =>
    () => ({
      enabled: config.get(`${auto}.enabled`),
      timeoutMs: config.get(`${auto}.timeout`),
      action: config.get(`${auto}.action`),
      executeApproved: config.get(`${auto}.execute-approved`),
      limit: config.get(`${auto}.limit`),
    }),
  candidates: Candidates,
  reviews: ReviewLogs,
  executor: Executor,
  settlements: Settlements,
  overdue: OverdueReviews,
  autoRetry: AutoRetry,
  audit: SettledAudit,
  logs: AuditLogs,
}
