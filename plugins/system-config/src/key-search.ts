import { holdsText } from '@plinth/database'
import type { CatalogueEntry } from '@plinth/kernel'
import type { ConfigItem } from './contract.ts'
import { refusal } from './failures.ts'

type Matches = (item: ConfigItem) => boolean

const isSecret: Matches = ({ declaration }) => declaration?.sensitive === true

/** The process environment, and the file that is read in its place. */
const environments: ReadonlySet<string> = new Set(['environment', 'dotenv'])

/** `@modified`, `@sensitive`, ... */
const flags: Readonly<Record<string, Matches>> = {
  modified: ({ explanation }) => explanation !== undefined && explanation.effective.source !== 'default',
  stored: ({ stored }) => stored !== undefined,
  sensitive: isSecret,
  secret: isSecret,
  env: ({ explanation }) => environments.has(explanation?.effective.source ?? ''),
  restart: ({ declaration }) => declaration?.reload === 'restart',
  live: ({ declaration }) => declaration?.reload === 'live',
  locked: ({ declaration }) => declaration?.editable === false,
  process: ({ declaration }) => declaration?.scope === 'process',
  orphaned: ({ declaration }) => declaration === undefined,
  deprecated: ({ declaration }) => declaration?.deprecated !== undefined,
  pending: ({ explanation }) => explanation?.pendingRestart === true,
  insecure: ({ explanation }) => explanation?.isInsecure === true,
  problem: ({ explanation, problem }) => problem !== undefined || explanation?.refused !== undefined,
}

/** `@source:env`, `@group:rate-limit`, ... */
const valued: Readonly<Record<string, (value: string) => Matches>> = {
  source: (value) => {
    const source = sourceAliases[value] ?? value
    return ({ explanation }) => explanation?.effective.source === source
  },
  group: (value) => (item) => groupOf(item) === value,
  plugin: (value) => (item) => item.declaration?.plugin === value,
}

const sourceAliases: Readonly<Record<string, string>> = { env: 'environment', cli: 'command-line', db: 'database' }

const orphanedGroup = 'orphaned'
export const groupOf = ({ declaration }: ConfigItem) => declaration?.group ?? orphanedGroup

/**
 * Reads a query: filters such as `@modified` and `@source:env`, and words. An item has to meet all of them; words are
 * looked for in the key, its variable and its texts in both languages, whatever their case.
 *
 * @throws BusinessError `400`, reason `system-config.filter-unknown`
 */
export function parseQuery(query: string): Matches {
  const parts = query.split(/\s+/).filter((part) => part !== '')
  const matchers = parts.map((part) => (part.startsWith('@') ? filter(part) : word(part)))
  return (item) => matchers.every((matches) => matches(item))
}

function filter(part: string): Matches {
  const [name = '', value] = part.slice(1).toLowerCase().split(/:(.*)/s)
  const matches = value === undefined ? own(flags, name) : own(valued, name)?.(value)
  if (matches !== undefined) return matches
  const known = [...Object.keys(flags).map((flag) => `@${flag}`), ...Object.keys(valued).map((key) => `@${key}:...`)]
  throw refusal('filter-unknown', { params: { filter: part, known: known.join(', ') } })
}

const own = <T>(table: Readonly<Record<string, T>>, name: string) =>
  Object.hasOwn(table, name) ? table[name] : undefined

const word =
  (part: string): Matches =>
  ({ key, declaration }) =>
    holdsText(textsOf(key, declaration), part)

function textsOf(key: string, declaration: CatalogueEntry | undefined): readonly string[] {
  if (declaration === undefined) return [key]
  const { title, description, env } = declaration
  return [key, env, ...Object.values(title), ...Object.values(description ?? {})]
}
