import type { Database } from '@plinth/database'
import {
  type AuditEntry,
  type CatalogueEntry,
  type Clock,
  type ConfigAdmin,
  type JsonValue,
  type Logger,
  reasonOf,
  withinDeadline,
} from '@plinth/kernel'
import type { Announcement } from './announcements.ts'
import { fault, faultsOf, isState } from './change-check.ts'
import { ConfigStore, type StoredConfig } from './config-store.ts'
import type {
  ChangeOrigin,
  ConfigCentre,
  ConfigChange,
  ConfigDocument,
  ConfigItem,
  HistoryFilter,
  ImportDocument,
  ImportMode,
  InstanceState,
  KeyFault,
  Preview,
  RotationReport,
  SaveOptions,
  SaveResult,
  Verification,
} from './contract.ts'
import { Effects, entryOf } from './effects.ts'
import { invalid, keyUnknown, reachingStorage, versionUnknown } from './failures.ts'
import { History } from './history.ts'
import type { InstanceReport, Instances } from './instances.ts'
import { parseQuery } from './key-search.ts'
import type { MasterKeys } from './master-keys.ts'
import { rotateSecrets } from './rotation.ts'
import { shown } from './sealed-value.ts'
import { exportDocument, importChanges } from './transfer.ts'

/** How long the owner of a key may take to prove a value. */
const verifyDeadlineMs = 10_000

export interface ConfigCentreOptions {
  /** Name of the product, for exported documents. */
  readonly product: string
  readonly configAdmin: ConfigAdmin
  readonly database: Database
  readonly masterKeys: MasterKeys
  readonly instances: Instances
  /** Records in the audit trail of the product. */
  readonly audit: (entry: AuditEntry) => Promise<void>
  readonly clock: Clock
  readonly log: Logger
  /** A process that runs one command has set up no plugin of other roles, so it cannot know what waits for a restart. */
  readonly isCommand: boolean
  /** Tells other instances what was stored. */
  readonly announce: (what: Announcement) => void
}

export class StoredConfigCentre implements ConfigCentre {
  readonly #options: ConfigCentreOptions
  readonly #store: ConfigStore
  readonly #history: History
  readonly #effects: Effects
  #catalogue: ReadonlyMap<string, CatalogueEntry> | undefined
  #stored: StoredConfig = { version: 0, values: new Map() }
  #problems: ReadonlyMap<string, string> = new Map()
  #isForgotten = false
  #reloading: Promise<void> = Promise.resolve()

  constructor(options: ConfigCentreOptions) {
    const { database, masterKeys, clock, audit } = options
    this.#options = options
    const isSensitive = (key: string) => this.#isSensitive(key)
    this.#store = new ConfigStore({ database, masterKeys, clock, isSensitive, audit })
    this.#history = new History({ database, masterKeys, isSensitive })
    this.#effects = new Effects(options, () => this.#declarations)
  }

  get version(): number {
    return this.#stored.version
  }

