/** The environment that a process declares in `NODE_ENV`. */
export interface NodeEnvironment {
  readonly isProduction: boolean
  /** An unknown value, which counts as production. */
  readonly unknown: string | undefined
}

const development = new Set(['', 'development', 'dev', 'test', 'testing', 'local', 'ci'])
const production = new Set(['production', 'prod'])

/**
 * Reads `NODE_ENV` in any case, with blanks around it, and shortened. An unknown value counts as production: the opposite would
 * open what its operator believes to be closed.
 */
export function nodeEnvironmentOf(nodeEnvironment: string | undefined): NodeEnvironment {
  const name = (nodeEnvironment ?? '').trim().toLowerCase()
  const isKnown = development.has(name) || production.has(name)
  return { isProduction: !development.has(name), unknown: isKnown ? undefined : name.slice(0, 64) }
}
