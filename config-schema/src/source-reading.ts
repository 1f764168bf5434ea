import type { JsonValue, KeyDeclaration } from './declaration.ts'
import { didYouMean } from './nearest.ts'
import type { OwnedKey } from './owned-keys.ts'
import type { ConfigEntry, ConfigSource, SourceName } from './sources.ts'
import { readGiven, type TextReading } from './value.ts'
import { longestSecrets, tooLongTogether, valueLength } from './value-size.ts'

/** A value of a key in one source; it meets the rule of the key. */
export interface ConfigLayer {
  readonly key: string
  readonly source: SourceName
  readonly place: string
  readonly written: JsonValue
  readonly sensitive: boolean
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

/**
 * Holds what a source gives against the declarations. A deprecated key speaks for its replacement; a name of no key is an
 * orphan in the database and a finding elsewhere.
 */
export function readSource({ name: source, entries, unreadable }: ConfigSource, keys: KeyIndex): SourceReading {
  const layers: ConfigLayer[] = []
  const findings: SourceFinding[] = []
  const refused: string[] = []
  const orphaned: OrphanedValue[] = []
  let secretsLength = 0
  if (unreadable !== undefined) {
    const { place, reason } = unreadable
    findings.push({ rule: 'unreadable', isWarning: false, place, details: { reason } })
  }
  const found = entries.map((entry) => ({ entry, owned: keys[entry.by].get(entry.name) }))
  const age = (owned: OwnedKey | undefined) => (owned?.declaration.deprecated === undefined ? 1 : 0)
  // Deprecated names first, so that in one source the name that replaces them wins.
  for (const { entry, owned } of found.sort((a, b) => age(a.owned) - age(b.owned))) {
    const { place, name, by } = entry
    if (owned === undefined) {
      if (source === 'database') orphaned.push({ name, source, place })
      else if (isOurs(entry)) {
        const details = { name, nearest: didYouMean(name, keys[by].keys()) }
        // The environment belongs to the machine, not to the product: others may use the prefix too.
        findings.push({ rule: 'unknown', isWarning: source === 'environment', place, details })
      }
      continue
    }
    const { plugin, declaration, key } = owned
    const { replacement, since } = declaration.deprecated ?? {}
    if (since !== undefined) {
      const details = { key, since, replacement: replacement ?? 'another way; the key has no replacement' }
      findings.push({ rule: 'deprecated', isWarning: true, place, plugin, details })
    }
    const target = (replacement === undefined ? undefined : keys.key.get(replacement)) ?? owned
    const sensitive = declaration.sensitive || target.declaration.sensitive
    // A safety key must not be within reach of whoever can write to the database (decision A14).
    const isForbidden = source === 'database' && !(isStorable(declaration) && isStorable(target.declaration))
    const isOfProcess = isForbidden && (declaration.scope === 'process' || target.declaration.scope === 'process')
    let read = isOfProcess
      ? ofProcess
      : isForbidden
        ? notFromDatabase
        : readGiven({ ...target.declaration, sensitive }, entry)
    if (read.ok && sensitive) {
      const together = secretsLength + valueLength(read.value)
      if (together > longestSecrets) read = { ok: false, rule: 'maxLength', message: tooLongTogether }
      else secretsLength = together
    }
    if (read.ok) layers.push({ key: target.key, source, place, written: read.value, sensitive })
    else {
      // A row of an earlier version, when the key could be stored for all instances, does no harm: it is ignored.
      findings.push({ rule: 'invalid', isWarning: isOfProcess, place, plugin, details: { key, reason: read.message } })
      refused.push(target.key)
    }
  }
  return { layers, findings, refused, orphaned }
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
