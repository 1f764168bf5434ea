import {
  type JsonValue,
  type KeyDeclaration,
  maskedValue,
  readText,
  readValue,
  validateValue,
} from '@plinth/config-schema'
import { type ConfigEntry, type ConfigSource, type SourceName, sourceOrder } from './config-sources.ts'
import { didYouMean, kernelError, type Problem, problem, reasonOf } from './errors.ts'
import { redactor, secretTexts } from './redaction.ts'

/** A declared key and the plugin that it belongs to. */
export interface OwnedKey {
  readonly key: string
  readonly plugin: string
  readonly env: string
  readonly declaration: KeyDeclaration
}

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

/** A value in a source for a key that no loaded plugin declares; kept, never deleted. */
export interface OrphanedValue {
  readonly name: string
  readonly source: SourceName
  readonly place: string
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

interface Layer {
  readonly source: SourceName
  readonly place: string
  readonly written: JsonValue
  readonly sensitive: boolean
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
  readonly #byVariable = new Map<string, string>()
  readonly #listeners = new Map<string, Set<Listener>>()
  readonly #verifiers = new Map<string, Verifier>()
  readonly #sealed = new Set<string>()
  readonly #secrets = new Set<string>()
  #redact: ((text: string) => string) | undefined
  #orphaned: OrphanedValue[] = []
  #applying: Promise<unknown> = Promise.resolve()

  /** Problems of the sources: unknown keys, values that break their rule, missing required values. */
  readonly problems: readonly Problem[]
  /** Things to mend that do not stop the product. */
  readonly warnings: readonly Problem[]

