import { isBusinessError } from '@plinth/kernel'
import type { SettlementOutcome } from '../entities.ts'
import { refusal } from '../failures.ts'
import type { Parts } from '../parts.ts'
import type { SettlementPlan } from '../planning/plan.ts'
import { totalOf } from '../planning/transfers.ts'
import type { Reviewer } from '../reviews/review-logs.ts'
import type { SettlementResult } from './executor.ts'

/** One line of a batch. */
interface BatchItem {
  readonly id: number
  readonly outcome: SettlementOutcome
  /** A blocking reason, or the reason of what was refused; null when settled. */
  readonly reason: string | null
  /** Null when nothing was tried. */
  readonly result: SettlementResult | null
}

interface BatchResult {
  readonly requested: number
  readonly executed: number
  readonly skipped: number
  readonly items: readonly BatchItem[]
}

/** Acceptance of the causes that a review shows. */
interface Acceptance {
  /** Returns the orders that the operator may reach, of those given; undefined: all orders. */
  readonly reached: (outTradeNos: readonly string[]) => Promise<ReadonlySet<string> | undefined>
}

type SettlementParts = Pick<Parts, 'approvals' | 'reviews' | 'savers' | 'executor' | 'log'>

/** What operators start. */
export class Settlements {
  readonly #parts: SettlementParts

  constructor(parts: SettlementParts) {
    this.#parts = parts
  }

  /**
   * Settles from a saved review (document 3, settlement rule 1). A retry is the same.
   *
   * @param acceptance settles in spite of the causes that the review shows; absent: no cause is accepted
   * @throws BusinessError "404" `web3-settlement.review-log-unknown`, "403" `web3-settlement.second-person-required`, "403"
   *   `web3-settlement.other-orders-out-of-scope` when an accepted cause is about an order that the operator does not reach, and what
   *   the approval rejects
   */
  async settle(
    id: number,
    trigger: 'settle' | 'retry',
    reviewer: Reviewer,
    rows: object,
    acceptance?: Acceptance,
  ): Promise<SettlementResult> {
    const { approvals, reviews, savers, executor } = this.#parts
    const log = await reviews.get(id, rows)
    await approvals.assert('settle', { id, state: log.status }, reviewer)
    if (await savers.isOnlyPerson(log, reviewer)) throw refusal('second-person-required')
    if (acceptance === undefined) return executor.execute(log, trigger, reviewer)
    const candidate = await executor.look(log)
    await assertRivalsReached(candidate.plan, acceptance)
    return executor.execute(log, trigger, reviewer, { acceptsCauses: true, candidate })
  }

  /** One after another in the order of their ids, each once; one that fails stops no other. */
  async retryBatch(ids: readonly number[], reviewer: Reviewer, rows: object): Promise<BatchResult> {
    const items: BatchItem[] = []
    for (const id of [...new Set(ids)].sort((one, other) => one - other)) {
      items.push(await this.#tried(id, reviewer, rows))
    }
    const executed = items.filter(({ outcome }) => outcome === 'settled').length
    return { requested: items.length, executed, skipped: items.length - executed, items }
  }

  async #tried(id: number, reviewer: Reviewer, rows: object): Promise<BatchItem> {
    try {
      const result = await this.settle(id, 'retry', reviewer, rows)
      return { id, outcome: result.outcome, reason: result.reasons[0] ?? null, result }
    } catch (error) {
      if (isBusinessError(error)) return { id, outcome: 'skipped', reason: error.reason ?? null, result: null }
      this.#parts.log.error({ err: error, reviewLogId: id }, 'A settlement of a batch failed')
      return { id, outcome: 'failed', reason: null, result: null }
    }
  }
}

/**
 * Who accepts that other orders claim the transfer decides about them, too. A plan lists only the newest of them, so an operator with a
 * smaller data scope has to reach all, and the plan has to list all.
 */
async function assertRivalsReached(plan: SettlementPlan, { reached }: Acceptance): Promise<void> {
  if (!plan.causes.includes('named-by-another-order')) return
  const inScope = await reached(plan.claimedBy ?? [])
  if (inScope !== undefined && inScope.size < totalOf(plan)) throw refusal('other-orders-out-of-scope')
}
