import { errorTable } from '@plinth/kernel'

/** Every fault that an author or an operator must mend. */
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
