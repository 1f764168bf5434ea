import type { Identity, Principal } from '@plinth/iam'
import { type AuditEntry, type Kernel, writeAuditEntry } from '@plinth/kernel'
import type { UrlGuard } from '@plinth/storage'
import type { AsyncTask, TaskArtifact } from './contract.ts'
import { businessError } from './declarations.ts'
import type { TaskService } from './task-service.ts'
import type { TaskTypes } from './task-types.ts'

export const urlGuardName = 'async-task'

export type CallerOrigin = Required<Pick<AuditEntry, 'clientIp' | 'traceId'>>

interface AccessDependencies {
  readonly tasks: TaskService
  readonly types: TaskTypes
  /** Kernel whose audit records access to files of other users. */
  readonly product: Pick<Kernel, 'contributions'>
  /** If absent, only the owner sees a task. */
  readonly identity: Pick<Identity, 'rowsInScope' | 'principalOf'> | undefined
}

/**
 * Decides who may see a task and read its file. The owner, and users whose data scope includes the owner, may see the
 * task. Its file may contain data that these users may not see. So only the owner, and users with the data scope `all`
 * and the permission of the task type, may read the file.
 */
export class TaskAccess {
  readonly #parts: AccessDependencies

  constructor(parts: AccessDependencies) {
    this.#parts = parts
  }

  condition(principal: Principal): object {
    return this.#parts.identity?.rowsInScope(principal, 'owner_id') ?? { ownerId: principal.userId }
  }

  /** @throws BusinessError "404" `async-task.unknown`, also if the principal may not see the task */
  async visible(id: number, principal: Principal): Promise<AsyncTask> {
    return this.#parts.tasks.get(id, this.condition(principal))
  }

  /**
   * Returns the file of a task for a user who downloads it or creates a URL. Access to a file of another user is
   * audited.
   *
   * @throws BusinessError "404" `async-task.unknown`, `async-task.no-artifact`, "403" `async-task.file-forbidden`
   */
  async file(
    id: number,
    principal: Principal,
    verb: 'read-file' | 'make-url',
    origin: CallerOrigin,
  ): Promise<TaskArtifact> {
    const { ownerId, type, artifact } = await this.visible(id, principal)
    const isForeign = ownerId !== principal.userId
    if (isForeign && !this.#isReader(type, principal)) throw businessError('file-forbidden')
    if (artifact === null) throw businessError('no-artifact')
    if (isForeign) {
      await writeAuditEntry(this.#parts.product, {
        actor: { userId: principal.userId },
        action: `async-task.${verb}`,
        subject: id,
        ...origin,
        summary: { ownerId, taskType: type, file: artifact.name },
      })
    }
    return artifact
  }

  /** Returns the subject of a file URL, which contains the task and the user. */
  subject(id: number, principal: Principal): string {
    return `${id}.${principal.userId}`
  }

  /** Checks the current permissions of the user for each download. */
  readonly guard: UrlGuard = async (subject, { disk, path }, { clientIp, traceId }) => {
    const [taskId, userId] = subject.split('.').map(Number) as [number, number]
    const principal = await this.#parts.identity?.principalOf(userId)
    if (principal === undefined) throw businessError('reader-gone')
    const artifact = await this.file(taskId, principal, 'read-file', { clientIp, traceId })
    if (artifact.disk !== disk || artifact.path !== path) throw businessError('no-artifact')
  }

  mayRead({ ownerId, type, artifact }: AsyncTask, principal: Principal): boolean {
    return artifact !== null && (ownerId === principal.userId || this.#isReader(type, principal))
  }

  #isReader(type: string, principal: Principal): boolean {
    const permission = this.#parts.types.find(type)?.type.readPermission
    return permission !== undefined && principal.dataScope === 'all' && principal.can(permission)
  }
}
