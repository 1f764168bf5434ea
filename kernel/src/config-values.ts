import { type JsonValue, maskedValue, readValue } from '@plinth/config-schema'
import {
  checkEntry,
  type KeyIndex,
  type Layer,
  type OrphanedValue,
  type OwnedKey,
  type Reading,
  readSource,
} from './config-reading.ts'
import { type ConfigEntry, type ConfigSource, type SourceName, sourceOrder } from './config-sources.ts'
import { didYouMean, kernelError, type Problem, problem, reasonOf } from './errors.ts'
import { redactor, secretTexts } from './redaction.ts'

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

interface Slot extends OwnedKey {
  /** Weakest first. */
  layers: Layer[]
  effective?: Layer | undefined
  /** Decoded effective value. */
  value?: unknown
  pendingRestart: boolean
  refused: string | undefined
}

type Listener = (value: unknown) => void | Promise<void>
type Verifier = (value: unknown, signal: AbortSignal) => void | Promise<void>

const rank = (source: SourceName) => sourceOrder.indexOf(source)
const sameValue = (a: Layer | undefined, b: Layer | undefined) =>
  JSON.stringify(a?.written) === JSON.stringify(b?.written)

/** The values of all keys, each with its origin. */
export class ConfigValues {
  readonly #slots = new Map<string, Slot>()
  readonly #keys: KeyIndex
  readonly #listeners = new Map<string, Set<Listener>>()
  readonly #verifiers = new Map<string, Verifier>()
  readonly #sealed = new Set<string>()
  readonly #secrets = new Set<string>()
  #redact: ((text: string) => string) | undefined
  #orphaned: readonly OrphanedValue[] = []
  #applying: Promise<unknown> = Promise.resolve()

  /** Problems of the sources: unknown keys, values that break their rule, missing required values. */
  readonly problems: readonly Problem[]
  /** Things to mend that do not stop the product. */
  readonly warnings: readonly Problem[]

