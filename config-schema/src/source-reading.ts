import type { JsonValue, KeyDeclaration } from './declaration.ts'
import { didYouMean } from './nearest.ts'
import type { OwnedKey } from './owned-keys.ts'
import type { ConfigEntry, ConfigSource, Fingerprints, SourceName } from './sources.ts'
import {
  countValueCharacters,
  maxSecretsLength,
  type ParsedValueResult,
  parseSourceValue,
  secretsTooLongRule,
} from './value.ts'

/** A valid value of a key from one source. */
export interface ConfigValue {
  readonly key: string
  readonly source: SourceName
  readonly place: string
  readonly written: JsonValue
  readonly sensitive: boolean
  /** For a stored secret: the destination for which it was entered. */
  readonly destination?: Fingerprints
}

/** A value whose key no loaded plugin declares. It stays in the database. */
export interface OrphanedValue {
  readonly name: string
  readonly source: SourceName
  readonly place: string
}

/** A problem of a source, for example an unknown key in the `.env` file. */
export interface SourceProblem {
  readonly rule: 'unreadable' | 'unknown' | 'deprecated' | 'invalid'
  /** True if the product can start although the problem exists. */
  readonly isWarning: boolean
  readonly place: string
  /** Plugin of the key, if known. */
  readonly plugin?: string
  /** Details for the message: `reason`, `key`, `name`, `nearest`, `since`, `replacement`. Never contains a secret. */
  readonly details: Readonly<Record<string, string>>
}

/** The result of reading one source. */
export interface ReadSourceResult {
  /** Valid values. If a key occurs several times, the last value applies. */
  readonly layers: readonly ConfigValue[]
  readonly findings: readonly SourceProblem[]
  /** Keys whose value is invalid. */
  readonly refused: readonly string[]
  readonly orphaned: readonly OrphanedValue[]
}

/** Declared keys by name and by environment variable. */
export type KeyIndex = Readonly<Record<ConfigEntry['by'], ReadonlyMap<string, OwnedKey>>>

/** The result of checking one entry without the other entries of its source. */
interface CheckedEntry {
  readonly findings: readonly SourceProblem[]
  /** The key that the entry sets. Absent if no key has the name of the entry. */
  readonly value?: {
    readonly isDeprecated: boolean
    /** The key to which the value applies. It differs from the written key if that key is deprecated. */
    readonly target: string
    /** The value; undefined if it is invalid. */
    readonly layer: ConfigValue | undefined
    /** Creates the problem for an invalid value. */
    readonly invalid: (message: string) => SourceProblem
    readonly message: string
  }
}

/** Cached results for one source. The cache must not be used after the declarations change. */
export type CheckedEntryCache = WeakMap<ConfigEntry, CheckedEntry>

/**
 * Checks all entries of a source. The value of a deprecated key applies to its replacement. An entry without a declared
 * key is an orphaned value if it is in the database. In other sources it is a problem.
 *
 * @param known results for entries that were read before. These entries are not checked again, and the result contains
 * the same layer objects. Entries must never change
 */
export function readSource(
  { name: source, entries, unreadable = [] }: ConfigSource,
  keys: KeyIndex,
  known: CheckedEntryCache = new WeakMap(),
): ReadSourceResult {
  const layers: ConfigValue[] = []
  const findings: SourceProblem[] = []
  const refused: string[] = []
  const orphaned: OrphanedValue[] = []
  let secretsLength = 0
  for (const { place, reason } of unreadable) {
    findings.push({ rule: 'unreadable', isWarning: false, place, details: { reason } })
  }
  const values: NonNullable<CheckedEntry['value']>[] = []
  for (const entry of entries) {
    const judged = known.get(entry) ?? checkEntry(entry, source, keys)
    known.set(entry, judged)
    findings.push(...judged.findings)
    if (judged.value !== undefined) values.push(judged.value)
    else if (source === 'database') orphaned.push({ name: entry.name, source, place: entry.place })
  }
  // Values of deprecated keys come first, so that a value of the replacement in the same source overrides them.
  const deprecatedFirst = [
    ...values.filter((value) => value.isDeprecated),
    ...values.filter((value) => !value.isDeprecated),
  ]
  for (const { target, layer, invalid, message } of deprecatedFirst) {
    const length = layer?.sensitive ? countValueCharacters(layer.written) : 0
    const isTooLong = secretsLength + length > maxSecretsLength
    if (layer !== undefined && !isTooLong) {
      secretsLength += length
      layers.push(layer)
    } else {
      findings.push(invalid(isTooLong ? secretsTooLongRule : message))
      refused.push(target)
    }
  }
  return { layers, findings, refused, orphaned }
}

