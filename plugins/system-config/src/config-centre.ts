import type { Database } from '@plinth/database'
import {
  type AuditEntry,
  type Clock,
  errorReason,
  type JsonValue,
  type Logger,
  nearestName,
  omitUndefined,
} from '@plinth/kernel'
import type { CatalogueEntry, ConfigAdmin } from '@plinth/kernel/host'
import { isState, maxProblems, problemsOf } from './changes/change-check.ts'
import { Destinations, entriesAfterChanges, type SettledChanges, withheldText } from './changes/destinations.ts'
import { Effects, requirementProblems } from './changes/effects.ts'
import { KeyOwnerVerification } from './changes/owners.ts'
import { assertNoneDenied, deniedKeys, needsFreshProof, permissionProblems } from './changes/protected-keys.ts'
import { exportDocument, importChanges } from './changes/transfer.ts'
import type {
  Actor,
  ChangeOrigin,
  ChangeRequest,
  ConfigCentre,
  ConfigChange,
  ConfigDocument,
  ConfigItem,
  HistoryFilter,
  HistoryWindow,
  ImportDocument,
  ImportMode,
  InstanceState,
  KeyProblem,
  Preview,
  PreviewOptions,
  RequestFilter,
  ResealReport,
  RotationReport,
  SaveOptions,
  SaveResult,
  Verification,
} from './contract.ts'
import { businessError, translateStorageErrors } from './declarations.ts'
import type { ChangeNotification, InstanceReport, Instances } from './instances/instances.ts'
import { parseQuery } from './item-view.ts'
import { needsApproval } from './requests/approval-rule.ts'
import { type ApprovedRequest, ChangeRequests } from './requests/change-requests.ts'
import type { MasterKeys } from './secrets/master-keys.ts'
import { resealSecrets, rotateSecrets } from './secrets/rotation.ts'
import { isSameSecret, maskedForDisplay } from './secrets/sealed-value.ts'
import { verificationEntry } from './storage/audit-entries.ts'
import { ConfigStore, type StoredConfig } from './storage/config-store.ts'
import { History } from './storage/history.ts'

interface ConfigCentreOptions {
  /** Name of the product for exported documents. */
  readonly product: string
  readonly configAdmin: ConfigAdmin
  readonly database: Database
  readonly masterKeys: MasterKeys
  readonly instances: Instances
  readonly audit: (entry: AuditEntry) => Promise<void>
  readonly clock: Clock
  readonly log: Logger
  /** True in the process of a command. It has not set up all plugins, so it does not know which keys need a restart. */
  readonly isCommand: boolean
  /** Returns the effective value of `platform.system-config.approval.keys`. */
  readonly approvalKeys: () => readonly string[]
  /** Notifies other instances that stored values have changed. */
  readonly announce: (what: ChangeNotification) => void
}

/** A plugin that changes its own state, or a request that another operator has approved. */
interface SaveKind {
  readonly stateOf?: string
  readonly approved?: ApprovedRequest
}

export class StoredConfigCentre implements ConfigCentre {
  readonly #options: ConfigCentreOptions
  readonly #store: ConfigStore
  readonly #history: History
  readonly #effects: Effects
  readonly #owners: KeyOwnerVerification
  readonly #destinations: Destinations
  readonly #requests: ChangeRequests
  #catalogue: ReadonlyMap<string, CatalogueEntry> | undefined
  #stored: StoredConfig = { version: 0, values: new Map() }
  #problems: ReadonlyMap<string, string> = new Map()
  /** True if the next refresh must read all values, even if the version is the same. */
  #isForgotten = true
  #turns: Promise<unknown> = Promise.resolve()

  constructor(options: ConfigCentreOptions) {
    const { database, masterKeys, clock, audit } = options
    this.#options = options
    const isSensitive = (key: string) => this.#isSensitive(key)
    this.#store = new ConfigStore({ database, masterKeys, clock, isSensitive, audit })
    this.#requests = new ChangeRequests({ database, masterKeys, clock, isSensitive, audit })
    this.#history = new History({ database, masterKeys, isSensitive })
    this.#effects = new Effects(options, () => this.#declarations)
    this.#destinations = new Destinations(options.configAdmin, () => this.#declarations)
    this.#owners = new KeyOwnerVerification({ ...options, declarations: () => this.#declarations })
  }

  get version(): number {
    return this.#stored.version
  }

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

  find(key: string): ConfigItem | undefined {
    return this.#declarations.has(key) || this.#stored.values.has(key) ? this.#item(key) : undefined
  }

