import { extensionPoint, type LocalizedText, service, shape } from '@plinth/kernel'

/** Conditions of a step. */
export interface ApprovalRule {
  readonly displayName: LocalizedText
  /** States of the source in which the step is allowed. */
  readonly from: readonly string[]
  /** Permission that the actor must have; absent: none is required. */
  readonly permission?: string
}

/** The steps of one workflow, by name. */
export interface ApprovalWorkflow {
  readonly displayName: LocalizedText
  readonly actions: Readonly<Record<string, ApprovalRule>>
}

/** Workflows by code, at most 64 characters, for example `money.web3.payment-settlement.review`. */
export const approvalWorkflow = extensionPoint<ApprovalWorkflow>('approval.workflow', {
  from: '@plinth/approval',
  live: true,
  names: { ...shape.dotted, maxLength: 64 },
  shape: shape.record<ApprovalWorkflow>({
    displayName: shape.localized,
    actions: shape.map(
      shape.record<ApprovalRule>(
        { displayName: shape.localized, from: shape.list(shape.text) },
        { permission: shape.text },
      ),
    ),
  }),
})

/** The object that a step concerns. */
export interface ApprovalSource {
  /** Kind of the object, for example `web3-settlement-review-log`; at most 64 characters. */
  readonly type: string
  readonly id: string
  /** Current state; at most 32 characters. */
  readonly state: string
}

export interface ApprovalRequest {
  readonly workflow: string
  readonly action: string
  readonly source: ApprovalSource
  /** Permissions of the actor, now or when the step was decided; at most 32. */
  readonly permissions: readonly string[]
  /** A user, or the name of an actor that is not a user. */
  readonly actor: { readonly userId: number } | { readonly name: string }
  readonly traceId?: string | undefined
}

export const approvalResults = ['approved', 'refused'] as const
export type ApprovalResult = (typeof approvalResults)[number]

export interface ApprovalInstance {
  readonly id: number
  readonly workflow: string
  readonly action: string
  readonly source: ApprovalSource
  readonly permissions: readonly string[]
  readonly result: ApprovalResult
}

/** Checks the steps of workflows (decision A12). */
export interface Approvals {
  /**
   * Checks that the action, the state of the source and the permissions allow the step, and records the result. Must be
   * called before the transaction of the step. Otherwise the record of a rejection would be rolled back.
   *
   * @throws BusinessError "404" `approval.workflow-unknown`, "400" `approval.action-unknown`, "409"
   *   `approval.state-not-allowed`, "403" `approval.permission-missing`
   */
  assert(request: ApprovalRequest): Promise<ApprovalInstance>
}

export const approvals = service<Approvals>('approval.approvals', { from: '@plinth/approval' })
