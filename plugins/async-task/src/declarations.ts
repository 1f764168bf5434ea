import { defineBusinessErrors, errorTable, isBusinessError } from '@plinth/kernel'
import type { TaskFailure } from './contract.ts'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

/** Errors that a plugin author or an operator must fix. */
export const asyncTaskError = errorTable({
  PLINTH_ASYNC_TASK_TYPE_TAKEN: `Tasks of the type "{{type}}" have a handler already.
    Give one of the two types another id, beginning with the name of its plugin.`,
  PLINTH_ASYNC_TASK_PERMISSION: `Files of the task type "{{type}}" need the permission "{{permission}}", which no loaded plugin declares.
    List it under \`permissions\` of the plugin that owns the type, or correct its code.`,
  PLINTH_ASYNC_TASK_TYPE_UNKNOWN: `Nobody handles tasks of the type "{{type}}".
    Call handle() for the type during set-up, in every role of the process.`,
  PLINTH_ASYNC_TASK_PARAMS: `The parameters of a task "{{type}}" do not fit: {{reason}}.
    Hand over what the schema of the type describes, in values that JSON can carry, at most 64 KiB.`,
  PLINTH_ASYNC_TASK_ARTIFACT: `A task "{{type}}" may not write this file: {{reason}}.
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

/** Returns the failure that the owner of a task sees for an error of its handler. */
export function failureOf(error: unknown): TaskFailure {
  const {
    message,
    params,
    reason = 'async-task.failed',
    messageKey,
  } = isBusinessError(error) ? error : businessError('failed')
  return { reason, message, messageKey, params }
}
