import { errorTable } from '@plinth/kernel'

/** Errors of `plinth create`. */
export const createError = errorTable({
  PLINTH_CREATE_NAME: `The name "{{name}}" cannot be used: {{reason}}.
    Choose another name: lower-case words with digits, joined by "-", at most 30 characters, such as "acme-chat".`,
  PLINTH_CREATE_NOT_EMPTY: `The folder {{folder}} is not empty: it contains "{{first}}". Nothing was written.
    Choose another folder, or empty this one.`,
})
