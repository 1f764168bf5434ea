import type { JsonValue, KeyDeclaration } from './declaration.ts'
import { didYouMean } from './nearest.ts'
import type { OwnedKey } from './owned-keys.ts'
import type { BoundDestination, ConfigEntry, ConfigSource, SourceName } from './sources.ts'
import { maxSecretsLength, readGiven, type TextReading, tooLongTogether, valueLength } from './value.ts'

/** A valid value of a key in one source. */
export interface ConfigLayer {
  readonly key: string
  readonly source: SourceName
  readonly place: string
  readonly written: JsonValue
  readonly sensitive: boolean
  /** For a stored secret: the destination that it was entered for. */
  readonly destination?: BoundDestination
}

/** A value in a source for a key that no loaded plugin declares. It stays stored. */
export interface OrphanedValue {
  readonly name: string
  readonly source: SourceName
  readonly place: string
}

/** A problem in a source. */
export interface SourceFinding {
  readonly rule: 'unreadable' | 'unknown' | 'deprecated' | 'invalid'
  /** True if the product can start without a fix. */
  readonly isWarning: boolean
  readonly place: string
  /** Owner of the key, if known. */
  readonly plugin?: string
  /** `reason` of an unreadable or invalid value; `key` or `name`; `nearest`, `since`, `replacement`. Never a secret. */
  readonly details: Readonly<Record<string, string>>
}

/** The content of one source. */
export interface SourceReading {
  /** If a key has several values, the last applies. */
  readonly layers: readonly ConfigLayer[]
  readonly findings: readonly SourceFinding[]
  /** Keys with an invalid value. */
  readonly refused: readonly string[]
  readonly orphaned: readonly OrphanedValue[]
}

/** Declared keys by name and by environment variable. */
export type KeyIndex = Readonly<Record<ConfigEntry['by'], ReadonlyMap<string, OwnedKey>>>

/** The result for one entry, independent of the other entries of its source. */
interface Judged {
  readonly findings: readonly SourceFinding[]
  /** The declared key whose value the entry sets. Absent if no key has the name of the entry. */
  readonly value?: {
    readonly isDeprecated: boolean
    /** The key that the value applies to. */
    readonly target: string
    /** The value, if it is valid. */
    readonly layer: ConfigLayer | undefined
    /** Returns the problem of an invalid value. */
    readonly invalid: (message: string) => SourceFinding
    readonly message: string
  }
}

/** Cached results by entry, for one source and one set of declarations. */
export type KnownEntries = WeakMap<ConfigEntry, Judged>

/**
 * Checks the content of a source against the declarations. A value of a deprecated key applies to its replacement. A
 * name without a key is an orphaned value in the database and a problem elsewhere.
 *
 * @param known results of entries that were read before. These entries are not checked again, and their layers are the
 *   same objects. Entries never change
 */
export function readSource(
  { name: source, entries, unreadable = [] }: ConfigSource,
  keys: KeyIndex,
  known: KnownEntries = new WeakMap(),
): SourceReading {
  const layers: ConfigLayer[] = []
  const findings: SourceFinding[] = []
  const refused: string[] = []
  const orphaned: OrphanedValue[] = []
  let secretsLength = 0
  for (const { place, reason } of unreadable) {
    findings.push({ rule: 'unreadable', isWarning: false, place, details: { reason } })
  }
  const values: NonNullable<Judged['value']>[] = []
  for (const entry of entries) {
    const judged = known.get(entry) ?? judge(entry, source, keys)
    known.set(entry, judged)
    findings.push(...judged.findings)
    if (judged.value !== undefined) values.push(judged.value)
    else if (source === 'database') orphaned.push({ name: entry.name, source, place: entry.place })
  }
  // Deprecated names come first, so that within one source the replacement wins.
  const inTurn = [...values.filter((value) => value.isDeprecated), ...values.filter((value) => !value.isDeprecated)]
  for (const { target, layer, invalid, message } of inTurn) {
    const length = layer?.sensitive ? valueLength(layer.written) : 0
    const isTooLong = secretsLength + length > maxSecretsLength
    if (layer !== undefined && !isTooLong) {
      secretsLength += length
      layers.push(layer)
    } else {
      findings.push(invalid(isTooLong ? tooLongTogether : message))
      refused.push(target)
    }
  }
  return { layers, findings, refused, orphaned }
}

function judge(entry: ConfigEntry, source: SourceName, keys: KeyIndex): Judged {
  const { place, name, by } = entry
  const owned = keys[by].get(name)
  if (owned === undefined) {
    if (source === 'database' || !isOurs(entry)) return { findings: [] }
    const details = { name, nearest: didYouMean(name, keys[by].keys()) }
    // Only a warning in the environment, because other programs on the machine may use the prefix too.
    return { findings: [{ rule: 'unknown', isWarning: source === 'environment', place, details }] }
  }
  const { plugin, declaration, key } = owned
  const { replacement, since } = declaration.deprecated ?? {}
  const findings: SourceFinding[] = []
  if (since !== undefined) {
    const details = { key, since, replacement: replacement ?? 'another way; the key has no replacement' }
    findings.push({ rule: 'deprecated', isWarning: true, place, plugin, details })
  }
  const target = (replacement === undefined ? undefined : keys.key.get(replacement)) ?? owned
  const sensitive = declaration.sensitive || target.declaration.sensitive
  // Access to the database must not be enough to change a safety key (decision A14).
  const isForbidden = source === 'database' && !(isStorable(declaration) && isStorable(target.declaration))
  const isOfProcess = isForbidden && (declaration.scope === 'process' || target.declaration.scope === 'process')
  const read = isOfProcess
    ? ofProcess
    : isForbidden
      ? notFromDatabase
      : readGiven({ ...target.declaration, sensitive }, entry)
  const bound = entry.destination === undefined ? {} : { destination: entry.destination }
  const layer = read.ok ? { key: target.key, source, place, written: read.value, sensitive, ...bound } : undefined
  // For a key that each process configures itself, this is a warning: an earlier version may have stored the value for
  // all instances, and the value is ignored.
  const invalid = (reason: string): SourceFinding => {
    return { rule: 'invalid', isWarning: isOfProcess, place, plugin, details: { key, reason } }
  }
  const message = read.ok ? '' : read.message
  return { findings, value: { isDeprecated: since !== undefined, target: target.key, layer, invalid, message } }
}

/** A variable without the prefix belongs to another program. */
const isOurs = ({ by, name }: ConfigEntry) => by === 'key' || name.startsWith('PLATFORM_')

/** Keys whose values may be in the database: editable keys, and the state of plugins. */
const isStorable = ({ editable, state }: KeyDeclaration) => editable || state === true
const ofProcess: TextReading = {
  ok: false,
  rule: 'scope',
  message: 'is set per process, so the stored value is ignored: set it in a file, in the environment or with --set',
}
const notFromDatabase: TextReading = {
  ok: false,
  rule: 'editable',
  message: 'must not come from the database: set it in a file, in the environment or with --set',
}