  /** What this instance makes of the stored values. */
  get report(): InstanceReport {
    const explanations = this.#options.configAdmin.list()
    return {
      version: this.version,
      pendingRestart: explanations.filter(({ pendingRestart }) => pendingRestart).map(({ key }) => key),
      refused: explanations.flatMap(({ key, refused }) => (refused === undefined ? [] : [{ key, reason: refused }])),
      problems: [...this.#problems].map(([key, reason]) => ({ key, reason })),
    }
  }

  async list(query: string): Promise<readonly ConfigItem[]> {
    const matches = parseQuery(query)
    await this.refresh()
    const orphans = [...this.#stored.values.keys()].filter((key) => !this.#declarations.has(key))
    return [...this.#declarations.keys(), ...orphans].map((key) => this.#item(key)).filter(matches)
  }

  async get(key: string): Promise<ConfigItem> {
    await this.refresh()
    if (!this.#declarations.has(key) && !this.#stored.values.has(key)) throw keyUnknown(key)
    return this.#item(key)
  }

  async preview(changes: readonly ConfigChange[]): Promise<Preview> {
    await this.refresh()
    const faults = faultsOf(changes, this.#declarations, this.#stored)
    const broken = new Set(faults.map(({ field }) => field))
    const sound = changes.filter(({ key }) => !broken.has(key))
    return { ...this.#effects.foreseen(sound, this.#stored), faults, version: this.version }
  }

  save(changes: readonly ConfigChange[], options: SaveOptions): Promise<SaveResult> {
    return this.#save(changes, 'save', options)
  }

  saveState(plugin: string, changes: readonly ConfigChange[], options: SaveOptions): Promise<SaveResult> {
    return this.#save(changes, 'state', options, plugin)
  }

  async #save(
    changes: readonly ConfigChange[],
    origin: ChangeOrigin,
    options: SaveOptions,
    stateOf?: string,
  ): Promise<SaveResult> {
    await this.refresh()
    const before = this.#stored
    const faults = faultsOf(changes, this.#declarations, before, stateOf)
    if (faults.length > 0) throw invalid(faults)
    if (options.verify !== false) {
      const refused = await this.#verifyAll(changes, options.signal)
      if (refused.length > 0) throw invalid(refused)
    }
    const { log, database, announce } = this.#options
    const version = await reachingStorage(log, () => this.#store.write(changes, origin, options, stateOf))
    if (version !== before.version) database.afterCommit(() => announce('values'))
    // The change is stored: when it cannot be read back now, the next poll does it.
    await this.#reload().catch((error: unknown) => log.warn({ reason: reasonOf(error) }, 'saved, not yet applied'))
    return { version, effects: this.#effects.happened(changes, before) }
  }

  async verify(key: string, value: JsonValue, signal?: AbortSignal): Promise<Verification> {
    if (!this.#declarations.has(key)) throw keyUnknown(key)
    const { configAdmin, clock } = this.#options
    const late = () => new Error(`no answer within ${verifyDeadlineMs} ms`)
    const ask = (deadline: AbortSignal) =>
      configAdmin.verify(key, value, signal === undefined ? deadline : AbortSignal.any([deadline, signal]))
    try {
      return await withinDeadline(clock, verifyDeadlineMs, ask, late)
    } catch (error) {
      return { outcome: 'refused', reason: reasonOf(error) }
    }
  }

  async #verifyAll(changes: readonly ConfigChange[], signal: AbortSignal | undefined): Promise<readonly KeyFault[]> {
    const answers = changes.map(async (change): Promise<KeyFault[]> => {
      if (change.action === 'reset') return []
      const { outcome, reason } = await this.verify(change.key, change.value, signal)
      return outcome === 'refused' ? [fault(change.key, 'refused', `was refused by its plugin: ${reason}`)] : []
    })
    return (await Promise.all(answers)).flat()
  }

  history(filter: HistoryFilter) {
    return reachingStorage(this.#options.log, () => this.#history.page(filter))
  }

  async rollbackChanges(toVersion: number, keys?: readonly string[]): Promise<readonly ConfigChange[]> {
    await this.refresh()
    const stored = this.#stored
    if (!Number.isSafeInteger(toVersion) || toVersion < 0 || toVersion > stored.version) throw versionUnknown(toVersion)
    const changes = await reachingStorage(this.#options.log, () => this.#history.changesBackTo(toVersion, stored, keys))
    // State that was asked for by name is refused with the rest, not left out in silence.
    return keys === undefined ? changes.filter(({ key }) => !this.#isState(key)) : changes
  }

  async rollback(toVersion: number, { keys, ...options }: SaveOptions & { readonly keys?: readonly string[] }) {
    return this.#save(await this.rollbackChanges(toVersion, keys), 'rollback', options)
  }

  async export(): Promise<ConfigDocument> {
    await this.refresh()
    const { product, clock } = this.#options
    const about = { product, exportedAt: new Date(clock.now()) }
    const values = new Map([...this.#stored.values].filter(([key]) => !this.#isState(key)))
    return exportDocument({ ...this.#stored, values }, (key) => this.#isSensitive(key), about)
  }

  async importChanges(document: ImportDocument, mode: ImportMode): Promise<readonly ConfigChange[]> {
    await this.refresh()
    return importChanges(document, mode, this.#stored, this.#declarations)
  }

  async import(document: ImportDocument, { mode, ...options }: SaveOptions & { readonly mode: ImportMode }) {
    return this.#save(await this.importChanges(document, mode), 'import', options)
  }

  instances(): Promise<readonly InstanceState[]> {
    return reachingStorage(this.#options.log, () => this.#options.instances.list())
  }

  async rotateSecrets(): Promise<RotationReport> {
    const { log, database, masterKeys, announce } = this.#options
    const isSensitive = (key: string) => this.#isSensitive(key)
    const report = await reachingStorage(log, () => rotateSecrets({ database, masterKeys, isSensitive }))
    database.afterCommit(() => announce('secrets'))
    return report
  }

  async refresh(): Promise<void> {
    await reachingStorage(this.#options.log, async () => {
      if (this.#isForgotten || (await this.#store.version()) !== this.version) await this.#reload()
    })
  }

  /** The next refresh reads all values, even if there is no new version. */
  forget(): void {
    this.#isForgotten = true
  }

  /** Reads and applies all stored values. One after another, so that older values never replace newer ones. */
  load(): Promise<void> {
    return this.#reload()
  }

  #reload(): Promise<void> {
    const result = this.#reloading.then(() => this.#read())
    this.#reloading = result.catch(() => undefined)
    return result
  }

  async #read(): Promise<void> {
    const { configAdmin, log } = this.#options
    this.#isForgotten = false
    const stored = await this.#store.load().catch((error: unknown) => {
      this.forget()
      throw error
    })
    const values = [...stored.values.values()]
    const entries = values.flatMap(({ key, value, version }) =>
      value === undefined ? [] : [entryOf(key, value, version)],
    )
    const { problems, changed, pendingRestart, refused } = await configAdmin.apply(entries)
    const keyByPlace = new Map(entries.map(({ name, place }) => [place, name]))
    const found = new Map(
      values.flatMap(({ key, problem }) => (problem === undefined ? [] : [[key, problem] as const])),
    )
    for (const { code, place, message } of problems) {
      if (code === 'PLINTH_CONFIG_INVALID_VALUE') found.set(keyByPlace.get(place) ?? place, message)
    }
    this.#stored = stored
    this.#problems = found
    for (const [key, reason] of found) log.error({ key, reason }, 'stored value cannot be used')
    for (const { key, reason } of refused) log.error({ key, reason }, 'live value refused; the old one stays in force')
    if (changed.length > 0 || pendingRestart.length > 0) {
      log.info({ version: stored.version, changed, pendingRestart }, 'stored configuration applied')
    }
  }

  get #declarations(): ReadonlyMap<string, CatalogueEntry> {
    this.#catalogue ??= new Map(this.#options.configAdmin.catalogue.map((entry) => [entry.key, entry]))
    return this.#catalogue
  }

  #isSensitive(key: string): boolean {
    return this.#declarations.get(key)?.sensitive === true
  }

  #isState(key: string): boolean {
    return isState(key, this.#declarations, this.#stored)
  }

  #item(key: string): ConfigItem {
    const declaration = this.#declarations.get(key)
    const stored = this.#stored.values.get(key)
    const isSecret = declaration?.sensitive === true || stored?.sensitive === true
    return {
      key,
      declaration,
      explanation: this.#options.configAdmin.explain(key),
      stored: stored && {
        value: shown(stored.value, isSecret),
        version: stored.version,
        updatedAt: stored.updatedAt,
        updatedBy: stored.updatedBy,
      },
      problem: this.#problems.get(key),
    }
  }
}
