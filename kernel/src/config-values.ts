import { type CatalogueEntry, type JsonValue, maskedValue, readValue } from '@plinth/config-schema'
import {
  type ConfigEntry,
  type ConfigLayer,
  type ConfigSource,
  catalogueOf,
  didYouMean,
  type OrphanedValue,
  type OwnedKey,
  readGiven,
  readSource,
  Secrets,
  type SourceFinding,
  type SourceName,
  type SourceReading,
  sourceOrder,
} from '@plinth/config-schema/reading'
import { reasonOf } from './errors/coded-error.ts'
import { type KernelErrorCode, kernelError, type Problem, problem } from './errors/kernel-errors.ts'
import { deepFreeze } from './read-only.ts'

/** A value of a key together with where it stands. */
export interface SourcedValue {
  readonly source: SourceName
  readonly place: string
  /** Written form; the mask for a sensitive key. */
  readonly value: JsonValue | undefined
}

/** Everything about one key's value. */
export interface Explanation {
  readonly key: string
  readonly plugin: string
  /** In force now. */
  readonly effective: SourcedValue
  /** All sources that give a value, weakest first. */
  readonly sources: readonly SourcedValue[]
  /** A newer value waits for a restart of this process. */
  readonly pendingRestart: boolean
  /** Why the owner refused the newest live value; the effective one is older then. */
  readonly refused: string | undefined
}

/** What a set of database values would change. */
export interface ApplyPreview {
  /** Keys that take the new value at once, unless their owner refuses it. */
  readonly changed: readonly string[]
  readonly pendingRestart: readonly string[]
  /** Keys whose database value does not count because a stronger source gives one. */
  readonly shadowed: readonly string[]
  readonly problems: readonly Problem[]
  /** Owners of the keys in `changed` and `pendingRestart`. */
  readonly plugins: readonly string[]
}

/** What a new set of database values changed. */
export interface ApplyReport extends Omit<ApplyPreview, 'plugins'> {
  readonly refused: readonly { readonly key: string; readonly reason: string }[]
}

/** What the owner of a key says of a new value; `unverified` when it proves none. */
export interface VerifyResult {
  readonly outcome: 'verified' | 'unverified' | 'refused'
  readonly reason?: string
}

type Listener = (value: unknown) => void | Promise<void>
type Verifier = (value: unknown, signal: AbortSignal) => void | Promise<void>

/** A key with its value. */
interface Slot extends OwnedKey {
  /** Weakest first. */
  layers: ConfigLayer[]
  effective: ConfigLayer | undefined
  /** Decoded effective value. */
  value: unknown
  pendingRestart: boolean
  refused: string | undefined
  readonly listeners: Set<Listener>
  verifier: Verifier | undefined
}

/** What the row of a key in the database, or its absence, means for the value in force. */
interface Change {
  readonly slot: Slot
  /** Sources with that row, weakest first. */
  readonly layers: ConfigLayer[]
  readonly next: ConfigLayer | undefined
  readonly effect: 'none' | 'live' | 'restart'
  readonly isShadowed: boolean
}

const findingCodes: Readonly<Record<SourceFinding['rule'], KernelErrorCode>> = {
  unreadable: 'PLINTH_CONFIG_SOURCE',
  unknown: 'PLINTH_CONFIG_UNKNOWN_KEY',
  deprecated: 'PLINTH_CONFIG_DEPRECATED',
  invalid: 'PLINTH_CONFIG_INVALID_VALUE',
}
const problemOf = ({ rule, place, details, plugin }: SourceFinding) =>
  problem(findingCodes[rule], place, details, plugin)

const rank = ({ source }: ConfigLayer) => sourceOrder.indexOf(source)
const sameValue = (a: ConfigLayer | undefined, b: ConfigLayer | undefined) =>
  JSON.stringify(a?.written) === JSON.stringify(b?.written)

