import type { Events } from '@plinth/events'
import {
  type AuditTexts,
  defineBusinessErrors,
  errorTable,
  fitTextToColumn,
  isBusinessError,
  bilingual as text,
} from '@plinth/kernel'
import { asyncTaskFailed, type TaskFailure } from './contract.ts'
import type { TaskRow } from './entities.ts'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const asyncTaskError = errorTable({
  PLINTH_ASYNC_TASK_TYPE_TAKEN: `The task type "{{type}}" already has a handler.
    Change the id of one of the two types. Begin it with the name of its plugin.`,
  PLINTH_ASYNC_TASK_PERMISSION: `Files of the task type "{{type}}" require the permission "{{permission}}", which no loaded plugin declares.
    List the permission under \`permissions\` of the plugin that declares the type, or correct its code.`,
  PLINTH_ASYNC_TASK_TYPE_UNKNOWN: `No loaded plugin handles tasks of the type "{{type}}".
    Call handle() for the type during setup, in every process role.`,
  PLINTH_ASYNC_TASK_PARAMS: `The parameters of the task type "{{type}}" do not match the schema: {{reason}}.
    Pass values that match the schema of the type, consist of JSON values and have at most 64 KiB.`,
  PLINTH_ASYNC_TASK_ARTIFACT: `Task "{{type}}" cannot write this file: {{reason}}.
    Write one file per task, before the handler ends, with a name of 1 to 200 characters.`,
})

export const messages = { en, 'zh-CN': zhCN }

export const businessError = defineBusinessErrors('async-task', en['async-task'], {
  unknown: '404',
  finished: '409',
  'queue-full': '429',
  'owner-limit': '429',
  'no-artifact': '404',
  'file-forbidden': '403',
  'reader-gone': '403',
  'params-outdated': '500',
  failed: '500',
  deadline: '500',
  lost: '500',
})

/** Returns the failure that the owner of a task sees after an error of the handler. */
export function toTaskFailure(error: unknown): TaskFailure {
  const {
    message,
    params,
    reason = 'async-task.failed',
    messageKey,
  } = isBusinessError(error) ? error : businessError('failed')
  return { reason, message, messageKey, params }
}

type FailedTask = Pick<TaskRow, 'id' | 'type' | 'ownerId' | 'attempts'>

/**
 * Publishes the failure of a task. Must be called in the transaction that records it.
 *
 * @param error text for operators, without secrets
 */
export type PublishFailure = (task: FailedTask, failure: TaskFailure, error: string) => Promise<void>

const maxErrorLength = 500

/**
 * Returns a function that publishes failures.
 *
 * @param bus if `undefined`, nothing is published
 */
export const createFailurePublisher =
  (bus: Events | undefined): PublishFailure =>
  async ({ id, type, ownerId, attempts }, { reason }, error) => {
    await bus?.publish(asyncTaskFailed, {
      taskId: id,
      type,
      ownerId,
      reason,
      error: fitTextToColumn(error, maxErrorLength),
      attempts,
    })
  }

/** Names of the audited actions, for people. */
export const audited: Readonly<Record<string, AuditTexts>> = {
  'async-task': {
    title: text('Task', '任务'),
    page: 'async-task.task',
    actions: { cancel: text('Cancel', '取消') },
    facts: {
      ownerId: { title: text('Owner', '所有者'), labels: 'iam.user', page: 'iam.user' },
      taskType: { title: text('Type', '类型') },
      file: { title: text('File', '文件') },
    },
  },
}