  constructor(keys: ReadonlyMap<string, OwnedKey>, sources: readonly ConfigSource[]) {
    this.#keys = { key: keys, variable: new Map([...keys.values()].map((owned) => [owned.env, owned])) }
    for (const owned of keys.values()) {
      const { key, plugin, declaration } = owned
      const { default: written, sensitive } = declaration
      const layers: Layer[] = []
      if (written !== undefined) layers.push({ source: 'default', place: `default of ${plugin}`, written, sensitive })
      if (sensitive) this.#hide(written)
      this.#slots.set(key, { ...owned, layers, pendingRestart: false, refused: undefined })
    }
    const readings = [...sources].sort((a, b) => rank(a.name) - rank(b.name)).map((source) => this.#read(source))
    for (const [key, layer] of readings.flatMap(({ layers }) => layers)) this.#slots.get(key)?.layers.push(layer)
    const refused = new Set(readings.flatMap((reading) => reading.refused))
    const missing: Problem[] = []
    for (const slot of this.#slots.values()) {
      this.#settle(slot, slot.layers.at(-1))
      const { key, plugin, env, declaration } = slot
      // A wrong value is reported as such; that there is no other one would say the same thing twice.
      if (declaration.required && slot.effective === undefined && !refused.has(key)) {
        missing.push(problem('PLINTH_CONFIG_REQUIRED', key, { key, env }, plugin))
      }
    }
    this.problems = [...readings.flatMap(({ problems }) => problems), ...missing]
    this.warnings = readings.flatMap(({ warnings }) => warnings)
  }

  /** Value that the owner reads, decoded. Throws `PLINTH_CONFIG_UNDECLARED` when the plugin does not own the key. */
  get(plugin: string, key: string): unknown {
    const slot = this.#slots.get(key)
    if (slot?.plugin === plugin) return slot.value
    throw kernelError('PLINTH_CONFIG_UNDECLARED', { plugin, key })
  }

  /** Where the value of a key comes from, with every source. Sensitive values are masked. */
  explain(key: string): Explanation | undefined {
    const slot = this.#slots.get(key)
    return slot && explain(slot)
  }

  list(): readonly Explanation[] {
    return [...this.#slots.values()].map(explain).sort((a, b) => (a.key < b.key ? -1 : 1))
  }

  /** Database values whose keys no loaded plugin declares. */
  get orphaned(): readonly OrphanedValue[] {
    return this.#orphaned
  }

  /** Every secret that any source has held so far: one that was replaced may still be in use. */
  secrets(): readonly string[] {
    return [...this.#secrets]
  }

  /** Masks all of `secrets` by value. */
  redact(text: string): string {
    this.#redact ??= redactor(this.#secrets)
    return this.#redact(text)
  }

  /** From now on, keys of this plugin with `reload: 'restart'` keep their value: its set-up reads them. */
  seal(plugin: string): void {
    this.#sealed.add(plugin)
  }

  /** Calls the listener with each new live value of a key. The answer ends it. */
  onChange(plugin: string, key: string, listener: Listener): () => void {
    this.get(plugin, key)
    const listeners = this.#listeners.get(key) ?? new Set()
    this.#listeners.set(key, listeners.add(listener))
    return () => listeners.delete(listener)
  }

  /** Lets the owner of a key prove new values before they are stored. The answer ends it. */
  onVerify(plugin: string, key: string, verifier: Verifier): () => void {
    this.get(plugin, key)
    this.#verifiers.set(key, verifier)
    return () => this.#verifiers.delete(key)
  }

  /**
   * Asks the owner whether a value, by key in written form, would do; changes nothing. A value that breaks the rule of its
   * key is refused. Throws `PLINTH_CONFIG_UNKNOWN_KEY`.
   */
  async verify(key: string, written: JsonValue, signal: AbortSignal): Promise<VerifyResult> {
    const slot = this.#slots.get(key)
    const entry: ConfigEntry = { name: key, by: 'key', written, place: key }
    if (slot === undefined) {
      throw kernelError('PLINTH_CONFIG_UNKNOWN_KEY', { name: key, nearest: didYouMean(key, this.#slots.keys()) })
    }
    const { declaration } = slot
    const checked = checkEntry(declaration, entry)
    if ('reason' in checked) return { outcome: 'refused', reason: checked.reason }
    const verifier = this.#verifiers.get(key)
    if (verifier === undefined) return { outcome: 'unverified' }
    if (declaration.sensitive) this.#hide(written)
    try {
      await verifier(readValue(declaration, checked.written), signal)
      return { outcome: 'verified' }
    } catch (error) {
      return { outcome: 'refused', reason: this.redact(reasonOf(error)) }
    }
  }

  /** What `apply` would do with these entries, without doing it. */
  preview(entries: readonly ConfigEntry[]): ApplyPreview {
    const { layers: read, problems, warnings } = this.#read({ name: 'database', entries })
    const rows = new Map(read)
    const planned = [...this.#slots.values()].map((slot) => ({ slot, ...this.#plan(slot, rows.get(slot.key)) }))
    const keys = (fits: (plan: (typeof planned)[number]) => boolean) => planned.filter(fits).map(({ slot }) => slot.key)
    const touched = planned.filter(({ effect }) => effect !== 'none').map(({ slot }) => slot.plugin)
    return {
      changed: keys(({ effect }) => effect === 'live'),
      pendingRestart: keys(({ effect }) => effect === 'restart'),
      shadowed: keys(({ isShadowed }) => isShadowed),
      problems: [...problems, ...warnings],
      plugins: [...new Set(touched)].sort(),
    }
  }

  /** How the sources of a key stand with a row of the database, and what that means for the value in force. */
  #plan(
    slot: Slot,
    row: Layer | undefined,
  ): { layers: Layer[]; effect: 'none' | 'live' | 'restart'; isShadowed: boolean } {
    const others = slot.layers.filter(({ source }) => source !== 'database')
    const layers = row === undefined ? others : [...others, row].sort((a, b) => rank(a.source) - rank(b.source))
    const next = layers.at(-1)
    const waits = slot.declaration.reload === 'restart' && this.#sealed.has(slot.plugin)
    const effect = sameValue(next, slot.effective) ? 'none' : waits ? 'restart' : 'live'
    return { layers, effect, isShadowed: row !== undefined && next !== row }
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
    const { layers: read, problems, warnings, orphaned } = this.#read({ name: 'database', entries })
    const rows = new Map(read)
    this.#orphaned = orphaned
    const changed: string[] = []
    const pendingRestart: string[] = []
    const shadowed: string[] = []
    const refused: { key: string; reason: string }[] = []
    for (const [key, slot] of this.#slots) {
      const { layers, effect, isShadowed } = this.#plan(slot, rows.get(key))
      const next = layers.at(-1)
      slot.layers = layers
      slot.pendingRestart = effect === 'restart'
      slot.refused = undefined
      if (isShadowed) shadowed.push(key)
      if (effect === 'restart') pendingRestart.push(key)
      else if (effect === 'none') slot.effective = next
      else {
        slot.refused = await this.#offer(slot, next)
        if (slot.refused === undefined) changed.push(key)
        else refused.push({ key, reason: slot.refused })
      }
    }
    return { changed, pendingRestart, shadowed, refused, problems: [...problems, ...warnings] }
  }

  /** Makes a live value effective; when a listener refuses, those before it get the old value back. Answers the reason. */
  async #offer(slot: Slot, next: Layer | undefined): Promise<string | undefined> {
    const previous = slot.effective
    const accepted: Listener[] = []
    this.#settle(slot, next)
    for (const listener of this.#listeners.get(slot.key) ?? []) {
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

  #settle(slot: Slot, layer: Layer | undefined): void {
    slot.effective = layer
    slot.value = readValue(slot.declaration, layer?.written)
  }

  #read(source: ConfigSource): Reading {
    const reading = readSource(source, this.#keys)
    for (const [, { sensitive, written }] of reading.layers) if (sensitive) this.#hide(written)
    return reading
  }

  #hide(secret: JsonValue | undefined): void {
    for (const text of secretTexts(secret)) this.#secrets.add(text)
    this.#redact = undefined
  }
}

function explain({ key, plugin, layers, effective, pendingRestart, refused }: Slot): Explanation {
  const shown = ({ source, place, written, sensitive }: Layer): SourcedValue => {
    return { source, place, value: sensitive && written !== '' ? maskedValue : written }
  }
  const none: SourcedValue = { source: 'default', place: 'no default', value: undefined }
  const inForce = effective === undefined ? none : shown(effective)
  return { key, plugin, effective: inForce, sources: layers.map(shown), pendingRestart, refused }
}
