/** What a process says of itself in `NODE_ENV`. */
export interface NodeEnvironment {
  readonly isProduction: boolean
  /** Set for a value that nobody knows; it counts as production. */
  readonly unknown: string | undefined
}

const development = new Set(['', 'development', 'dev', 'test', 'testing', 'local', 'ci'])
const production = new Set(['production', 'prod'])

/**
 * Reads `NODE_ENV` as people write it: in any case, with blanks around it, shortened. What is neither development nor
 * production counts as production, because the opposite would leave an installation open that somebody believes closed.
 */
export function nodeEnvironmentOf(nodeEnvironment: string | undefined): NodeEnvironment {
  const name = (nodeEnvironment ?? '').trim().toLowerCase()
  const isKnown = development.has(name) || production.has(name)
  return { isProduction: !development.has(name), unknown: isKnown ? undefined : name.slice(0, 64) }
}