function checkEntry(entry: ConfigEntry, source: SourceName, keys: KeyIndex): CheckedEntry {
  const { place, name, by } = entry
  const owned = keys[by].get(name)
  if (owned === undefined) {
    if (source === 'database' || !isOurs(entry)) return { findings: [] }
    const nearest = flatNameHint(entry) ?? didYouMean(name, keys[by].keys())
    const details = { name, nearest }
    // In the environment this is only a warning, because other programs may also use variables with this prefix.
    return { findings: [{ rule: 'unknown', isWarning: source === 'environment', place, details }] }
  }
  const { plugin, declaration, key } = owned
  const { replacement, since } = declaration.deprecated ?? {}
  const findings: SourceProblem[] = []
  if (since !== undefined) {
    const details = { key, since, replacement: replacement ?? 'another way; the key has no replacement' }
    findings.push({ rule: 'deprecated', isWarning: true, place, plugin, details })
  }
  const target = (replacement === undefined ? undefined : keys.key.get(replacement)) ?? owned
  const sensitive = declaration.sensitive || target.declaration.sensitive
  // A person with access to the database must not be able to change a key that is not editable.
  const isForbidden = source === 'database' && !(isStorable(declaration) && isStorable(target.declaration))
  const isOfProcess = isForbidden && (declaration.scope === 'process' || target.declaration.scope === 'process')
  const read = isOfProcess
    ? ofProcess
    : isForbidden
      ? notFromDatabase
      : parseSourceValue({ ...target.declaration, sensitive }, entry)
  const bound = entry.destination === undefined ? {} : { destination: entry.destination }
  const layer = read.ok ? { key: target.key, source, place, written: read.value, sensitive, ...bound } : undefined
  // A value in the database for a key of `scope: 'process'` is only a warning: an earlier version may have stored it,
  // and it is ignored.
  const invalid = (reason: string): SourceProblem => {
    return { rule: 'invalid', isWarning: isOfProcess, place, plugin, details: { key, reason } }
  }
  const message = read.ok ? '' : read.message
  return { findings, value: { isDeprecated: since !== undefined, target: target.key, layer, invalid, message } }
}

/** Returns false for environment variables without the prefix, because they belong to other programs. */
const isOurs = ({ by, name }: ConfigEntry) => by === 'key' || name.startsWith('PLATFORM_')

/** Returns true if the value of the key may come from the database: for editable keys and for the state of plugins. */
const isStorable = ({ editable, state }: KeyDeclaration) => editable || state === true
const ofProcess: ParsedValueResult = {
  ok: false,
  rule: 'scope',
  message: 'is set per process, so the stored value is ignored: set it in a file, in the environment or with --set',
}
const notFromDatabase: ParsedValueResult = {
  ok: false,
  rule: 'editable',
  message: 'must not come from the database: set it in a file, in the environment or with --set',
}

/** Returns a hint for a product file that nests the parts of a key, for example `{ platform: { http: { port: 1 } } }`. */
function flatNameHint({ name, written }: ConfigEntry): string | undefined {
  const path = [name]
  let inner: unknown = written
  while (typeof inner === 'object' && inner !== null && !Array.isArray(inner)) {
    const [entry] = Object.entries(inner)
    if (entry === undefined) break
    path.push(entry[0])
    inner = entry[1]
  }
  return path.length === 1 ? undefined : ` Keys are flat. Write "${path.join('.')}".`
}
