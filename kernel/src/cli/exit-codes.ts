/** Exit codes of the `plinth` program. */
export const exitCodes = {
  ok: 0,
  /** It ran and failed. */
  failed: 1,
  /** Unknown command, option or name, missing argument. */
  usage: 2,
  /** The product was refused before anything started: plan or configuration. */
  refused: 3,
  /** The product stopped because it wants to be started again (EX_TEMPFAIL of sysexits.h). */
  restart: 75,
  /** A signal ended a command, or a second one ended a stop that was under way. */
  interrupted: 130,
} as const
