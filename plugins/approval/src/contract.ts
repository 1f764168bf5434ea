import { extensionPoint, type LocalizedText, service, shape } from '@plinth/kernel'

/** When a step may be taken. Nothing else is looked at: neither the thing itself nor the world around it. */
export interface ApprovalRule {
  readonly displayName: LocalizedText
  /** States of the source from which the step may be taken. */
  readonly from: readonly string[]
  /** Code that the permission snapshot must hold; none is needed when absent. */
  readonly permission?: string
}

/** The steps of one workflow by their names. */
export interface ApprovalWorkflow {
  readonly displayName: LocalizedText
  readonly actions: Readonly<Record<string, ApprovalRule>>
}

/** Workflows by their codes, at most 64 characters, such as `money.web3.payment-settlement.review`. */
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

/** What a step is about. */
export interface ApprovalSource {
  /** For example `web3-settlement-review-log`; at most 64 characters. */
  readonly type: string
  /** At most 64 characters. */
  readonly id: string
  /** As it is now; at most 32 characters. */
  readonly state: string
}

export interface ApprovalRequest {
  readonly workflow: string
  readonly action: string
  readonly source: ApprovalSource
  /** Permissions that whoever takes the step holds, or held when it was decided; at most 32. */
  readonly permissions: readonly string[]
  /** A user, or the name of what acts by itself. */
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

/** Guards the steps of workflows (decision A12). */
export interface Approvals {
  /**
   * Passes when action, source state and permission snapshot allow the step, and records either outcome. Called before the
   * transaction of the step: a refusal is kept although nothing else happens.
   *
   * @throws BusinessError "404" `approval.workflow-unknown`, "400" `approval.action-unknown`, "409"
   *   `approval.state-not-allowed`, "403" `approval.permission-missing`
   */
  assert(request: ApprovalRequest): Promise<ApprovalInstance>
}

export const approvals = service<Approvals>('approval.approvals', { from: '@plinth/approval' })
