import { isDeepStrictEqual } from 'node:util'
import { type CatalogueEntry, type JsonValue, readValue } from '@plinth/config-schema'
import {
  type CheckedEntryCache,
  type ConfigEntry,
  type ConfigSource,
  type ConfigValue,
  catalogueOf,
  didYouMean,
  type Fingerprints,
  type OrphanedValue,
  type OwnedKey,
  parseSourceValue,
  type ReadSourceResult,
  readSource,
  Secrets,
  type SourceProblem,
} from '@plinth/config-schema/reading'
import { errorReason } from '../errors/coded-error.ts'
import { kernelError, type Problem, problem } from '../errors/kernel-errors.ts'
import { deepFreeze } from '../read-only.ts'
import { describeStoredSuspects, insecureWarning, overriddenWarnings, problemOf } from './config-problems.ts'
import type { ApplyPreview, ApplyReport, ConfigExplanation, VerifyResult } from './explanation.ts'
import {
  changeByRow,
  changedKeys,
  createKeyState,
  explainKey,
  type FindValue,
  findEffectiveValue,
  findWithheldSecrets,
  fingerprintDestination,
  hasDestination,
  type KeyState,
  type KeyStateChange,
  type Listener,
  setEffectiveValue,
  type Verifier,
} from './slot.ts'

interface ConfigRules {
  readonly isProduction?: boolean
  /** If true, a name in a file that is not a declared key is reported as a warning, not as a problem. */
  readonly toleratesUnknownKeys?: boolean
}

/** The values of all keys, and the sources that set them. */
export class ConfigValues {
  /** Slots by key and by environment variable. */
  readonly #slots: Readonly<Record<ConfigEntry['by'], ReadonlyMap<string, KeyState>>>
  /**
   * Keys in the order in which changes are computed. A secret that is sent to a configured destination is last,
   * because its value depends on the keys of the destination.
   */
  readonly #order: readonly KeyState[]
  /** Secrets with a destination. */
  readonly #bound: readonly KeyState[]
  readonly #sealed = new Set<string>()
  readonly #secrets = new Secrets()
  readonly #isProduction: boolean
  /** Cached results of reading the database entries, so that an entry is not read again. */
  readonly #knownRows: CheckedEntryCache = new WeakMap()
  #orphaned: readonly OrphanedValue[] = []
  #storedProblems: readonly Problem[] = []
  #catalogue: readonly CatalogueEntry[] | undefined
  #applying: Promise<unknown> = Promise.resolve()
  /** Number of changes of effective values so far. */
  #changes = 0

  /** Problems of the sources: unknown keys, invalid values, missing required values. */
  readonly problems: readonly Problem[]
  /** Problems that do not stop the product. */
  readonly warnings: readonly Problem[]