/** The values of all keys, each with its origin. */
export class ConfigValues {
  /** By the two ways in which a source names a key. */
  readonly #slots: Readonly<Record<ConfigEntry['by'], ReadonlyMap<string, Slot>>>
  readonly #sealed = new Set<string>()
  readonly #secrets = new Secrets()
  #orphaned: readonly OrphanedValue[] = []
  #catalogue: readonly CatalogueEntry[] | undefined
  #applying: Promise<unknown> = Promise.resolve()
  /** Changes of values in force so far. */
  #changes = 0

  /** Problems of the sources: unknown keys, values that break their rule, missing required values. */
  readonly problems: readonly Problem[]
  /** Things to mend that do not stop the product. */
  readonly warnings: readonly Problem[]

  /** @param sources weakest first */
  constructor(keys: ReadonlyMap<string, OwnedKey>, sources: readonly ConfigSource[]) {
    const slots = Array.from(keys.values(), slotOf)
    this.#slots = {
      key: new Map(slots.map((slot) => [slot.key, slot])),
      variable: new Map(slots.map((slot) => [slot.env, slot])),
    }
    for (const { declaration } of slots) if (declaration.sensitive) this.#secrets.add(declaration.default)
    const readings = sources.map((source) => this.#read(source))
    for (const layer of readings.flatMap(({ layers }) => layers)) this.#slots.key.get(layer.key)?.layers.push(layer)
    const refused = new Set(readings.flatMap((reading) => reading.refused))
    const missing: Problem[] = []
    for (const slot of slots) {
      const { key, plugin, env, declaration } = slot
      settle(slot, slot.layers.at(-1))
      // A wrong value is reported as such; that there is no other one would say the same thing twice.
      if (declaration.required && slot.effective === undefined && !refused.has(key)) {
        missing.push(problem('PLINTH_CONFIG_REQUIRED', key, { key, env }, plugin))
      }
    }
    const findings = readings.flatMap((reading) => reading.findings)
    this.problems = [...findings.filter(({ isWarning }) => !isWarning).map(problemOf), ...missing]
    this.warnings = findings.filter(({ isWarning }) => isWarning).map(problemOf)
  }

  /** Value that the owner reads, decoded. Throws `PLINTH_CONFIG_UNDECLARED` when the plugin does not own the key. */
  get(plugin: string, key: string): unknown {
    return this.#owned(plugin, key).value
  }

