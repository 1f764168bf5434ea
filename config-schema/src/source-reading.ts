import type { JsonValue, KeyDeclaration } from './declaration.ts'
import { didYouMean } from './nearest.ts'
import type { OwnedKey } from './owned-keys.ts'
import type { BoundDestination, ConfigEntry, ConfigSource, SourceName } from './sources.ts'
import { longestSecrets, readGiven, type TextReading, tooLongTogether, valueLength } from './value.ts'

/** A value of a key in one source; it meets the rule of the key. */
export interface ConfigLayer {
  readonly key: string
  readonly source: SourceName
  readonly place: string
  readonly written: JsonValue
  readonly sensitive: boolean
  /** Of a stored secret: the destination that it was entered for. */
  readonly destination?: BoundDestination
}

/** A value in a source for a key that no loaded plugin declares; kept, never deleted. */
export interface OrphanedValue {
  readonly name: string
  readonly source: SourceName
  readonly place: string
}

/** Something in a source that is to be mended. */
export interface SourceFinding {
  readonly rule: 'unreadable' | 'unknown' | 'deprecated' | 'invalid'
  /** Whether the product can do without. */
  readonly isWarning: boolean
  readonly place: string
  /** Owner of the key, when there is one. */
  readonly plugin?: string
  /** `reason` of what is unreadable or invalid; `key` or `name`; `nearest`, `since`, `replacement`. Never a secret. */
  readonly details: Readonly<Record<string, string>>
}

/** What one source says. */
export interface SourceReading {
  /** Of several values for one key, the last wins. */
  readonly layers: readonly ConfigLayer[]
  readonly findings: readonly SourceFinding[]
  /** Keys that were given an invalid value. */
  readonly refused: readonly string[]
  readonly orphaned: readonly OrphanedValue[]
}

/** Declared keys by their name and by their environment variable. */
export type KeyIndex = Readonly<Record<ConfigEntry['by'], ReadonlyMap<string, OwnedKey>>>

/** The result of one entry, without regard to the other entries of its source. */
interface Judged {
  readonly findings: readonly SourceFinding[]
  /** The declared key that it gives a value for; absent for a name of no key. */
  readonly value?: {
    readonly isDeprecated: boolean
    /** The key that the value counts for. */
    readonly target: string
    /** The value, when it meets its rules. */
    readonly layer: ConfigLayer | undefined
    /** Returns the problem of a value that is not valid. */
    readonly invalid: (message: string) => SourceFinding
    readonly message: string
  }
}

/** Entries that were judged before, of one source and for one set of declarations. */
export type KnownEntries = WeakMap<ConfigEntry, Judged>

/**
 * Checks what a source gives against the declarations. A deprecated key speaks for its replacement; a name of no key is an
 * orphan in the database and a finding elsewhere.
 *
 * @param known entries that were read before: they cost nothing, and their layers are the same objects. Entries never change
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
  // Deprecated names first, so that in one source the name that replaces them wins.
  const inTurn = [...values.filter((value) => value.isDeprecated), ...values.filter((value) => !value.isDeprecated)]
  for (const { target, layer, invalid, message } of inTurn) {
    const length = layer?.sensitive ? valueLength(layer.written) : 0
    const isTooLong = secretsLength + length > longestSecrets
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
    // The environment belongs to the machine, not to the product: others may use the prefix too.
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
  // A row of an earlier version, when the key could be stored for all instances, does no harm: it is ignored.
  const invalid = (reason: string): SourceFinding => {
    return { rule: 'invalid', isWarning: isOfProcess, place, plugin, details: { key, reason } }
  }
  const message = read.ok ? '' : read.message
  return { findings, value: { isDeprecated: since !== undefined, target: target.key, layer, invalid, message } }
}

/** A variable without the prefix is somebody else's. */
const isOurs = ({ by, name }: ConfigEntry) => by === 'key' || name.startsWith('PLATFORM_')

/** Values that the database may give: those that an operator edits, and the state that a plugin keeps there. */
const isStorable = ({ editable, state }: KeyDeclaration) => editable || state === true
const ofProcess: TextReading = {
  ok: false,
  rule: 'scope',
  message: 'belongs to one process, so what is stored for all is ignored: set it where the process starts',
}
const notFromDatabase: TextReading = {
  ok: false,
  rule: 'editable',
  message: 'must not come from the database: set it in a file, in the environment or with --set',
}
