import {
  environmentNameOf,
  type InsecureValue,
  inBothLocales,
  type JsonSchema,
  type JsonValue,
  type KeyDeclaration,
  type KeyDeclarations,
  type Localized,
  type Reload,
  type RequiredWhile,
} from './declaration.ts'
import type { OwnedKey } from './owned-keys.ts'
import { maskedValue } from './value.ts'

/** One configuration key, as plain JSON for users and for the config centre. */
export interface CatalogueEntry {
  readonly key: string
  readonly plugin: string
  readonly group: string
  /** Absent if no plugin declares a title for the group. */
  readonly groupTitle?: Localized
  readonly type: string
  readonly format?: string
  readonly schema: JsonSchema
  readonly title: Localized
  readonly description?: Localized
  /** True if the value may contain several lines. */
  readonly multiline?: boolean
  /** The pattern in words. The text completes "must ..." and "必须…". */
  readonly rule?: Localized
  /**
   * Default in written form, for example `5m`. The default of a sensitive key is replaced by `maskedValue`, unless it
   * is empty.
   */
  readonly default?: JsonValue
  readonly required: boolean
  readonly sensitive: boolean
  readonly reload: Reload
  readonly editable: boolean
  /**
   * True if the plugin that declares the key also stores its value in the database. Operators cannot change such a
   * value.
   */
  readonly state?: boolean
  /** `process`: the value belongs to one process and is never stored for all instances. */
  readonly scope?: 'process'
  /** The value that is unsafe in production, and the reason. */
  readonly insecure?: Omit<InsecureValue, 'reason'> & { readonly reason: Localized }
  /** Another key and its value. While the other key has this value, this key must not be false. */
  readonly neededWhile?: RequiredWhile
  /** For a secret: the keys that decide where the secret is sent, such as a host. */
  readonly destination?: readonly string[]
  /** Permission that a user needs to change the value, see `KeyDeclaration.permission`. */
  readonly permission?: string
  readonly env: string
  readonly deprecated?: { readonly since: string; readonly replacement?: string; readonly reason?: Localized }
  readonly examples?: readonly JsonValue[]
}

/**
 * Returns one entry for each key of the given plugins, sorted by key. The declarations must have passed
 * `validateDeclaration`.
 */
export function buildCatalogue(
  owners: Iterable<{ readonly plugin: string; readonly keys: KeyDeclarations }>,
): CatalogueEntry[] {
  return catalogueOf(
    [...owners].flatMap(({ plugin, keys }) =>
      Object.entries(keys).map(([key, declaration]) => {
        return { key, plugin, env: environmentNameOf(key, declaration), declaration }
      }),
    ),
  )
}

/** Returns one entry for each given key, sorted by key. */
export function catalogueOf(keys: Iterable<OwnedKey>): CatalogueEntry[] {
  return Array.from(keys, entryOf).sort((a, b) => (a.key < b.key ? -1 : Number(a.key > b.key)))
}

/** Returns the group of a key: the declared one, otherwise the second segment of the key. */
export const groupOf = (key: string, { group }: Pick<KeyDeclaration, 'group'>): string =>
  group ?? key.split('.')[1] ?? ''

function entryOf({ key, plugin, env, declaration, groupTitle }: OwnedKey): CatalogueEntry {
  const { schema, description, default: fallback, deprecated, examples, required, sensitive } = declaration
  const { reason, ...deprecation } = deprecated ?? { since: '' }
  return {
    key,
    plugin,
    group: groupOf(key, declaration),
    ...(groupTitle !== undefined && { groupTitle: inBothLocales(groupTitle) }),
    type: String(schema['type']),
    ...(typeof schema['format'] === 'string' && { format: schema['format'] }),
    schema,
    title: inBothLocales(declaration.title),
    ...(description !== undefined && { description: inBothLocales(description) }),
    ...(declaration.multiline && { multiline: true }),
    ...(declaration.rule !== undefined && { rule: inBothLocales(declaration.rule) }),
    ...(fallback !== undefined && { default: sensitive && !isEmpty(fallback) ? maskedValue : fallback }),
    required,
    sensitive,
    reload: declaration.reload,
    editable: declaration.editable,
    ...(declaration.state && { state: true }),
    ...(declaration.scope && { scope: declaration.scope }),
    ...(declaration.insecure && {
      insecure: { ...declaration.insecure, reason: inBothLocales(declaration.insecure.reason) },
    }),
    ...(declaration.neededWhile && { neededWhile: declaration.neededWhile }),
    ...(declaration.destination && { destination: declaration.destination }),
    ...(declaration.permission !== undefined && { permission: declaration.permission }),
    env,
    ...(deprecated && {
      deprecated: { ...deprecation, ...(reason !== undefined && { reason: inBothLocales(reason) }) },
    }),
    ...(examples && { examples }),
  }
}

const isEmpty = (value: JsonValue) => value === '' || JSON.stringify(value) === '[]' || JSON.stringify(value) === '{}'

/** Returns the entries of each group. The groups are sorted by name. */
export function groupsOf(entries: readonly CatalogueEntry[]): [group: string, entries: CatalogueEntry[]][] {
  const groups = Map.groupBy(entries, (entry) => entry.group)
  return [...groups].sort(([a], [b]) => (a < b ? -1 : Number(a > b)))
}
