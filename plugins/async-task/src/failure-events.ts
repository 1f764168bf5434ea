import type { Events } from '@plinth/events'
import { columnText } from '@plinth/kernel'
import { asyncTaskFailed, type TaskFailure } from './contract.ts'
import type { TaskRow } from './entities.ts'

type FailedTask = Pick<TaskRow, 'id' | 'type' | 'ownerId' | 'attempts'>

/**
 * Publishes the failure of a task. Called in the transaction that records it.
 *
 * @param error for operators, without secrets
 */
export type PublishFailure = (task: FailedTask, failure: TaskFailure, error: string) => Promise<void>

const maxErrorLength = 500

/**
 * Returns a function that publishes failures.
 *
 * @param bus if `undefined`, nothing is published
 */
export const failureEvents =
  (bus: Events | undefined): PublishFailure =>
  async ({ id, type, ownerId, attempts }, { reason }, error) => {
    await bus?.publish(asyncTaskFailed, {
      taskId: id,
      type,
      ownerId,
      reason,
      error: columnText(error, maxErrorLength),
      attempts,
    })
  }
