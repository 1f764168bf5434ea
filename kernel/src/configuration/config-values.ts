import { isDeepStrictEqual } from 'node:util'
import { type CatalogueEntry, type JsonValue, localize, readValue } from '@plinth/config-schema'
import {
  type BoundDestination,
  type ConfigEntry,
  type ConfigLayer,
  type ConfigSource,
  catalogueOf,
  didYouMean,
  type KnownEntries,
  type OrphanedValue,
  type OwnedKey,
  readGiven,
  readSource,
  Secrets,
  type SourceFinding,
  type SourceReading,
} from '@plinth/config-schema/reading'
import { reasonOf } from '../errors/coded-error.ts'
import { type KernelErrorCode, kernelError, type Problem, problem } from '../errors/kernel-errors.ts'
import { deepFreeze } from '../read-only.ts'
import type { ApplyPreview, ApplyReport, Explanation, VerifyResult } from './explanation.ts'
import {
  boundDestination,
  type Change,
  explain,
  hasDestination,
  keysOf,
  type LayerOf,
  type Listener,
  rank,
  type Slot,
  sameValue,
  settle,
  slotOf,
  strongest,
  type Verifier,
  withheldOf,
} from './slot.ts'

const findingCodes: Readonly<Record<SourceFinding['rule'], KernelErrorCode>> = {
  unreadable: 'PLINTH_CONFIG_SOURCE',
  unknown: 'PLINTH_CONFIG_UNKNOWN_KEY',
  deprecated: 'PLINTH_CONFIG_DEPRECATED',
  invalid: 'PLINTH_CONFIG_INVALID_VALUE',
}
const problemOf = ({ rule, place, details, plugin }: SourceFinding) =>
  problem(findingCodes[rule], place, details, plugin)

