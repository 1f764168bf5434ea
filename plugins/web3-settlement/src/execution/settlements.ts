import { isBusinessError } from '@plinth/kernel'
import type { SettlementOutcome } from '../entities.ts'
import type { Parts } from '../parts.ts'
import type { Reviewer } from '../reviews/review-logs.ts'
import type { SettlementResult } from './executor.ts'

/** One line of a batch. */
export interface BatchItem {
  readonly id: number
  readonly outcome: SettlementOutcome
  /** A blocking reason, or the reason of what was refused; null when settled. */
  readonly reason: string | null
  /** Null when nothing was tried. */
  readonly result: SettlementResult | null
}

export interface BatchResult {
  readonly requested: number
  readonly executed: number
  readonly skipped: number
  readonly items: readonly BatchItem[]
}

type SettlementParts = Pick<Parts, 'approvals' | 'reviews' | 'executor' | 'log'>

/** What operators start. */
export class Settlements {
  readonly #parts: SettlementParts

  constructor(parts: SettlementParts) {
    this.#parts = parts
  }

  /**
   * Settles from a saved review (document 3, settlement rule 1). A retry is the same.
   *
   * @throws BusinessError "404" `web3-settlement.review-log-unknown`, and what the approval refuses
   */
  async settle(id: number, trigger: 'settle' | 'retry', reviewer: Reviewer): Promise<SettlementResult> {
    const { approvals, reviews, executor } = this.#parts
    const log = await reviews.get(id)
    await approvals.assert('settle', { id, state: log.status }, reviewer)
    return executor.execute(log, trigger, reviewer)
  }

  /** One after another in the order of their ids, each once; one that fails stops no other. */
  async retryBatch(ids: readonly number[], reviewer: Reviewer): Promise<BatchResult> {
    const items: BatchItem[] = []
    for (const id of [...new Set(ids)].sort((one, other) => one - other)) {
      items.push(await this.#tried(id, reviewer))
    }
    const executed = items.filter(({ outcome }) => outcome === 'settled').length
    return { requested: items.length, executed, skipped: items.length - executed, items }
  }

  async #tried(id: number, reviewer: Reviewer): Promise<BatchItem> {
    try {
      const result = await this.settle(id, 'retry', reviewer)
      return { id, outcome: result.outcome, reason: result.reasons[0] ?? null, result }
    } catch (error) {
      if (isBusinessError(error)) return { id, outcome: 'skipped', reason: error.reason ?? null, result: null }
      this.#parts.log.error({ err: error, reviewLogId: id }, 'A settlement of a batch failed')
      return { id, outcome: 'failed', reason: null, result: null }
    }
  }
}