  async get(key: string): Promise<ConfigItem> {
    await this.refresh()
    if (!this.#declarations.has(key) && !this.#stored.values.has(key)) throw this.#unknown(key)
    return this.#item(key)
  }

  async preview(changes: readonly ConfigChange[], { locale = 'en', actor }: PreviewOptions = {}): Promise<Preview> {
    await this.refresh()
    const found = this.#problemsOf(changes, { locale })
    // The list of problems is full. The changes after it were not checked, so no effects are returned.
    if (found.length >= maxProblems) return { effects: [], plugins: [], faults: found, version: this.version }
    const without = (faults: readonly KeyProblem[], from: readonly ConfigChange[]) => {
      const broken = new Set(faults.map(({ field }) => field))
      return from.filter(({ key }) => !broken.has(key))
    }
    const valid = without(found, changes)
    const denied = permissionProblems(this.#deniedKeys(this.#settled(valid), actor), locale)
    const checked = without(denied, valid)
    // Does not ask the owner of a secret. Otherwise a caller with read access could test guesses.
    const refused = await this.#owners.rejections(
      checked.filter(({ key }) => !this.#isSensitive(key)),
      this.#stored,
      { locale },
    )
    const settled = this.#settled(without(refused, checked))
    const foreseen = this.#needsApproval(settled, { actor })
      ? this.#requestedEffects(settled)
      : this.#effects.foreseen(settled, this.#stored)
    return { ...foreseen, faults: [...found, ...denied, ...refused], version: this.version }
  }

  #problemsOf(
    changes: readonly ConfigChange[],
    { locale = 'en' }: Pick<SaveOptions, 'locale'>,
    owner?: string,
  ): readonly KeyProblem[] {
    const faults = problemsOf(changes, this.#declarations, this.#stored, { owner, locale })
    // Rules between keys are only checked if each value is valid.
    if (faults.length > 0) return faults
    return requirementProblems(changes, this.#declarations, (key) => this.#options.configAdmin.explain(key), locale)
  }

  save(changes: readonly ConfigChange[], options: SaveOptions): Promise<SaveResult> {
    return this.#save(changes, 'save', options)
  }

  saveState(plugin: string, changes: readonly ConfigChange[], options: SaveOptions): Promise<SaveResult> {
    // The state of a plugin, such as a key that is created on first use, is not part of the call that needs it.
    const { database } = this.#options
    return database.withFirstStatement(undefined, () => this.#save(changes, 'state', options, { stateOf: plugin }))
  }

  async #save(
    changes: readonly ConfigChange[],
    origin: ChangeOrigin,
    options: SaveOptions,
    on: SaveKind = {},
  ): Promise<SaveResult> {
    const { stateOf } = on
    await this.refresh()
    const { locale = 'en', signal } = options
    const faults = this.#problemsOf(changes, options, stateOf)
    if (faults.length > 0) throw businessError('invalid', { data: { errors: faults } })
    // Before any plugin sees a secret.
    this.#destinations.assertSeen(changes, this.#stored)
    await this.#assertAllowed(this.#settled(changes), options)
    if (options.verify !== false) {
      const refused = await this.#owners.rejections(changes, this.#stored, { locale, signal })
      if (refused.length > 0) throw businessError('invalid', { data: { errors: refused } })
    }
    const checked = this.#settled(changes)
    if (this.#needsApproval(checked, options, on)) return this.#request(changes, origin, options, checked)
    // Saves and reloads run one after another. Otherwise a reload could revert values that are being saved.
    return this.#inTurn(async () => {
      const { log, database, announce } = this.#options
      let before = this.#stored
      let settled = this.#settled(changes)
      let version = await this.#write(settled, origin, options, on)
      // Another save came first, so the changes are checked again with the new values.
      while (version === undefined) {
        await translateStorageErrors(log, () => this.#read())
        before = this.#stored
        settled = this.#settled(changes)
        version = await this.#write(settled, origin, options, on)
      }
      if (version !== before.version) database.afterCommit(() => announce('values'))
      // The changes are stored. If reading them fails, the next poll applies them.
      await this.#read().catch((error: unknown) =>
        log.warn({ reason: errorReason(error) }, 'changes are saved but not applied in this instance yet'),
      )
      return { version, effects: this.#effects.happened(settled, before) }
    })
  }

  /**
   * Checks changes against the known values, passes them to their owners and writes them.
   *
   * @returns the new version, or undefined if another save changed the stored values
   */
  async #write(
    settled: SettledChanges,
    origin: ChangeOrigin,
    options: SaveOptions,
    on: SaveKind,
  ): Promise<number | undefined> {
    const { stateOf, approved } = on
    const { changes } = settled
    const before = this.#stored
    const requested = changes.filter(({ isUnset }) => isUnset !== true)
    const faults = this.#problemsOf(requested, options, stateOf)
    if (faults.length > 0) throw businessError('invalid', { data: { errors: faults } })
    this.#destinations.assertSeen(requested, before)
    await this.#assertAllowed(settled, options)
    // Another operator has changed the list of these keys while this save was checked.
    if (this.#needsApproval(settled, options, on)) throw businessError('approval-needed')
    // A plugin that stores its own state has already checked it.
    const isOffered = stateOf === undefined && !this.#isOutdated(changes)
    if (isOffered) {
      const refused = await this.#owners.offer(changes, before, options.locale ?? 'en')
      if (refused.length > 0) throw businessError('invalid', { data: { errors: refused } })
    }
    let version: number | undefined
    try {
      version = await translateStorageErrors(this.#options.log, () =>
        this.#store.write(changes, origin, options, before.version, { stateOf, close: approved?.close }),
      )
      return version
    } finally {
      if (isOffered && version === undefined) await this.#owners.takeBack(before)
    }
  }

  /** Only users need the approval of another operator. A plugin that changes its own state does not. */
  #needsApproval(
    { changes }: SettledChanges,
    { actor }: { readonly actor?: Actor | undefined },
    { stateOf, approved }: SaveKind = {},
  ): boolean {
    if (actor?.userId === undefined || stateOf !== undefined || approved !== undefined) return false
    return needsApproval(changes, this.#stored, this.#declarations, this.#options.approvalKeys())
  }

  #requestedEffects(settled: SettledChanges): Pick<Preview, 'effects' | 'plugins'> {
    const { effects } = this.#effects.foreseen(settled, this.#stored)
    const isUnchanged = (outcome: string) => outcome === 'unchanged'
    return {
      effects: effects.map((one) => (isUnchanged(one.outcome) ? one : { ...one, outcome: 'requested' })),
      plugins: [],
    }
  }

  /** Stores the changes as a request, with the versions of the values and destinations that it replaces. */
  async #request(
    changes: readonly ConfigChange[],
    origin: ChangeOrigin,
    options: SaveOptions,
    settled: SettledChanges,
  ): Promise<SaveResult> {
    const stored = this.#stored
    const based = changes.map((change): ConfigChange => {
      const expectedVersion = change.expectedVersion ?? stored.values.get(change.key)?.version ?? 0
      if (change.action === 'reset') return { ...change, expectedVersion }
      const seen = change.expectedDestination ?? this.#destinations.versionOf(change.key, stored)
      return { ...change, expectedVersion, ...(seen === undefined ? {} : { expectedDestination: seen }) }
    })
    const requestId = await translateStorageErrors(this.#options.log, () =>
      this.#requests.create(based, origin, options),
    )
    return { version: stored.version, requestId, effects: this.#requestedEffects(settled).effects }
  }

  requests(filter: RequestFilter, window: HistoryWindow) {
    return translateStorageErrors(this.#options.log, () => this.#requests.page(filter, window))
  }

  request(id: number): Promise<ChangeRequest> {
    return translateStorageErrors(this.#options.log, () => this.#requests.get(id))
  }

  async approve(id: number, options: SaveOptions): Promise<SaveResult> {
    const approved = await translateStorageErrors(this.#options.log, () => this.#requests.approved(id, options))
    const { changes, origin, reason } = approved
    return this.#save(changes, origin, omitUndefined<SaveOptions>({ ...options, reason }), { approved })
  }

  reject(id: number, options: SaveOptions): Promise<void> {
    return translateStorageErrors(this.#options.log, () => this.#requests.reject(id, options))
  }

  withdraw(id: number, options: SaveOptions): Promise<void> {
    return translateStorageErrors(this.#options.log, () => this.#requests.withdraw(id, options))
  }

  /** True if the write will fail with a conflict. Then no owner is asked to apply the values. */
  #isOutdated(changes: readonly ConfigChange[]): boolean {
    const versionOf = (key: string) => this.#stored.values.get(key)?.version ?? 0
    return changes.some(({ key, expectedVersion }) => (expectedVersion ?? versionOf(key)) !== versionOf(key))
  }

  async verify(
    key: string,
    value: JsonValue,
    { signal, expectedDestination }: Parameters<ConfigCentre['verify']>[2] = {},
  ): Promise<Verification> {
    if (!this.#declarations.has(key)) throw this.#unknown(key)
    if (expectedDestination !== undefined) await this.refresh()
    this.#destinations.assertExpected(key, expectedDestination, this.#stored)
    return this.#owners.verify(key, value, signal)
  }

  async isStoredSecret(key: string, value: JsonValue, actor: Actor): Promise<boolean | undefined> {
    await this.refresh()
    const declaration = this.#declarations.get(key)
    if (declaration === undefined) throw this.#unknown(key)
    const stored = this.#stored.values.get(key)?.value
    if (!declaration.sensitive || !declaration.editable || stored === undefined) return undefined
    const isSame = isSameSecret(stored, value)
    await translateStorageErrors(this.#options.log, () => this.#options.audit(verificationEntry(key, isSame, actor)))
    return isSame
  }

  history(filter: HistoryFilter, window: HistoryWindow) {
    return translateStorageErrors(this.#options.log, () => this.#history.page(filter, window))
  }

  async rollbackChanges(toVersion: number, keys?: readonly string[]): Promise<readonly ConfigChange[]> {
    await this.refresh()
    const stored = this.#stored
    if (!Number.isSafeInteger(toVersion) || toVersion < 0 || toVersion > stored.version) {
      throw businessError('version-unknown', { params: { version: toVersion } })
    }
    const changes = await translateStorageErrors(this.#options.log, () =>
      this.#history.changesBackTo(toVersion, stored, keys),
    )
    // Without `keys`, the rollback skips values that operators may not store. If the caller lists keys, all of them are
    // restored or the call fails.
    return keys === undefined ? changes.filter((change) => !this.#isKeptOut(change)) : changes
  }

  async rollback(toVersion: number, { keys, ...options }: SaveOptions & { readonly keys?: readonly string[] }) {
    return this.#save(await this.rollbackChanges(toVersion, keys), 'rollback', options)
  }

  async export(): Promise<ConfigDocument> {
    await this.refresh()
    const { product, clock } = this.#options
    const about = { product, exportedAt: new Date(clock.now()) }
    const isExported = (key: string) => !this.#isState(key) && this.#declarations.get(key)?.scope !== 'process'
    const values = new Map([...this.#stored.values].filter(([key]) => isExported(key)))
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
    return translateStorageErrors(this.#options.log, () => this.#options.instances.list())
  }

  async rotateSecrets(): Promise<RotationReport> {
    const { log, database, announce } = this.#options
    const report = await translateStorageErrors(log, () => rotateSecrets(this.#rotation))
    database.afterCommit(() => announce('secrets'))
    return report
  }

  /** Other instances need not read the values again. An instance of an earlier version would change them again. */
  resealSecrets(): Promise<ResealReport> {
    return translateStorageErrors(this.#options.log, () => resealSecrets(this.#rotation))
  }

  /** Returns the keys of secrets that the next start of a server binds to their current destinations. */
  async unboundSecrets(): Promise<readonly string[]> {
    return translateStorageErrors(this.#options.log, async () => {
      const stored = await this.#store.load()
      const isEncrypted = (key: string) => stored.values.get(key)?.sealed !== undefined
      return [...this.#destinations.unbound(stored).keys()].filter(isEncrypted)
    })
  }

  get #rotation() {
    const { database, masterKeys } = this.#options
    return { database, masterKeys, isSensitive: (key: string) => this.#isSensitive(key) }
  }

  async refresh(): Promise<void> {
    await translateStorageErrors(this.#options.log, async () => {
      if (this.#isForgotten || (await this.#store.version()) !== this.version) await this.#reload()
    })
  }

  /** Makes the next refresh read all values, even if the version is the same. */
  forget(): void {
    this.#isForgotten = true
  }

  /** Reads and applies all stored values. Waits for running saves, so that older values never replace newer ones. */
  load(): Promise<void> {
    return this.#reload()
  }

  #reload(): Promise<void> {
    return this.#inTurn(() => this.#read())
  }

  /** Runs functions one after another. A function must not wait for another one in this queue. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turns.then(work)
    this.#turns = result.catch(() => undefined)
    return result
  }

  async #read(): Promise<void> {
    const { configAdmin, log } = this.#options
    const isWhole = this.#isForgotten
    this.#isForgotten = false
    const stored = await this.#load(isWhole).catch((error: unknown) => {
      this.forget()
      throw error
    })
    const values = [...stored.values.values()]
    const entries = entriesAfterChanges(stored)
    const { problems, changed, pendingRestart, refused, withheld } = await configAdmin.apply(entries)
    const keyByPlace = new Map(entries.map(({ name, place }) => [place, name]))
    const found = new Map(
      values.flatMap(({ key, problem }) => (problem === undefined ? [] : [[key, problem] as const])),
    )
    for (const { code, place, message } of problems) {
      if (code === 'PLINTH_CONFIG_INVALID_VALUE') found.set(keyByPlace.get(place) ?? place, message)
    }
    for (const secret of withheld) found.set(secret.key, withheldText(secret))
    const known = this.#problems
    this.#stored = stored
    this.#problems = found
    const unused = new Set(withheld.map(({ key }) => key))
    for (const [key, reason] of found) {
      if (known.get(key) === reason) continue
      if (unused.has(key)) log.warn({ key, reason }, 'a secret is not used: its destination has changed')
      else this.#reportUnusable(key, reason)
    }
    for (const { key, reason } of refused)
      log.error({ key, reason }, 'a live value was rejected; the old value stays effective')
    if (changed.length > 0 || pendingRestart.length > 0) {
      log.info({ version: stored.version, changed, pendingRestart }, 'stored configuration applied')
    }
  }

  /**
   * Reads the stored values. A secret that an earlier version stored without a destination is bound to the current
   * destination (decision F2). Only a serving process stores this binding, because a command may run in a different
   * environment. It stores the destination next to the secret, so that earlier versions can still read the secret
   * (decision G10).
   */
  async #load(isWhole: boolean): Promise<StoredConfig> {
    const { isCommand, log } = this.#options
    const stored = await this.#store.load(isWhole ? undefined : this.#stored)
    const unbound = this.#destinations.unbound(stored)
    if (unbound.size === 0) return stored
    const values = new Map(
      [...stored.values].map(([key, row]) => [key, { ...row, destination: unbound.get(key) ?? row.destination }]),
    )
    if (isCommand) return { ...stored, values }
    const keys = await this.#store.bind(unbound, stored)
    if (keys === undefined) return this.#load(true)
    if (keys.length > 0) log.info({ keys }, 'stored secrets were bound to the current destinations')
    return { ...stored, values }
  }

  #reportUnusable(key: string, reason: string): void {
    const { log } = this.#options
    const declaration = this.#declarations.get(key)
    const row = this.#stored.values.get(key)
    const remove = `Remove the stored value: plinth config reset ${key}`
    if (declaration?.scope === 'process') {
      // An earlier version of the product stored this value. It is ignored.
      const isSecret = declaration.sensitive || row?.sensitive === true
      const value = isSecret
        ? 'The stored value is a secret that cannot be shown.'
        : `It is ${JSON.stringify(row?.value)}.`
      const fix = `${value} To keep using it, set the environment variable ${declaration.env} of the process. ${remove}`
      log.warn({ key, reason, fix }, `the stored value of ${key} is ignored: this key is set per process`)
    } else log.error({ key, reason, fix: remove }, 'stored value cannot be used')
  }

  #settled(changes: readonly ConfigChange[]): SettledChanges {
    return this.#destinations.settle(changes, this.#stored)
  }

  /**
   * Checks the permissions of the actor for the changed keys, and for secrets and guards a recent proof of identity.
   *
   * @throws BusinessError `403`, reason `system-config.key-protected`; the error of `Actor.assertFresh`
   */
  async #assertAllowed(settled: SettledChanges, { actor, locale = 'en' }: Pick<SaveOptions, 'actor' | 'locale'>) {
    assertNoneDenied(this.#deniedKeys(settled, actor), locale)
    if (needsFreshProof(settled.changes, this.#stored, this.#declarations)) await actor.assertFresh?.()
  }

  #deniedKeys({ changes }: SettledChanges, actor: Actor | undefined) {
    return deniedKeys(changes, this.#stored, this.#declarations, actor)
  }

  #unknown(key: string) {
    const near = nearestName(key, this.#declarations.keys())
    return businessError('key-unknown', { params: { key }, data: near === undefined ? {} : { nearest: near } })
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

  /** True if a rollback must not restore the value, because operators may not store it. */
  #isKeptOut({ key, action }: ConfigChange): boolean {
    return this.#isState(key) || (action === 'set' && this.#declarations.get(key)?.scope === 'process')
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
        value: maskedForDisplay(stored.value, isSecret),
        version: stored.version,
        updatedAt: stored.updatedAt,
        updatedBy: stored.updatedBy,
      },
      destinationVersion: this.#destinations.versionOf(key, this.#stored),
      problem: this.#problems.get(key),
    }
  }
}