  constructor(keys: ReadonlyMap<string, OwnedKey>, sources: readonly ConfigSource[]) {
    for (const owned of keys.values()) {
      const { key, plugin, env, declaration } = owned
      const { default: written, sensitive } = declaration
      const layers: Layer[] = []
      if (written !== undefined) layers.push({ source: 'default', place: `default of ${plugin}`, written, sensitive })
      if (sensitive) this.#hide(written)
      this.#slots.set(key, { ...owned, layers, pendingRestart: false, refused: undefined })
      this.#byVariable.set(env, key)
    }
    const problems: Problem[] = []
    const warnings: Problem[] = []
    for (const source of [...sources].sort((a, b) => rank(a.name) - rank(b.name))) {
      problems.push(...(source.problems ?? []))
      for (const [key, layer] of this.#read(source, problems, warnings)) this.#slots.get(key)?.layers.push(layer)
    }
    for (const slot of this.#slots.values()) {
      this.#settle(slot, slot.layers.at(-1))
      const { key, plugin, env, declaration } = slot
      if (declaration.required && slot.effective === undefined) {
        problems.push(problem('PLINTH_CONFIG_REQUIRED', key, { key, env }, plugin))
      }
    }
    this.problems = problems
    this.warnings = warnings
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
    const checked = check(declaration, entry)
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
    const problems: Problem[] = []
    const rows = new Map(this.#read({ name: 'database', entries }, problems, problems))
    const planned = [...this.#slots.values()].map((slot) => ({ slot, ...this.#plan(slot, rows.get(slot.key)) }))
    const keys = (fits: (plan: (typeof planned)[number]) => boolean) => planned.filter(fits).map(({ slot }) => slot.key)
    const touched = planned.filter(({ effect }) => effect !== 'none').map(({ slot }) => slot.plugin)
    return {
      changed: keys(({ effect }) => effect === 'live'),
      pendingRestart: keys(({ effect }) => effect === 'restart'),
      shadowed: keys(({ isShadowed }) => isShadowed),
      problems,
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
    const problems: Problem[] = []
    const orphaned: OrphanedValue[] = []
    const rows = new Map(this.#read({ name: 'database', entries }, problems, problems, orphaned))
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
    return { changed, pendingRestart, shadowed, refused, problems }
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

  #hide(secret: JsonValue | undefined): void {
    for (const text of secretTexts(secret)) this.#secrets.add(text)
    this.#redact = undefined
  }

  /** Valid values of a source by key; everything else becomes a problem, a warning or an orphan. */
  *#read(
    source: ConfigSource,
    problems: Problem[],
    warnings: Problem[],
    orphaned: OrphanedValue[] = [],
  ): Iterable<[string, Layer]> {
    const found = source.entries.map((entry) => {
      const key = entry.by === 'key' ? entry.name : this.#byVariable.get(entry.name)
      return { entry, slot: key === undefined ? undefined : this.#slots.get(key) }
    })
    const age = (slot: Slot | undefined) => (slot?.declaration.deprecated === undefined ? 1 : 0)
    // Deprecated names first, so that in one source the name that replaces them wins.
    for (const { entry, slot } of found.sort((a, b) => age(a.slot) - age(b.slot))) {
      const { place } = entry
      if (slot === undefined) {
        if (source.name === 'database') orphaned.push({ name: entry.name, source: source.name, place })
        // The environment belongs to the machine, not to the product: others may use the prefix too.
        else if (isOurs(entry)) (source.name === 'environment' ? warnings : problems).push(this.#unknown(entry))
        continue
      }
      const { plugin, declaration, key } = slot
      const { replacement, since } = declaration.deprecated ?? {}
      if (since !== undefined) {
        const details = { key, since, replacement: replacement ?? 'another way; the key has no replacement' }
        warnings.push(problem('PLINTH_CONFIG_DEPRECATED', place, details, plugin))
      }
      const target = (replacement === undefined ? undefined : this.#slots.get(replacement)) ?? slot
      const sensitive = declaration.sensitive || target.declaration.sensitive
      // A safety key must not be within reach of whoever can write to the database (decision A14).
      const isForbidden = source.name === 'database' && !(isStorable(declaration) && isStorable(target.declaration))
      const checked = isForbidden ? notFromDatabase : check({ ...target.declaration, sensitive }, entry)
      if ('reason' in checked) {
        problems.push(problem('PLINTH_CONFIG_INVALID_VALUE', place, { key, reason: checked.reason }, plugin))
        continue
      }
      if (sensitive) this.#hide(checked.written)
      yield [target.key, { source: source.name, place, written: checked.written, sensitive }]
    }
  }

  #unknown(entry: ConfigEntry): Problem {
    const candidates = entry.by === 'key' ? this.#slots.keys() : this.#byVariable.keys()
    const details = { name: entry.name, nearest: didYouMean(entry.name, candidates) }
    return problem('PLINTH_CONFIG_UNKNOWN_KEY', entry.place, details)
  }
}

/** Values that the database may give: those that an operator edits, and the state that a plugin keeps there. */
const isStorable = ({ editable, state }: KeyDeclaration) => editable || state === true

/** A variable without the prefix is somebody else's. */
const isOurs = ({ by, name }: ConfigEntry) => by === 'key' || name.startsWith('PLATFORM_')

const notFromDatabase = {
  reason: 'must not come from the database: set it in a file, in the environment or with --set',
}

function check(declaration: KeyDeclaration, entry: ConfigEntry): { written: JsonValue } | { reason: string } {
  let { written } = entry
  if (written === undefined) {
    const read = readText(declaration, entry.text ?? '')
    if (!read.ok) return { reason: read.message }
    written = read.value
  }
  const [fault] = validateValue(declaration, written)
  return fault === undefined ? { written } : { reason: fault.message }
}

function explain({ key, plugin, layers, effective, pendingRestart, refused }: Slot): Explanation {
  const shown = ({ source, place, written, sensitive }: Layer): SourcedValue => {
    return { source, place, value: sensitive && written !== '' ? maskedValue : written }
  }
  const none: SourcedValue = { source: 'default', place: 'no default', value: undefined }
  const inForce = effective === undefined ? none : shown(effective)
  return { key, plugin, effective: inForce, sources: layers.map(shown), pendingRestart, refused }
}