  /** @param sources in order of increasing precedence */
  constructor(
    keys: ReadonlyMap<string, OwnedKey>,
    sources: readonly ConfigSource[],
    { isProduction = false, toleratesUnknownKeys = false }: ConfigRules = {},
  ) {
    this.#isProduction = isProduction
    const slots = Array.from(keys.values(), createKeyState)
    this.#slots = {
      key: new Map(slots.map((slot) => [slot.key, slot])),
      variable: new Map(slots.map((slot) => [slot.env, slot])),
    }
    this.#order = slots.toSorted((a, b) => Number(hasDestination(a)) - Number(hasDestination(b)))
    this.#bound = this.#order.filter(hasDestination)
    for (const { declaration } of slots) if (declaration.sensitive) this.#secrets.add(declaration.default)
    const readings = sources.map((source) => this.#read(source))
    for (const layer of readings.flatMap(({ layers }) => layers)) this.#slots.key.get(layer.key)?.layers.push(layer)
    const refused = new Set(readings.flatMap((reading) => reading.refused))
    const missing: Problem[] = []
    for (const slot of this.#order) {
      const { key, plugin, env, declaration } = slot
      setEffectiveValue(slot, findEffectiveValue(slot, slot.layers, this.#layerOf))
      // If the value is invalid, another problem already reports it.
      if (declaration.required && slot.effective === undefined && !refused.has(key)) {
        missing.push(problem('PLINTH_CONFIG_REQUIRED', key, { key, env }, plugin))
      }
    }
    const findings = readings.flatMap((reading) => reading.findings)
    const isWarning = (finding: SourceProblem) =>
      finding.isWarning || (toleratesUnknownKeys && finding.rule === 'unknown')
    this.problems = [...findings.filter((finding) => !isWarning(finding)).map(problemOf), ...missing]
    this.warnings = findings.filter(isWarning).map(problemOf)
  }

  /**
   * Returns the value of a key, as its plugin reads it.
   *
   * @throws PlinthError `PLINTH_CONFIG_UNDECLARED` if the plugin does not declare the key
   */
  get(plugin: string, key: string): unknown {
    const slot = this.#owned(plugin, key)
    const layer = this.#inForce(slot)
    return layer === slot.effective ? slot.value : readValue(slot.declaration, layer?.written)
  }

  /** Returns a function that caches a computed result until an effective value changes. */
  derived<T>(make: () => T): () => T {
    let kept: { readonly changes: number; readonly made: T } | undefined
    return () => {
      if (kept?.changes !== this.#changes) kept = { changes: this.#changes, made: make() }
      return kept.made
    }
  }

  /** Returns the value of a key and the values of all its sources. Secrets are masked. */
  explain(key: string): ConfigExplanation | undefined {
    const slot = this.#slots.key.get(key)
    return slot && this.#explain(slot)
  }

  list(): readonly ConfigExplanation[] {
    return Array.from(this.#slots.key.values(), (slot) => this.#explain(slot)).sort((a, b) => (a.key < b.key ? -1 : 1))
  }

  #explain(slot: KeyState): ConfigExplanation {
    return { ...explainKey(slot, this.#inForce(slot), this.#newestOf), isInsecure: this.#isInsecure(slot) }
  }

  /**
   * Describes stored values that may have caused a failure of plugins, with the command that removes them. Prefers the
   * values whose keys the reason mentions, then those of the first plugin, then those of the other plugins. Returns an
   * empty text if there are none.
   */
  storedOf(plugins: readonly string[], reason: string): string {
    return describeStoredSuspects(this.list(), plugins, reason)
  }

  /** Descriptions and rules of all keys. */
  get catalogue(): readonly CatalogueEntry[] {
    this.#catalogue ??= deepFreeze(catalogueOf(this.#slots.key.values()))
    return this.#catalogue
  }

  /** Stored values whose keys no loaded plugin declares. */
  get orphaned(): readonly OrphanedValue[] {
    return this.#orphaned
  }

  /** Problems of the stored values, for example a value of a deprecated key. */
  get storedProblems(): readonly Problem[] {
    return this.#storedProblems
  }

  /**
   * Returns a warning for each key whose effective value is unsafe in production. Returns none outside of production.
   */
  insecure(): readonly Problem[] {
    return [...this.#slots.key.values()].filter(this.#isInsecure).map(insecureWarning)
  }

  /**
   * Returns a warning for each environment variable, including those in `.env`, that has no effect because a stored
   * value overrides it. The warnings do not contain values.
   */
  overridden(): readonly Problem[] {
    return this.#order.flatMap((slot) => overriddenWarnings(slot, this.#inForce(slot)))
  }

  readonly #isInsecure = ({ key, declaration: { insecure } }: KeyState): boolean => {
    if (insecure === undefined || !this.#isProduction) return false
    const isWritten = (key: string, value: unknown) =>
      isDeepStrictEqual(this.#slots.key.get(key)?.effective?.written, value)
    const isUnsafe = 'isNot' in insecure ? !isWritten(key, insecure.isNot) : isWritten(key, insecure.is)
    return isUnsafe && (insecure.while === undefined || isWritten(insecure.while.key, insecure.while.is))
  }

  /**
   * Masks in a text all secrets that the sources of configuration values have contained so far. Former secrets are
   * masked too, because they may still be in use. Never throws.
   *
   * @param more additional secrets for this text only
   */
  redact(text: string, more: Iterable<unknown> = []): string {
    return this.#secrets.redact(text, more)
  }

  /**
   * Called before the setup of a plugin, which reads the current values. From now on, new values of the plugin's keys
   * with `reload: 'restart'` wait for a restart.
   */
  seal(plugin: string): void {
    this.#sealed.add(plugin)
  }

  /** Calls the listener with each new live value of a key. Call the returned function to unsubscribe. */
  onChange(plugin: string, key: string, listener: Listener): () => void {
    const { listeners } = this.#owned(plugin, key)
    listeners.add(listener)
    return () => listeners.delete(listener)
  }

  /**
   * Registers the function with which a plugin verifies new values of its key. Call the returned function to remove it.
   */
  onVerify(plugin: string, key: string, verifier: Verifier): () => void {
    const slot = this.#owned(plugin, key)
    slot.verifier = verifier
    return () => {
      slot.verifier = undefined
    }
  }

  /**
   * Lets the plugin of a key verify a written value. Changes nothing. A value that violates a rule of the key is
   * rejected.
   *
   * @param entries all database values after the save; default: the current ones
   * @throws PlinthError `PLINTH_CONFIG_UNKNOWN_KEY`
   */
  async verify(
    key: string,
    written: JsonValue,
    signal: AbortSignal,
    entries?: readonly ConfigEntry[],
  ): Promise<VerifyResult> {
    const slot = this.#slots.key.get(key)
    if (slot === undefined) {
      throw kernelError('PLINTH_CONFIG_UNKNOWN_KEY', { name: key, nearest: didYouMean(key, this.#slots.key.keys()) })
    }
    const { declaration } = slot
    // A value of a deprecated key applies to its replacement, so the plugin of the replacement verifies it.
    const inForce = this.#slots.key.get(declaration.deprecated?.replacement ?? '') ?? slot
    const { verifier } = inForce
    const rules = { ...inForce.declaration, sensitive: declaration.sensitive || inForce.declaration.sensitive }
    const read = parseSourceValue(rules, { written })
    if (!read.ok) return { outcome: 'refused', reason: read.message }
    if (verifier === undefined) return { outcome: 'unverified' }
    try {
      const foreseen = entries && this.#foreseen(entries).changes
      const after = (name: string) => {
        const slot = this.#slots.key.get(name)
        const layer = foreseen === undefined ? slot?.layers.at(-1) : foreseen.get(name)?.next
        return slot && readValue(slot.declaration, layer?.written)
      }
      await verifier(readValue(rules, read.value), signal, after)
      return { outcome: 'verified' }
    } catch (error) {
      // The value is masked only in this text. It is not in use, so it is not added to the secrets of the process.
      return { outcome: 'refused', reason: this.redact(errorReason(error), rules.sensitive ? [written] : []) }
    }
  }

  /** Returns the changes that `apply` would make with these database values. */
  preview(entries: readonly ConfigEntry[]): ApplyPreview {
    const { changes, findings } = this.#foreseen(entries)
    const touched = [...changes.values()].filter(({ effect }) => effect !== 'none').map(({ slot }) => slot.plugin)
    const layerOf: FindValue = (key) => changes.get(key)?.next
    return {
      ...changedKeys([...changes.values()]),
      withheld: this.#bound.flatMap((slot) => findWithheldSecrets(slot, changes.get(slot.key)?.layers ?? [], layerOf)),
      problems: findings.map(problemOf),
      plugins: [...new Set(touched)].sort(),
    }
  }

  /**
   * Returns the destination that each secret would have with these database values, by key. The config centre stores it
   * together with the secret. Keys without a destination are omitted. A deprecated key has the destination of its
   * replacement.
   */
  destinations(entries: readonly ConfigEntry[]): ReadonlyMap<string, Fingerprints> {
    const { changes } = this.#foreseen(entries)
    const layerOf: FindValue = (name) => changes.get(name)?.next
    const found = new Map<string, Fingerprints>()
    for (const slot of this.#order) {
      const inForce = this.#slots.key.get(slot.declaration.deprecated?.replacement ?? '') ?? slot
      if (hasDestination(inForce))
        found.set(slot.key, fingerprintDestination(inForce.declaration.destination ?? [], layerOf))
    }
    return found
  }

  /** Returns the changes that these database values would cause, by key. */
  #foreseen(entries: readonly ConfigEntry[]) {
    const { layers, findings } = readSource({ name: 'database', entries }, this.#slots, this.#knownRows)
    const rows = new Map(layers.map((layer) => [layer.key, layer]))
    const changes = new Map<string, KeyStateChange>()
    const layerOf: FindValue = (key) => changes.get(key)?.next
    for (const slot of this.#order) changes.set(slot.key, this.#change(slot, rows.get(slot.key), layerOf))
    return { changes, findings }
  }

  /**
   * Replaces the values from the database. Live keys change immediately unless their plugin rejects the value. Keys
   * that need a restart keep their value. Calls run one after another.
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
    this.#storedProblems = deepFreeze(findings.map(problemOf))
    const taken: KeyStateChange[] = []
    const refused: { key: string; reason: string }[] = []
    const previous = new Map(this.#order.map((slot) => [slot, this.#inForce(slot)]))
    for (const slot of this.#order) {
      const change = this.#change(slot, rows.get(slot.key), this.#layerOf, previous.get(slot))
      slot.layers = change.layers
      const newest = findEffectiveValue(slot, slot.layers, this.#newestOf)
      slot.pendingRestart = change.effect === 'restart' || newest !== change.next
      slot.refused = change.effect === 'live' ? await this.#offer(slot, change.next) : undefined
      if (change.effect === 'none') slot.effective = change.next
      if (slot.refused === undefined) taken.push(change)
      else refused.push({ key: slot.key, reason: slot.refused })
    }
    const withheld = this.#bound.flatMap((slot) => findWithheldSecrets(slot, slot.layers, this.#newestOf))
    return { ...changedKeys(taken), refused, withheld, problems: this.#storedProblems }
  }

  /**
   * Returns the value that applies now. A secret stops to apply immediately when its destination changes, even before
   * the change of the secret itself is processed.
   */
  #inForce(slot: KeyState): ConfigValue | undefined {
    const { effective, layers } = slot
    if (effective === undefined || !hasDestination(slot)) return effective
    return findEffectiveValue(slot, [...layers, effective], this.#layerOf)
  }

  /** Returns the effective value of a key without a destination. */
  readonly #layerOf: FindValue = (key) => this.#slots.key.get(key)?.effective

  /** Returns the newest value of a key without a destination. It may only apply after a restart. */
  readonly #newestOf: FindValue = (key) => this.#slots.key.get(key)?.layers.at(-1)

  /**
   * Returns the change that a database row causes.
   *
   * @param current the value that applied before the rows were read
   */
  #change(
    slot: KeyState,
    row: ConfigValue | undefined,
    layerOf: FindValue,
    current = this.#inForce(slot),
  ): KeyStateChange {
    const waits = slot.declaration.reload === 'restart' && this.#sealed.has(slot.plugin)
    return changeByRow(slot, row, layerOf, { current, waits })
  }

  /**
   * Makes a live value effective. If a listener rejects it, the previous listeners receive the old value again, and the
   * reason is returned.
   */
  async #offer(slot: KeyState, next: ConfigValue | undefined): Promise<string | undefined> {
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
        return this.redact(errorReason(error))
      }
    }
    return undefined
  }

  #settle(slot: KeyState, layer: ConfigValue | undefined): void {
    this.#changes += 1
    setEffectiveValue(slot, layer)
  }

  #owned(plugin: string, key: string): KeyState {
    const slot = this.#slots.key.get(key)
    if (slot?.plugin === plugin) return slot
    throw kernelError('PLINTH_CONFIG_UNDECLARED', { plugin, key })
  }

  /** Reads a source. From now on, its secrets are masked in all texts. */
  #read(source: ConfigSource): ReadSourceResult {
    const known = source.name === 'database' ? this.#knownRows : undefined
    const reading = deepFreeze(readSource(source, this.#slots, known))
    for (const { sensitive, written } of reading.layers) if (sensitive) this.#secrets.add(written)
    return reading
  }
}
