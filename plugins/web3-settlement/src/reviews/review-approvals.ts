import type { Approvals, ApprovalWorkflow } from '@plinth/approval'
import { permissionCodes } from '../declarations.ts'
import type { Reviewer } from './review-logs.ts'

/** Id of the workflow for reviews (document 3 of the specification, settlement rule 4). */
export const reviewWorkflow = 'money.web3.payment-settlement.review'
/** Type of the object to which these approvals belong. */
const reviewSource = 'web3-settlement-review-log'

/**
 * Workflow of reviews. Operators need the permission at the time of the action. Automatic actions use the permissions
 * of the user who saved the review. The state `new` means that the review is not saved yet. The executor repeats all
 * checks of the payment.
 */
export const settlementWorkflow = {
  displayName: { en: 'Review of on-chain payments', 'zh-CN': '链上付款复核' },
  actions: {
    record: {
      displayName: { en: 'Save a review', 'zh-CN': '保存复核' },
      from: ['new'],
      permission: permissionCodes.reviewCreate,
    },
    settle: {
      displayName: { en: 'Settle', 'zh-CN': '结算' },
      from: ['open', 'approved', 'noted', 'settled'],
      permission: permissionCodes.execute,
    },
    'timeout-approve': {
      displayName: { en: 'Approve an overdue review', 'zh-CN': '超时自动通过' },
      from: ['open'],
      permission: permissionCodes.reviewCreate,
    },
    'timeout-reject': {
      displayName: { en: 'Reject an overdue review', 'zh-CN': '超时自动拒绝' },
      from: ['open'],
      permission: permissionCodes.reviewCreate,
    },
    'auto-retry': {
      displayName: { en: 'Retry automatically', 'zh-CN': '自动重试' },
      from: ['open', 'approved'],
      permission: permissionCodes.reviewCreate,
    },
  },
} as const satisfies ApprovalWorkflow

type ReviewStep = keyof typeof settlementWorkflow.actions

export class ReviewApprovals {
  readonly #approvals: Approvals

  constructor(approvals: Approvals) {
    this.#approvals = approvals
  }

  /**
   * Checks that a reviewer may take this step. For a new review, `source` describes its order.
   *
   * @throws the errors of `Approvals.assert`
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
