import { type JsonValue, type KeyDeclaration, readText, validateValue } from '@plinth/config-schema'
import type { ConfigEntry, ConfigSource, SourceName } from './config-sources.ts'
import { didYouMean, type Problem, problem } from './errors.ts'

/** A declared key and the plugin that it belongs to. */
export interface OwnedKey {
  readonly key: string
  readonly plugin: string
  readonly env: string
  readonly declaration: KeyDeclaration
}

/** A value in a source for a key that no loaded plugin declares; kept, never deleted. */
export interface OrphanedValue {
  readonly name: string
  readonly source: SourceName
  readonly place: string
}

/** A value of a key in one source; it meets the rule of the key. */
export interface Layer {
  readonly source: SourceName
  readonly place: string
  readonly written: JsonValue
  readonly sensitive: boolean
}

/** What one source says. */
export interface Reading {
  /** By key. Of several values for one key, the last wins. */
  readonly layers: readonly (readonly [key: string, layer: Layer])[]
  /** Keys with a value that breaks their rule. */
  readonly refused: readonly string[]
  readonly problems: readonly Problem[]
  /** Things to mend that do not stop the product. */
  readonly warnings: readonly Problem[]
  readonly orphaned: readonly OrphanedValue[]
}

/** Declared keys by their name and by their environment variable. */
export type KeyIndex = Readonly<Record<ConfigEntry['by'], ReadonlyMap<string, OwnedKey>>>

/** Reads a source: what names no key or breaks its rule becomes a problem, a warning or an orphan. */
export function readSource(source: ConfigSource, keys: KeyIndex): Reading {
  const layers: [string, Layer][] = []
  const refused: string[] = []
  const problems: Problem[] = [...(source.problems ?? [])]
  const warnings: Problem[] = []
  const orphaned: OrphanedValue[] = []
  const found = source.entries.map((entry) => ({ entry, owned: keys[entry.by].get(entry.name) }))
  const age = (owned: OwnedKey | undefined) => (owned?.declaration.deprecated === undefined ? 1 : 0)
  // Deprecated names first, so that in one source the name that replaces them wins.
  for (const { entry, owned } of found.sort((a, b) => age(a.owned) - age(b.owned))) {
    const { place, name, by } = entry
    if (owned === undefined) {
      if (source.name === 'database') orphaned.push({ name, source: source.name, place })
      else if (isOurs(entry)) {
        const unknown = { name, nearest: didYouMean(name, keys[by].keys()) }
        // The environment belongs to the machine, not to the product: others may use the prefix too.
        const list = source.name === 'environment' ? warnings : problems
        list.push(problem('PLINTH_CONFIG_UNKNOWN_KEY', place, unknown))
      }
      continue
    }
    const { plugin, declaration, key } = owned
    const { replacement, since } = declaration.deprecated ?? {}
    if (since !== undefined) {
      const details = { key, since, replacement: replacement ?? 'another way; the key has no replacement' }
      warnings.push(problem('PLINTH_CONFIG_DEPRECATED', place, details, plugin))
    }
    const target = (replacement === undefined ? undefined : keys.key.get(replacement)) ?? owned
    const sensitive = declaration.sensitive || target.declaration.sensitive
    // A safety key must not be within reach of whoever can write to the database (decision A14).
    const isForbidden = source.name === 'database' && !(isStorable(declaration) && isStorable(target.declaration))
    const checked = isForbidden ? notFromDatabase : checkEntry({ ...target.declaration, sensitive }, entry)
    if ('reason' in checked) {
      problems.push(problem('PLINTH_CONFIG_INVALID_VALUE', place, { key, reason: checked.reason }, plugin))
      refused.push(target.key)
    } else {
      layers.push([target.key, { source: source.name, place, written: checked.written, sensitive }])
    }
  }
  return { layers, refused, problems, warnings, orphaned }
}

/** A variable without the prefix is somebody else's. */
const isOurs = ({ by, name }: ConfigEntry) => by === 'key' || name.startsWith('PLATFORM_')

/** Values that the database may give: those that an operator edits, and the state that a plugin keeps there. */
const isStorable = ({ editable, state }: KeyDeclaration) => editable || state === true
const notFromDatabase = {
  reason: 'must not come from the database: set it in a file, in the environment or with --set',
}

/** The written form of an entry, or why it breaks the rule of its key. */
export function checkEntry(
  declaration: KeyDeclaration,
  entry: ConfigEntry,
): { readonly written: JsonValue } | { readonly reason: string } {
  let { written } = entry
  if (written === undefined) {
    const read = readText(declaration, entry.text ?? '')
    if (!read.ok) return { reason: read.message }
    written = read.value
  }
  const [fault] = validateValue(declaration, written)
  return fault === undefined ? { written } : { reason: fault.message }
}