/** The values of all keys, each with its origin. */
export class ConfigValues {
  /** By the two ways in which a source names a key. */
  readonly #slots: Readonly<Record<ConfigEntry['by'], ReadonlyMap<string, Slot>>>
  /** Keys without a destination, then secrets with one: their value depends on the others. */
  readonly #order: readonly Slot[]
  /** Secrets with a destination. */
  readonly #bound: readonly Slot[]
  readonly #sealed = new Set<string>()
  readonly #secrets = new Secrets()
  readonly #isProduction: boolean
  /** Rows of the database that were read before. */
  readonly #knownRows: KnownEntries = new WeakMap()
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
  constructor(keys: ReadonlyMap<string, OwnedKey>, sources: readonly ConfigSource[], isProduction = false) {
    this.#isProduction = isProduction
    const slots = Array.from(keys.values(), slotOf)
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
      settle(slot, strongest(slot, slot.layers, this.#layerOf))
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
    const slot = this.#owned(plugin, key)
    const layer = this.#inForce(slot)
    return layer === slot.effective ? slot.value : readValue(slot.declaration, layer?.written)
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
    return slot && this.#explain(slot)
  }

  list(): readonly Explanation[] {
    return Array.from(this.#slots.key.values(), (slot) => this.#explain(slot)).sort((a, b) => (a.key < b.key ? -1 : 1))
  }

  #explain(slot: Slot): Explanation {
    return { ...explain(slot, this.#inForce(slot), this.#newestOf), isInsecure: this.#isInsecure(slot) }
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

  /** In production, a warning for each key whose effective value is not safe there. See `KeyDeclaration.insecure`. */
  insecure(): readonly Problem[] {
    return [...this.#slots.key.values()].filter(this.#isInsecure).map(({ key, plugin, declaration }) => {
      const details = { key, reason: localize(declaration.insecure?.reason ?? '', 'en') }
      return problem('PLINTH_CONFIG_INSECURE', key, details, plugin)
    })
  }

  /**
   * A warning for each variable, of the process or of `.env`, that has no effect because a stored value overrides it
   * (decision A14). It holds no value.
   */
  overridden(): readonly Problem[] {
    return this.#order.flatMap((slot) => {
      const { key, plugin, layers } = slot
      const row = this.#inForce(slot)
      if (row?.source !== 'database') return []
      return layers
        .filter(({ source }) => source === 'environment' || source === 'dotenv')
        .map(({ place }) =>
          problem('PLINTH_CONFIG_OVERRIDDEN', place, { variable: place, key, row: row.place }, plugin),
        )
    })
  }

  readonly #isInsecure = ({ key, declaration: { insecure } }: Slot): boolean => {
    if (insecure === undefined || !this.#isProduction) return false
    const conditions = [{ key, is: insecure.is }, ...(insecure.while === undefined ? [] : [insecure.while])]
    return conditions.every(({ key, is }) => isDeepStrictEqual(this.#slots.key.get(key)?.effective?.written, is))
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
   *
   * @param entries all database values after the save; absent: those of now
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
    // A value of a deprecated key counts for the key that took over, so its owner judges it.
    const inForce = this.#slots.key.get(declaration.deprecated?.replacement ?? '') ?? slot
    const { verifier } = inForce
    const rules = { ...inForce.declaration, sensitive: declaration.sensitive || inForce.declaration.sensitive }
    const read = readGiven(rules, { written })
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
      // Masked here alone: a value that is only asked about must not stay a secret of the process.
      return { outcome: 'refused', reason: this.redact(reasonOf(error), rules.sensitive ? [written] : []) }
    }
  }

  /** What `apply` would do with these entries, without doing it. */
  preview(entries: readonly ConfigEntry[]): ApplyPreview {
    const { changes, findings } = this.#foreseen(entries)
    const touched = [...changes.values()].filter(({ effect }) => effect !== 'none').map(({ slot }) => slot.plugin)
    const layerOf: LayerOf = (key) => changes.get(key)?.next
    return {
      ...keysOf([...changes.values()]),
      withheld: this.#bound.flatMap((slot) => withheldOf(slot, changes.get(slot.key)?.layers ?? [], layerOf)),
      problems: findings.map(problemOf),
      plugins: [...new Set(touched)].sort(),
    }
  }

  /**
   * The destination that each secret has once these database values apply, by key: what is stored with a secret that was
   * entered for it. Keys without a destination are left out. A deprecated key has the destination of the key that replaces it.
   */
  destinations(entries: readonly ConfigEntry[]): ReadonlyMap<string, BoundDestination> {
    const { changes } = this.#foreseen(entries)
    const layerOf: LayerOf = (name) => changes.get(name)?.next
    const found = new Map<string, BoundDestination>()
    for (const slot of this.#order) {
      const inForce = this.#slots.key.get(slot.declaration.deprecated?.replacement ?? '') ?? slot
      if (hasDestination(inForce)) found.set(slot.key, boundDestination(inForce.declaration.destination ?? [], layerOf))
    }
    return found
  }

  /** Returns the value that each key would get from these database values, by key. */
  #foreseen(entries: readonly ConfigEntry[]) {
    const { layers, findings } = readSource({ name: 'database', entries }, this.#slots, this.#knownRows)
    const rows = new Map(layers.map((layer) => [layer.key, layer]))
    const changes = new Map<string, Change>()
    const layerOf: LayerOf = (key) => changes.get(key)?.next
    for (const slot of this.#order) changes.set(slot.key, this.#change(slot, rows.get(slot.key), layerOf))
    return { changes, findings }
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
    const previous = new Map(this.#order.map((slot) => [slot, this.#inForce(slot)]))
    for (const slot of this.#order) {
      const change = this.#change(slot, rows.get(slot.key), this.#layerOf, previous.get(slot))
      slot.layers = change.layers
      const newest = strongest(slot, slot.layers, this.#newestOf)
      slot.pendingRestart = change.effect === 'restart' || newest !== change.next
      slot.refused = change.effect === 'live' ? await this.#offer(slot, change.next) : undefined
      if (change.effect === 'none') slot.effective = change.next
      if (slot.refused === undefined) taken.push(change)
      else refused.push({ key: slot.key, reason: slot.refused })
    }
    const withheld = this.#bound.flatMap((slot) => withheldOf(slot, slot.layers, this.#newestOf))
    return { ...keysOf(taken), refused, withheld, problems: findings.map(problemOf) }
  }

  /** The value that applies now. A secret is withheld at once when its destination changes, before its own turn comes. */
  #inForce(slot: Slot): ConfigLayer | undefined {
    const { effective, layers } = slot
    if (effective === undefined || !hasDestination(slot)) return effective
    return strongest(slot, [...layers, effective], this.#layerOf)
  }

  /** The value of a key that has no destination. */
  readonly #layerOf: LayerOf = (key) => this.#slots.key.get(key)?.effective

  /** The newest value of a key that has no destination; a restart may have to come before it applies. */
  readonly #newestOf: LayerOf = (key) => this.#slots.key.get(key)?.layers.at(-1)

  /** @param current the value that applied before the rows came */
  #change(slot: Slot, row: ConfigLayer | undefined, layerOf: LayerOf, current = this.#inForce(slot)): Change {
    const isUnchanged = slot.layers.find(({ source }) => source === 'database') === row
    const waits = slot.declaration.reload === 'restart' && this.#sealed.has(slot.plugin)
    // Most rows are as they were: what they mean is then known, unless it depends on other keys.
    const { lastChange: last } = slot
    if (isUnchanged && last?.layers === slot.layers && last.current === current && last.waits === waits) {
      if (!hasDestination(slot)) return last.change
    }
    const others = slot.layers.filter(({ source }) => source !== 'database')
    const withRow = row === undefined ? others : [...others, row].sort((a, b) => rank(a) - rank(b))
    const layers = isUnchanged ? slot.layers : withRow
    const next = strongest(slot, layers, layerOf)
    const effect = sameValue(next, current) ? 'none' : waits ? 'restart' : 'live'
    const isStronger = (layer: ConfigLayer | undefined) =>
      layer !== undefined && row !== undefined && rank(layer) > rank(row)
    const change = { slot, layers, next, effect, isShadowed: isStronger(next) } as const
    slot.lastChange = { layers, current, waits, change }
    return change
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
    const known = source.name === 'database' ? this.#knownRows : undefined
    const reading = deepFreeze(readSource(source, this.#slots, known))
    for (const { sensitive, written } of reading.layers) if (sensitive) this.#secrets.add(written)
    return reading
  }
}
