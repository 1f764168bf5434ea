import { PlinthError } from '@plinth/kernel'

/** Every fault that an author or an operator must mend: what happened, and what to do about it. `{name}` marks a detail. */
export const asyncTaskErrors = {
  PLINTH_ASYNC_TASK_TYPE_TAKEN: {
    text: 'Tasks of the type "{type}" have a handler already.',
    fix: 'Give one of the two types another id, beginning with the name of its plugin.',
  },
  PLINTH_ASYNC_TASK_PERMISSION: {
    text: 'Files of the task type "{type}" need the permission "{permission}", which no loaded plugin declares.',
    fix: 'List it under `permissions` of the plugin that owns the type, or correct its code.',
  },
  PLINTH_ASYNC_TASK_TYPE_UNKNOWN: {
    text: 'Nobody handles tasks of the type "{type}".',
    fix: 'Call handle() for the type during set-up, in every role of the process.',
  },
  PLINTH_ASYNC_TASK_PARAMS: {
    text: 'The parameters of a task "{type}" do not fit: {reason}.',
    fix: 'Hand over what the schema of the type describes, in values that JSON can carry, at most 64 KiB.',
  },
  PLINTH_ASYNC_TASK_ARTIFACT: {
    text: 'A task "{type}" may not write this file: {reason}.',
    fix: 'Write one file per task, before the handler ends, with a name of 1 to 200 characters.',
  },
  PLINTH_ASYNC_TASK_NO_REDIS: {
    text: 'platform.async-task.engine is "bullmq", but the product has no Redis.',
    fix: 'Load @plinth/shared-store with platform.cache.enabled=true, or use the engine "embedded".',
  },
} as const satisfies Record<string, { readonly text: string; readonly fix: string }>

export type AsyncTaskErrorCode = keyof typeof asyncTaskErrors

export function asyncTaskError(
  code: AsyncTaskErrorCode,
  details: Readonly<Record<string, string | number>> = {},
  cause?: unknown,
): PlinthError {
  const { text, fix } = asyncTaskErrors[code]
  const message = text.replace(/\{(\w+)\}/g, (whole, name: string) => String(details[name] ?? whole))
  return new PlinthError(code, message, fix, { cause })
}
