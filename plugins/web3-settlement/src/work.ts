import { service } from '@plinth/kernel'
import type { SettledAudit } from './audit/settled-audit.ts'
import type { AutoRetry } from './execution/auto-retry.ts'
import type { OverdueReviews } from './execution/overdue-reviews.ts'

/** What the scheduled tasks of this plugin start. */
interface SettlementWork {
  readonly overdue: OverdueReviews
  readonly autoRetry: AutoRetry
  readonly audit: SettledAudit
}

/** For the tasks of this plugin alone, which run after set-up. */
export const settlementWork = service<SettlementWork>('web3-settlement.work', { from: '@plinth/web3-settlement' })
