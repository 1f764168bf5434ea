import type { TextParams } from '@plinth/kernel'

/** Codes of the built-in steps (decision B57). The tasks of plugins run between the migration and the administrator. */
export const builtIn = {
  entry: 'security-entry',
  preflight: 'environment-preflight',
  validation: 'config-validation',
  write: 'config-write',
  migration: 'database-migration',
  baseIdentity: 'base-identity',
  administrator: 'administrator',
  lock: 'install-lock',
} as const

/** Codes of records that do not belong to a step. */
export const remarks = { retryRequested: 'retry-requested' } as const

/** A step that cannot continue, with a text for the person who installs. `text` is the name of the message. */
export class StepFailure extends Error {
  override readonly name = 'StepFailure'
  readonly text: string
  readonly params: TextParams
  /** Field of the form to correct, for example `database.host`, or empty. */
  readonly field: string

  constructor(text: string, params: TextParams = {}, cause?: unknown, field = '') {
    super(text, cause === undefined ? {} : { cause })
    this.text = text
    this.params = params
    this.field = field
  }
}
