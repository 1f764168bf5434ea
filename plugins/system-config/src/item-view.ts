import { containsFoldedText } from '@plinth/database'
import { operatorVisibleTo, type Viewer } from '@plinth/http'
import { guardsPermission, localize, maskedValue } from '@plinth/kernel'
import type { CatalogueEntry } from '@plinth/kernel/host'
import type { Static } from 'typebox'
import type { ConfigItem } from './contract.ts'
import { businessError, savePermission } from './declarations.ts'
import type { item } from './schemas.ts'

type Matches = (item: ConfigItem) => boolean

const isSecret: Matches = ({ declaration }) => declaration?.sensitive === true

const environments: ReadonlySet<string> = new Set(['environment', 'dotenv'])

/** Filters without a value, such as `@modified`. */
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

/** Filters with a value, such as `@source:env`. */
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
const groupOf = ({ declaration }: ConfigItem) => declaration?.group ?? orphanedGroup

/**
 * Parses a query of words and of filters such as `@modified` and `@source:env`. A key must match all of them. A word is
 * searched in the key, in its environment variable and in its texts in both languages, without regard to case.
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
  const matches = value === undefined ? ownProperty(flags, name) : ownProperty(valued, name)?.(value)
  if (matches !== undefined) return matches
  const known = [...Object.keys(flags).map((flag) => `@${flag}`), ...Object.keys(valued).map((key) => `@${key}:...`)]
  throw businessError('filter-unknown', { params: { filter: part, known: known.join(', ') } })
}

const ownProperty = <T>(table: Readonly<Record<string, T>>, name: string) =>
  Object.hasOwn(table, name) ? table[name] : undefined

const word =
  (part: string): Matches =>
  ({ key, declaration }) =>
    containsFoldedText(textsOf(key, declaration), part)

function textsOf(key: string, declaration: CatalogueEntry | undefined): readonly string[] {
  if (declaration === undefined) return [key]
  const { title, description, env } = declaration
  return [key, env, ...Object.values(title), ...Object.values(description ?? {})]
}

type ItemView = Static<typeof item>

/** A user and the permissions of the user. */
export type Caller = Viewer & { can(permission: string): boolean }

interface Reader {
  readonly locale: string
  readonly principal?: Caller | undefined
  readonly traceId: string
  /** See `Actor.mayChange`. */
  readonly mayChange?: ((group: string) => boolean) | undefined
}

export function orderedGroups(items: readonly ConfigItem[], reader: Reader) {
  return [...Map.groupBy(items, groupOf)]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([group, members]) => ({
      group,
      displayTitle: titleOf(members, reader.locale) ?? group,
      items: members.map((member) => itemView(member, reader)),
    }))
}

function titleOf([first]: readonly ConfigItem[], locale: string): string | undefined {
  const title = first?.declaration?.groupTitle
  return title === undefined ? undefined : localize(title, locale)
}

/** Returns one key for the API response, with texts in the language of the caller. */
export function itemView(item: ConfigItem, reader: Reader): ItemView {
  const { key, declaration, explanation, stored, destinationVersion, problem } = item
  const { locale } = reader
  const { effective, sources = [], pendingRestart = false, refused } = explanation ?? {}
  // See `deniedKeys`.
  const permission = declaration === undefined ? guardsPermission : declaration.permission
  const group = groupOf(item)
  const isForeign = reader.mayChange?.(declaration === undefined ? '' : group) === false
  const isDenied = isForeign || (permission !== undefined && reader.principal?.can(permission) === false)
  const isStoredInForce = effective?.source === 'database' || pendingRestart || refused !== undefined
  return {
    key,
    orphaned: declaration === undefined,
    group,
    displayTitle: declaration === undefined ? key : localize(declaration.title, locale),
    required: declaration?.required ?? false,
    sensitive: declaration?.sensitive ?? stored?.value === maskedValue,
    editable: declaration?.editable === true && !isDenied,
    ...(isDenied && { locked: 'permission' }),
    ...(declaration?.editable !== true && { locked: lockOf(declaration) }),
    ...(permission !== undefined && { permission }),
    ...(isForeign && { permission: `${savePermission}:${group}` }),
    isSet: effective !== undefined && effective.source !== 'default',
    sources: sources.map(({ withheld, ...source }) => {
      const unused = withheld === undefined ? {} : { withheld: [...withheld] }
      // The place of a stored value contains the name of the operator. It is replaced here, because only the field
      // `stored` shows the name, to callers with access.
      const place = source.source === 'database' ? `stored value of ${key}` : source.place
      return { ...source, ...unused, place, active: source.place === effective?.place }
    }),
    version: stored?.version ?? 0,
    shadowed: stored !== undefined && declaration !== undefined && problem === undefined && !isStoredInForce,
    pendingRestart,
    ...(declaration && declaredMembers(declaration, locale)),
    ...(effective && { source: effective.source, ...(effective.value !== undefined && { value: effective.value }) }),
    ...(stored && {
      stored: {
        ...(stored.value !== undefined && { value: stored.value }),
        updatedAt: stored.updatedAt.toISOString(),
        updatedBy: operatorVisibleTo(reader, stored.updatedBy),
      },
    }),
    ...(refused !== undefined && { refused }),
    ...(explanation?.isInsecure && { insecure: localize(declaration?.insecure?.reason ?? '', locale) }),
    ...(destinationVersion !== undefined && { destinationVersion }),
    ...(problem !== undefined && { problem }),
  }
}

function lockOf(declaration: ConfigItem['declaration']): NonNullable<ItemView['locked']> {
  if (declaration === undefined) return 'orphaned'
  if (declaration.state === true) return 'state'
  return declaration.scope === 'process' ? 'process' : 'safety'
}

function declaredMembers(declaration: NonNullable<ConfigItem['declaration']>, locale: string) {
  const {
    plugin,
    type,
    schema,
    default: fallback,
    examples,
    reload,
    scope,
    env,
    description,
    rule,
    deprecated,
    destination,
  } = declaration
  const { since = '', replacement, reason } = deprecated ?? {}
  return {
    plugin,
    type,
    schema,
    reload,
    scope: scope ?? ('product' as const),
    env,
    ...(description !== undefined && { displayDescription: localize(description, locale) }),
    ...(rule !== undefined && { displayRule: localize(rule, locale) }),
    ...(fallback !== undefined && { default: fallback }),
    ...(examples !== undefined && { examples: [...examples] }),
    ...(destination !== undefined && { destination: [...destination] }),
    ...(deprecated !== undefined && {
      deprecated: {
        since,
        ...(replacement !== undefined && { replacement }),
        ...(reason !== undefined && { reason: localize(reason, locale) }),
      },
    }),
  }
}