  /** What is made of values, kept until one in force changes. */
  derived<T>(make: () => T): () => T {
    let kept: { readonly changes: number; readonly made: T } | undefined
    return () => {
      if (kept?.changes !== this.#changes) kept = { changes: this.#changes, made: make() }
      return kept.made
    }
  }

  /** Where the value of a key comes from, with every source. Sensitive values are masked. */
  explain(key: string): Explanation | undefined {
    const slot = this.#slots.key.get(key)
    return slot && explain(slot)
  }

  list(): readonly Explanation[] {
    return Array.from(this.#slots.key.values(), explain).sort((a, b) => (a.key < b.key ? -1 : 1))
  }

  /**
   * Says which stored values may be why the first of these plugins failed for this reason: those that it names, else those
   * of the plugin, else those of the others. Empty when there are none.
   */
  storedOf(plugins: readonly string[], reason: string): string {
    const stored = this.list().filter((one) => plugins.includes(one.plugin) && one.effective.source === 'database')
    const closest = [({ key }: Explanation) => reason.includes(key), ({ plugin }: Explanation) => plugin === plugins[0]]
    const suspects = closest.map((fits) => stored.filter(fits)).find(({ length }) => length > 0) ?? stored
    const rows = suspects.map(({ effective }) => effective.place).join('; ')
    const keys = suspects.map(({ key }) => key).join(' ')
    return rows && ` It runs on the ${rows}. To go on without: \`plinth config reset ${keys}\`, which works now.`
  }

  /** All keys with their meaning and rules. */
  get catalogue(): readonly CatalogueEntry[] {
    this.#catalogue ??= deepFreeze(catalogueOf(this.#slots.key.values()))
    return this.#catalogue
  }

  /** Database values whose keys no loaded plugin declares. */
  get orphaned(): readonly OrphanedValue[] {
    return this.#orphaned
  }

  /**
   * Masks every secret that any source has held so far, by value: one that was replaced may still be in use. Never throws.
   *
   * @param more values that are secret in this text only
   */
  redact(text: string, more: Iterable<unknown> = []): string {
    return this.#secrets.redact(text, more)
  }

  /** From now on, keys of this plugin with `reload: 'restart'` keep their value: its set-up reads them. */
  seal(plugin: string): void {
    this.#sealed.add(plugin)
  }

  /** Calls the listener with each new live value of a key. The answer ends it. */
  onChange(plugin: string, key: string, listener: Listener): () => void {
    const { listeners } = this.#owned(plugin, key)
    listeners.add(listener)
    return () => listeners.delete(listener)
  }

  /** Lets the owner of a key prove new values before they are stored. The answer ends it. */
  onVerify(plugin: string, key: string, verifier: Verifier): () => void {
    const slot = this.#owned(plugin, key)
    slot.verifier = verifier
    return () => {
      slot.verifier = undefined
    }
  }

  /**
   * Asks the owner whether a value, by key in written form, would do; changes nothing. A value that breaks the rule of its
   * key is refused. Throws `PLINTH_CONFIG_UNKNOWN_KEY`.
   */
  async verify(key: string, written: JsonValue, signal: AbortSignal): Promise<VerifyResult> {
    const slot = this.#slots.key.get(key)
    if (slot === undefined) {
      throw kernelError('PLINTH_CONFIG_UNKNOWN_KEY', { name: key, nearest: didYouMean(key, this.#slots.key.keys()) })
    }
    const { declaration } = slot
    // A value of a deprecated key counts for the key that took over, so its owner judges it.
    const inForce = this.#slots.key.get(declaration.deprecated?.replacement ?? '') ?? slot
    const { verifier } = inForce
    const rules = { ...inForce.declaration, sensitive: declaration.sensitive || inForce.declaration.sensitive }
    const read = readGiven(rules, { written })
    if (!read.ok) return { outcome: 'refused', reason: read.message }
    if (verifier === undefined) return { outcome: 'unverified' }
    try {
      await verifier(readValue(rules, read.value), signal)
      return { outcome: 'verified' }
    } catch (error) {
      // Masked here alone: a value that is only asked about must not stay a secret of the process.
      return { outcome: 'refused', reason: this.redact(reasonOf(error), rules.sensitive ? [written] : []) }
    }
  }

  /** What `apply` would do with these entries, without doing it. */
  preview(entries: readonly ConfigEntry[]): ApplyPreview {
    const { layers, findings } = readSource({ name: 'database', entries }, this.#slots)
    const rows = new Map(layers.map((layer) => [layer.key, layer]))
    const changes = Array.from(this.#slots.key.values(), (slot) => this.#change(slot, rows.get(slot.key)))
    const touched = changes.filter(({ effect }) => effect !== 'none').map(({ slot }) => slot.plugin)
    return { ...keysOf(changes), problems: findings.map(problemOf), plugins: [...new Set(touched)].sort() }
  }

  /**
   * Replaces the values that come from the database. Live keys change at once, unless their owner refuses; keys that need
   * a restart wait for it. Calls are carried out one after another.
   */
  apply(entries: readonly ConfigEntry[]): Promise<ApplyReport> {
    const result = this.#applying.then(() => this.#apply(entries))
    this.#applying = result.catch(() => undefined)
    return result
  }

  async #apply(entries: readonly ConfigEntry[]): Promise<ApplyReport> {
    const { layers, findings, orphaned } = this.#read({ name: 'database', entries })
    const rows = new Map(layers.map((layer) => [layer.key, layer]))
    this.#orphaned = deepFreeze(orphaned)
    const taken: Change[] = []
    const refused: { key: string; reason: string }[] = []
    for (const slot of this.#slots.key.values()) {
      const change = this.#change(slot, rows.get(slot.key))
      slot.layers = change.layers
      slot.pendingRestart = change.effect === 'restart'
      slot.refused = change.effect === 'live' ? await this.#offer(slot, change.next) : undefined
      if (change.effect === 'none') slot.effective = change.next
      if (slot.refused === undefined) taken.push(change)
      else refused.push({ key: slot.key, reason: slot.refused })
    }
    return { ...keysOf(taken), refused, problems: findings.map(problemOf) }
  }

  #change(slot: Slot, row: ConfigLayer | undefined): Change {
    const others = slot.layers.filter(({ source }) => source !== 'database')
    const layers = row === undefined ? others : [...others, row].sort((a, b) => rank(a) - rank(b))
    const next = layers.at(-1)
    const waits = slot.declaration.reload === 'restart' && this.#sealed.has(slot.plugin)
    const effect = sameValue(next, slot.effective) ? 'none' : waits ? 'restart' : 'live'
    return { slot, layers, next, effect, isShadowed: row !== undefined && next !== row }
  }

  /** Makes a live value effective; when a listener refuses, those before it get the old value back. Answers the reason. */
  async #offer(slot: Slot, next: ConfigLayer | undefined): Promise<string | undefined> {
    const previous = slot.effective
    const accepted: Listener[] = []
    this.#settle(slot, next)
    for (const listener of slot.listeners) {
      try {
        await listener(slot.value)
        accepted.push(listener)
      } catch (error) {
        this.#settle(slot, previous)
        for (const undo of accepted.reverse()) await (async () => undo(slot.value))().catch(() => undefined)
        return this.redact(reasonOf(error))
      }
    }
    return undefined
  }

  #settle(slot: Slot, layer: ConfigLayer | undefined): void {
    this.#changes += 1
    settle(slot, layer)
  }

  #owned(plugin: string, key: string): Slot {
    const slot = this.#slots.key.get(key)
    if (slot?.plugin === plugin) return slot
    throw kernelError('PLINTH_CONFIG_UNDECLARED', { plugin, key })
  }

  /** A source that is in use from now on: its secrets are masked everywhere. */
  #read(source: ConfigSource): SourceReading {
    const reading = deepFreeze(readSource(source, this.#slots))
    for (const { sensitive, written } of reading.layers) if (sensitive) this.#secrets.add(written)
    return reading
  }
}

/** With the default of the declaration as its weakest source. */
function slotOf(owned: OwnedKey): Slot {
  const { default: written, sensitive } = owned.declaration
  const place = `default of ${owned.plugin}`
  const layers: ConfigLayer[] =
    written === undefined ? [] : [{ key: owned.key, source: 'default', place, written, sensitive }]
  const unset = { effective: undefined, value: undefined, refused: undefined, verifier: undefined }
  return { ...owned, ...unset, layers, pendingRestart: false, listeners: new Set() }
}

function settle(slot: Slot, layer: ConfigLayer | undefined): void {
  slot.effective = layer
  slot.value = deepFreeze(readValue(slot.declaration, layer?.written))
}

function keysOf(changes: readonly Change[]) {
  const keys = (fits: (change: Change) => boolean) => changes.filter(fits).map(({ slot }) => slot.key)
  return {
    changed: keys(({ effect }) => effect === 'live'),
    pendingRestart: keys(({ effect }) => effect === 'restart'),
    shadowed: keys(({ isShadowed }) => isShadowed),
  }
}

function explain({ key, plugin, layers, effective, pendingRestart, refused }: Slot): Explanation {
  const shown = ({ source, place, written, sensitive }: ConfigLayer): SourcedValue => {
    return { source, place, value: sensitive && written !== '' ? maskedValue : written }
  }
  const none: SourcedValue = { source: 'default', place: 'no default', value: undefined }
  const inForce = effective === undefined ? none : shown(effective)
  return { key, plugin, effective: inForce, sources: layers.map(shown), pendingRestart, refused }
}
