import { isBusinessError } from '@plinth/kernel'
import { businessError } from '../declarations.ts'
import type { SettlementOutcome } from '../entities.ts'
import type { Parts } from '../parts.ts'
import type { SettlementPlan } from '../planning/plan.ts'
import { countCompetingOrders } from '../planning/transfers.ts'
import type { Reviewer } from '../reviews/review-logs.ts'
import type { SettlementResult } from './executor.ts'

interface BatchItem {
  readonly id: number
  readonly outcome: SettlementOutcome
  /** A blocking reason or the code of a business error; null if the order was settled. */
  readonly reason: string | null
  readonly result: SettlementResult | null
}

interface BatchResult {
  readonly requested: number
  readonly executed: number
  readonly skipped: number
  readonly items: readonly BatchItem[]
}

interface Acceptance {
  /** Returns those of the given orders that the operator may read; undefined if the operator may read all orders. */
  readonly reached: (outTradeNos: readonly string[]) => Promise<ReadonlySet<string> | undefined>
}

type SettlementDependencies = Pick<Parts, 'approvals' | 'reviews' | 'savers' | 'executor' | 'log'>

export class Settlements {
  readonly #parts: SettlementDependencies

  constructor(parts: SettlementDependencies) {
    this.#parts = parts
  }

  /**
   * Settles an order from a saved review (document 3 of the specification, settlement rule 1).
   *
   * @param acceptance settles despite the causes that the review shows; default: accepts none
   * @throws BusinessError "404" `web3-settlement.review-log-unknown`; "403" `web3-settlement.second-person-required`;
   * "403" `web3-settlement.other-orders-out-of-scope` if a cause concerns an order that the operator may not read; and
   * the errors of the approval
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
    if (await savers.isOnlyPerson(log, reviewer)) throw businessError('second-person-required')
    if (acceptance === undefined) return executor.execute(log, trigger, reviewer)
    const candidate = await executor.look(log)
    await assertRivalsReached(candidate.plan, acceptance)
    return executor.execute(log, trigger, reviewer, { acceptsCauses: true, candidate })
  }

  /** Settles reviews one after another, ordered by id. Continues after a failure. */
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
      this.#parts.log.error({ err: error, reviewLogId: id }, 'a settlement in a batch failed')
      return { id, outcome: 'failed', reason: null, result: null }
    }
  }
}

/**
 * If an operator accepts a transfer that other orders claim, this also decides about the other orders. The plan may
 * list only the newest of them, so an operator with a limited data scope must be able to read all of them.
 */
async function assertRivalsReached(plan: SettlementPlan, { reached }: Acceptance): Promise<void> {
  if (!plan.causes.includes('named-by-another-order')) return
  const inScope = await reached(plan.claimedBy ?? [])
  if (inScope !== undefined && inScope.size < countCompetingOrders(plan))
    throw businessError('other-orders-out-of-scope')
}
