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
