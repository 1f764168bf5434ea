import type { Database } from '@plinth/database'
import { type BusinessError, type Clock, fitTextToColumn, ownProperty } from '@plinth/kernel'
import type { ApprovalInstance, ApprovalRequest, Approvals, ApprovalWorkflow } from './contract.ts'
import { businessError } from './declarations.ts'
import { Approval } from './entities.ts'

interface GuardDependencies {
  readonly db: Database
  readonly clock: Pick<Clock, 'now'>
  readonly workflows: ReadonlyMap<string, ApprovalWorkflow>
}

export class ApprovalGuard implements Approvals {
  readonly #parts: GuardDependencies

  constructor(parts: GuardDependencies) {
    this.#parts = parts
  }

  async assert(request: ApprovalRequest): Promise<ApprovalInstance> {
    const { workflow, action, source, permissions } = request
    const problem = problemOf(request, this.#parts.workflows.get(workflow))
    const id = await this.#record(request, problem)
    if (problem !== undefined) throw problem
    return { id, workflow, action, source, permissions, result: 'approved' }
  }

  async #record(request: ApprovalRequest, problem: BusinessError | undefined): Promise<number> {
    const { db, clock } = this.#parts
    const { workflow, action, source, permissions, actor, traceId } = request
    const id = db.newId()
    const em = db.fork()
    await em.insert(Approval.entity, {
      id,
      workflow: fitTextToColumn(workflow, 64),
      action: fitTextToColumn(action, 64),
      sourceType: fitTextToColumn(source.type, 64),
      sourceId: fitTextToColumn(source.id, 64),
      sourceState: fitTextToColumn(source.state, 32),
      permissionSnapshot: permissions.slice(0, 32),
      actorUserId: 'userId' in actor ? actor.userId : null,
      actorName: 'name' in actor ? fitTextToColumn(actor.name, 64) : null,
      result: problem === undefined ? 'approved' : 'refused',
      reason: problem?.reason ?? null,
      traceId: traceId === undefined ? null : fitTextToColumn(traceId, 128),
      createdAt: new Date(clock.now()),
    })
    return id
  }
}

/**
 * Returns why the step is not allowed, or undefined. Only checks action, state and permissions (document 3 of the
 * specification, settlement rule 4).
 */
function problemOf(
  { workflow, action, source: { state }, permissions }: ApprovalRequest,
  found: ApprovalWorkflow | undefined,
): BusinessError | undefined {
  if (found === undefined) return businessError('workflow-unknown', { params: { workflow } })
  const rule = ownProperty(found.actions, action)
  if (rule === undefined) return businessError('action-unknown', { params: { workflow, action } })
  if (!rule.from.includes(state))
    return businessError('state-not-allowed', { params: { action, state }, data: { state } })
  const { permission } = rule
  if (permission === undefined || permissions.includes(permission)) return undefined
  return businessError('permission-missing', { params: { action, permission }, data: { permission } })
}
