import { isPlinthError } from '../errors.ts'

/** Exit codes of the `plinth` program. */
export const exitCodes = {
  ok: 0,
  /** It ran and failed. */
  failed: 1,
  /** Unknown command, option or name, missing argument. */
  usage: 2,
  /** The product was refused before anything started: plan or configuration. */
  refused: 3,
  /** A signal ended a command, or a second one ended a stop that was under way. */
  interrupted: 130,
} as const

const byError: Readonly<Record<string, number>> = {
  PLINTH_CLI_USAGE: exitCodes.usage,
  PLINTH_PRODUCT_NOT_FOUND: exitCodes.refused,
  PLINTH_PRODUCT_INVALID: exitCodes.refused,
  PLINTH_START_REFUSED: exitCodes.refused,
  PLINTH_START_CANCELLED: exitCodes.interrupted,
}

export function exitCodeOf(error: unknown): number {
  return (isPlinthError(error) ? byError[error.code] : undefined) ?? exitCodes.failed
}
