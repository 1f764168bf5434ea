import type { Approvals } from '@plinth/approval'
import { type ReviewStep, reviewSource, reviewWorkflow } from '../approval-workflow.ts'
import type { Reviewer } from './review-logs.ts'

/** What the approval workflow says of steps of reviews. */
export class ReviewApprovals {
  readonly #approvals: Approvals

  constructor(approvals: Approvals) {
    this.#approvals = approvals
  }

  /**
   * Passes when the review, or the order of one that is about to be saved, is in a state for the step and the reviewer may do it.
   *
   * @throws BusinessError as `Approvals.assert`
   */
  async assert(
    action: ReviewStep,
    source: { readonly id: number | string; readonly state: string },
    reviewer: Reviewer,
  ): Promise<void> {
    const { userId, permissions, traceId } = reviewer
    await this.#approvals.assert({
      workflow: reviewWorkflow,
      action,
      source: { type: reviewSource, id: String(source.id), state: source.state },
      permissions,
      actor: userId === null ? { name: 'web3-settlement' } : { userId },
      traceId: traceId ?? undefined,
    })
  }
}
