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

export interface ConfigRules {
  readonly isProduction?: boolean
  /** Reports a name without a key in a file as a warning instead of a problem. */
  readonly toleratesUnknownKeys?: boolean
}

/** The values of all keys, each with its source. */
export class ConfigValues {
  /** By the two kinds of names in a source. */
  readonly #slots: Readonly<Record<ConfigEntry['by'], ReadonlyMap<string, Slot>>>
  /** Keys without a destination first, then secrets with one, because their value depends on the others. */
  readonly #order: readonly Slot[]
  /** Secrets with a destination. */
  readonly #bound: readonly Slot[]
  readonly #sealed = new Set<string>()
  readonly #secrets = new Secrets()
  readonly #isProduction: boolean
  /** Rows of the database that were read before. */
  readonly #knownRows: KnownEntries = new WeakMap()
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

  /** @param sources lowest precedence first */
  constructor(
    keys: ReadonlyMap<string, OwnedKey>,
    sources: readonly ConfigSource[],
    { isProduction = false, toleratesUnknownKeys = false }: ConfigRules = {},
  ) {
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
      // An invalid value has its own problem. A second problem for the missing value would repeat it.
      if (declaration.required && slot.effective === undefined && !refused.has(key)) {
        missing.push(problem('PLINTH_CONFIG_REQUIRED', key, { key, env }, plugin))
      }
    }
    const findings = readings.flatMap((reading) => reading.findings)
    const isWarning = (finding: SourceFinding) =>
      finding.isWarning || (toleratesUnknownKeys && finding.rule === 'unknown')
    this.problems = [...findings.filter((finding) => !isWarning(finding)).map(problemOf), ...missing]
    this.warnings = findings.filter(isWarning).map(problemOf)
  }

  /**
   * Returns the decoded value for the owner of the key.
   *
   * @throws PlinthError `PLINTH_CONFIG_UNDECLARED` if the plugin does not own the key
   */
  get(plugin: string, key: string): unknown {
    const slot = this.#owned(plugin, key)
    const layer = this.#inForce(slot)
    return layer === slot.effective ? slot.value : readValue(slot.declaration, layer?.written)
  }

  /** Caches a result computed from values until an effective value changes. */
  derived<T>(make: () => T): () => T {
    let kept: { readonly changes: number; readonly made: T } | undefined
    return () => {
      if (kept?.changes !== this.#changes) kept = { changes: this.#changes, made: make() }
      return kept.made
    }
  }

  /** Returns the value of a key with all its sources. Sensitive values are masked. */
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
   * Describes the stored values that may have caused the failure of the first of these plugins, with the command that
   * removes them. These are the values whose keys the reason contains, otherwise those of the plugin, otherwise those of
   * the others. Empty if there are none.
   */
  storedOf(plugins: readonly string[], reason: string): string {
    const stored = this.list().filter((one) => plugins.includes(one.plugin) && one.effective.source === 'database')
    const closest = [({ key }: Explanation) => reason.includes(key), ({ plugin }: Explanation) => plugin === plugins[0]]
    const suspects = closest.map((fits) => stored.filter(fits)).find(({ length }) => length > 0) ?? stored
    const rows = suspects.map(({ effective }) => effective.place).join('; ')
    const keys = suspects.map(({ key }) => key).join(' ')
    return rows && ` It runs on the ${rows}. To go on without: \`plinth config reset ${keys}\`, which works now.`
  }

  /** All keys with their descriptions and rules. */
  get catalogue(): readonly CatalogueEntry[] {
    this.#catalogue ??= deepFreeze(catalogueOf(this.#slots.key.values()))
    return this.#catalogue
  }

  /** Stored values whose keys no loaded plugin declares. */
  get orphaned(): readonly OrphanedValue[] {
    return this.#orphaned
  }

  /** Problems and warnings of the stored values, such as a deprecated key. */
  get storedProblems(): readonly Problem[] {
    return this.#storedProblems
  }

  /**
   * Returns, in production, a warning for each key whose effective value is not safe. See `KeyDeclaration.insecure`.
   */
  insecure(): readonly Problem[] {
    return [...this.#slots.key.values()].filter(this.#isInsecure).map(({ key, plugin, declaration }) => {
      const details = { key, reason: localize(declaration.insecure?.reason ?? '', 'en') }
      return problem('PLINTH_CONFIG_INSECURE', key, details, plugin)
    })
  }

  /**
   * Returns a warning for each variable, of the process or of `.env`, that has no effect because a stored value
   * overrides it (decision A14). The warning contains no value.
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
   * Masks by value every secret that any source has contained so far, because a replaced secret may still be in use.
   * Never throws.
   *
   * @param more values that are secret in this text only
   */
  redact(text: string, more: Iterable<unknown> = []): string {
    return this.#secrets.redact(text, more)
  }

  /** Fixes the keys of this plugin with `reload: 'restart'`, because its setup reads them. */
  seal(plugin: string): void {
    this.#sealed.add(plugin)
  }

  /** Calls the listener with each new live value of a key. Call the returned function to unsubscribe. */
  onChange(plugin: string, key: string, listener: Listener): () => void {
    const { listeners } = this.#owned(plugin, key)
    listeners.add(listener)
    return () => listeners.delete(listener)
  }

  /** Lets the owner of a key verify new values before they are stored. Call the returned function to unsubscribe. */
  onVerify(plugin: string, key: string, verifier: Verifier): () => void {
    const slot = this.#owned(plugin, key)
    slot.verifier = verifier
    return () => {
      slot.verifier = undefined
    }
  }

  /**
   * Lets the owner verify a value in written form without changing anything. A value that violates the rule of its key
   * is rejected.
   *
   * @param entries all database values after the save; absent: the current ones
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
    // A value of a deprecated key applies to its replacement, so the owner of that key verifies it.
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
      // Masked only here: a value that is only verified must not stay a secret of the process.
      return { outcome: 'refused', reason: this.redact(reasonOf(error), rules.sensitive ? [written] : []) }
    }
  }

  /** Returns the changes that `apply` would make with these entries. */
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
   * Returns the destination of each secret after these database values apply, by key. It is stored with a secret that
   * was entered for it. Keys without a destination are omitted. A deprecated key has the destination of its
   * replacement.
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
   * Replaces the values from the database. Live keys change immediately, unless their owner rejects the value. Keys
   * that need a restart keep their value. Calls are executed one after another.
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
    return { ...keysOf(taken), refused, withheld, problems: this.#storedProblems }
  }

  /**
   * Returns the value that applies now. If its destination changes, a secret is withheld immediately, even before its
   * own change is applied.
   */
  #inForce(slot: Slot): ConfigLayer | undefined {
    const { effective, layers } = slot
    if (effective === undefined || !hasDestination(slot)) return effective
    return strongest(slot, [...layers, effective], this.#layerOf)
  }

  /** Returns the effective value of a key without a destination. */
  readonly #layerOf: LayerOf = (key) => this.#slots.key.get(key)?.effective

  /** Returns the newest value of a key without a destination. It may only apply after a restart. */
  readonly #newestOf: LayerOf = (key) => this.#slots.key.get(key)?.layers.at(-1)

  /** @param current the value that applied before the rows were read */
  #change(slot: Slot, row: ConfigLayer | undefined, layerOf: LayerOf, current = this.#inForce(slot)): Change {
    const isUnchanged = slot.layers.find(({ source }) => source === 'database') === row
    const waits = slot.declaration.reload === 'restart' && this.#sealed.has(slot.plugin)
    // Most rows have not changed: their result is reused unless it depends on other keys.
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

  /**
   * Makes a live value effective. If a listener rejects it, the listeners before it receive the old value again.
   * Returns the reason.
   */
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

  /** Reads a source that is in use from now on: its secrets are masked everywhere. */
  #read(source: ConfigSource): SourceReading {
    const known = source.name === 'database' ? this.#knownRows : undefined
    const reading = deepFreeze(readSource(source, this.#slots, known))
    for (const { sensitive, written } of reading.layers) if (sensitive) this.#secrets.add(written)
    return reading
  }
}
