import { approvals } from '@plinth/approval'
import { type Database, type DatabaseClock, database } from '@plinth/database'
import { events } from '@plinth/events'
import { http } from '@plinth/http'
import { accounts } from '@plinth/iam'
import {
  asClass,
  asFunction,
  type ConfigView,
  kernel,
  type Logger,
  optional,
  type Resolvers,
  type ServicesOf,
} from '@plinth/kernel'
import { payments } from '@plinth/money/payments'
import { notification } from '@plinth/notification'
import { chains, tokens, walletVerifier } from '@plinth/web3'
import { AuditLogStore } from './audit/audit-logs.ts'
import { AuditOrderSelection } from './audit/audit-walk.ts'
import { SettledAudit } from './audit/settled-audit.ts'
import { Candidates } from './candidates.ts'
import { ClaimReader } from './claim-reader.ts'
import type { keys } from './config.ts'
import { Attempts } from './execution/attempts.ts'
import { AutoRetry } from './execution/auto-retry.ts'
import { Executor } from './execution/executor.ts'
import { OverdueReviews, type OverdueRules } from './execution/overdue-reviews.ts'
import { Settlements } from './execution/settlements.ts'
import { PayerProofs } from './payer-proofs.ts'
import { RefundTransfers } from './refund-transfers.ts'
import type { ReviewApprovals } from './reviews/review-approvals.ts'
import { ReviewLogStore, SaverNames } from './reviews/review-logs.ts'
import { NamedTransactions } from './unmatched/named-transactions.ts'
import { UnmatchedPayments } from './unmatched/unmatched-payments.ts'

export const requires = {
  kernel,
  database,
  http,
  events,
  accounts,
  approvals,
  payments,
  chains,
  tokens: optional(tokens),
  walletVerifier: optional(walletVerifier),
  notification: optional(notification),
} as const

/** Objects that the setup of the plugin passes in. */
interface Given extends Omit<ServicesOf<typeof requires>, 'approvals'> {
  readonly db: Database
  readonly config: ConfigView<typeof keys>
  readonly clock: DatabaseClock
  readonly log: Logger
  readonly approvals: ReviewApprovals
}

/** All objects of the plugin by name. Each class selects its dependencies with `Pick`. */
export interface Parts extends Given {
  /** Delay before an automatic retry in milliseconds. */
  readonly retryDelayMs: () => number
  readonly overdueRules: () => OverdueRules
  /** Milliseconds by which a payment may be older than its order. */
  readonly blockTimeToleranceMs: () => number
  /** Largest accepted difference of a payment, in ten-thousandths of the amount of its order. */
  readonly amountTolerance: () => number
  /** True if the user who saved a review may not settle it. */
  readonly needsSecondPerson: () => boolean
  readonly claims: ClaimReader
  readonly candidates: Candidates
  readonly reviews: ReviewLogStore
  readonly payers: PayerProofs
  readonly refunds: RefundTransfers
  readonly savers: SaverNames
  readonly attempts: Attempts
  readonly executor: Executor
  readonly settlements: Settlements
  readonly overdue: OverdueReviews
  readonly autoRetry: AutoRetry
  /** Confirmations after which a block is final. */
  readonly finalConfirmations: () => number
  readonly auditWalk: AuditOrderSelection
  readonly audit: SettledAudit
  readonly logs: AuditLogStore
  readonly unmatched: UnmatchedPayments
  readonly named: NamedTransactions
}

const auto = 'platform.money.web3.settlement.review.auto'

export const resolvers: Resolvers<Parts, Given> = {
  retryDelayMs: asFunction(
    ({ config }) =>
      () =>
        config.get('platform.money.web3.settlement.retry.fixed-delay'),
  ),
  overdueRules: asFunction(({ config }) => () => ({
    enabled: config.get(`${auto}.enabled`),
    timeoutMs: config.get(`${auto}.timeout`),
    action: config.get(`${auto}.action`),
    executeApproved: config.get(`${auto}.execute-approved`),
    limit: config.get(`${auto}.limit`),
  })),
  blockTimeToleranceMs: asFunction(
    ({ config }) =>
      () =>
        config.get('platform.money.web3.settlement.block-time-tolerance'),
  ),
  amountTolerance: asFunction(
    ({ config }) =>
      () =>
        config.get('platform.money.web3.settlement.amount-tolerance'),
  ),
  needsSecondPerson: asFunction(
    ({ config }) =>
      () =>
        config.get('platform.money.web3.settlement.review.four-eyes'),
  ),
  claims: asClass(ClaimReader),
  candidates: asClass(Candidates),
  reviews: asClass(ReviewLogStore),
  payers: asClass(PayerProofs),
  refunds: asClass(RefundTransfers),
  savers: asClass(SaverNames),
  attempts: asClass(Attempts),
  executor: asClass(Executor),
  settlements: asClass(Settlements),
  overdue: asClass(OverdueReviews),
  autoRetry: asClass(AutoRetry),
  finalConfirmations: asFunction(
    ({ config }) =>
      () =>
        config.get('platform.money.web3.settlement.audit.final-confirmations'),
  ),
  auditWalk: asClass(AuditOrderSelection),
  audit: asClass(SettledAudit),
  logs: asClass(AuditLogStore),
  unmatched: asClass(UnmatchedPayments),
  named: asClass(NamedTransactions),
}
