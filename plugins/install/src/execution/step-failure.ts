import type { TextParams } from '@plinth/kernel'

/** Codes of the built-in steps (decision B57). The tasks of the plugins run between the migration and the administrator. */
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

/** Codes of records that belong to no step. */
export const remarks = { retryRequested: 'retry-requested' } as const

/** A step that cannot go on, in words for whoever installs. `text` names the message. */
export class StepFailure extends Error {
  override readonly name = 'StepFailure'
  readonly text: string
  readonly params: TextParams
  /** Field of the form that is to be corrected, for example `database.host`; empty for none. */
  readonly field: string

  constructor(text: string, params: TextParams = {}, cause?: unknown, field = '') {
    super(text, cause === undefined ? {} : { cause })
    this.text = text
    this.params = params
    this.field = field
  }
}
