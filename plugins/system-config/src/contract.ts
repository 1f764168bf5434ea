import type { FoundPage, PageWindow } from '@plinth/database'
import { type BoundDestination, type CatalogueEntry, type Explanation, type JsonValue, service } from '@plinth/kernel'

/** Who changes something; goes into the history. */
export interface Actor {
  /** At most 128 code points; longer names are cut. */
  readonly name: string
  /** The user, where one acts: names change and pass to others, ids do not. */
  readonly userId?: number
  readonly traceId?: string
  readonly clientIp?: string
}

/** Sets or removes the stored value of one key. */
export type ConfigChange = {
  readonly key: string
  /** Version of the key's stored value that the change was decided on; 0 for none. Absent: whatever is there. */
  readonly expectedVersion?: number
} & (
  | {
      readonly action: 'set'
      readonly value: JsonValue
      /**
       * Of a secret that comes from the history: the destination that it was entered for, `undefined` inside where that is
       * not known. Absent: the secret is entered now, for the destination that applies after the changes.
       */
      readonly enteredFor?: { readonly destination: BoundDestination | undefined }
    }
  | { readonly action: 'reset' }
)

/** Why a change of a key is refused. The members are those of the input errors of the HTTP interface. */
export interface KeyFault {
  /** The key. */
  readonly field: string
  /** `unknown`, `not-editable`, `not-owner`, `masked`, `duplicate`, `unreadable`, `refused`, `required`, or the broken JSON Schema keyword. */
  readonly rule: string
  readonly message: string
}

/**
 * What a change does on the instance that answers: `applied` counts now; `pendingRestart` counts after a restart;
 * `shadowed` counts when the command line no longer overrides it; `rejected` was refused by the plugin that owns the
 * key, the old value stays in force; `unchanged` was stored already; `unset` is a secret that does not apply any more because
 * another change of the same request changes its destination: a stored one is removed, one of another source is not used.
 */
export type Outcome = 'applied' | 'pendingRestart' | 'shadowed' | 'rejected' | 'unchanged' | 'unset'

export interface Effect {
  readonly key: string
  /** Owner of the key; `undefined` for an orphaned one. */
  readonly plugin: string | undefined
  readonly outcome: Outcome
  /** Why it was rejected or unset. */
  readonly reason?: string
  /** Stored values before and after, masked for a sensitive key; `undefined` when there is none. */
  readonly before: JsonValue | undefined
  readonly after: JsonValue | undefined
}

/** What a set of changes would do. */
export interface Preview {
  readonly effects: readonly Effect[]
  /** Plugins whose values would change. */
  readonly plugins: readonly string[]
  readonly faults: readonly KeyFault[]
  /** Version that the answer is based on. */
  readonly version: number
}

export interface SaveOptions {
  readonly actor: Actor
  /** At most 200 code points; the rest is cut. */
  readonly reason?: string
  /** False stores values without asking the plugins that could prove them. */
  readonly verify?: boolean
  readonly signal?: AbortSignal
  /** Language of the messages of faults; English when absent. */
  readonly locale?: string
}

export interface SaveResult {
  /** Version after the save; that before it when nothing changed. */
  readonly version: number
  readonly effects: readonly Effect[]
}

/** The stored value of a key. */
export interface StoredState {
  /** Masked for a sensitive key; `undefined` when it cannot be decrypted. */
  readonly value: JsonValue | undefined
  readonly version: number
  readonly updatedAt: Date
  readonly updatedBy: string
}

/** Everything an operator sees of one key. Sensitive values are masked everywhere. */
export interface ConfigItem {
  readonly key: string
  /** `undefined` when no loaded plugin declares it: an orphaned value. */
  readonly declaration: CatalogueEntry | undefined
  /** Effective value, every source, and how the newest value fares on this instance. `undefined` for an orphan. */
  readonly explanation: Explanation | undefined
  readonly stored: StoredState | undefined
  /**
   * What is wrong with a value: the stored one breaks its rule or cannot be decrypted, or a secret belongs to another
   * destination. It is not in force then.
   */
  readonly problem: string | undefined
}

export interface HistoryEntry {
  readonly version: number
  readonly key: string
  /** Masked for a sensitive key; `undefined` for none. */
  readonly before: JsonValue | undefined
  readonly after: JsonValue | undefined
  readonly sensitive: boolean
  readonly origin: ChangeOrigin
  /** The name that the actor had then. */
  readonly actor: string
  /** The user, where one acted. */
  readonly actorUserId: number | undefined
  readonly reason: string | undefined
  readonly traceId: string | undefined
  readonly changedAt: Date
}

/** `save` by hand, `import`, `rollback`; `state`: a plugin changed its own state. */
export type ChangeOrigin = 'save' | 'import' | 'rollback' | 'state'

export interface HistoryFilter {
  readonly version?: number
  readonly key?: string
  readonly actor?: string
  readonly actorUserId?: number
}

/** Which entries; they come the newest first. */
export type HistoryWindow = Omit<PageWindow, 'orderBy'>

/** One running process of the product. */
export interface InstanceState {
  readonly id: string
  readonly host: string
  readonly pid: number
  readonly roles: readonly string[]
  /** Version of the stored values that it runs. */
  readonly version: number
  readonly startedAt: Date
  readonly seenAt: Date
  readonly pendingRestart: readonly string[]
  readonly refused: readonly { readonly key: string; readonly reason: string }[]
  readonly problems: readonly { readonly key: string; readonly reason: string }[]
}

/** Stored values without secrets, to be carried to another installation. */
export interface ConfigDocument {
  readonly format: 'plinth-config/1'
  readonly product: string
  readonly version: number
  readonly exportedAt: string
  readonly values: { readonly [key: string]: JsonValue }
  /** Keys whose secret values were left out. */
  readonly omittedSecrets: readonly string[]
}

/** The part of a document that an import reads. */
export type ImportDocument = Pick<ConfigDocument, 'format' | 'values'>

/** `merge` keeps stored values that the document lacks, `replace` removes them; secrets always stay. */
export type ImportMode = 'merge' | 'replace'

export interface RotationReport {
  readonly reencrypted: number
  /** Keys of values, and history entries, that no known master key decrypts; they were left as they are. */
  readonly unreadable: readonly string[]
  /** What the operator may or must do next. */
  readonly advice: string
}

/** How a verification ended; `unverified` when the owner of the key cannot prove values. */
export interface Verification {
  readonly outcome: 'verified' | 'unverified' | 'refused'
  readonly reason?: string
}

/**
 * The configuration centre: every declared key with its value and origin, and the stored values, which count on all
 * instances of the product.
 *
 * Every method that reads or writes stored values throws BusinessError `503`, reason `system-config.storage-unavailable`,
 * when the database does not answer; nothing is half saved then.
 */
export interface ConfigCentre {
  /** Stored values that this instance runs. */
  readonly version: number

  /**
   * Keys that match a query such as `window @modified @group:rate-limit`; all for an empty one. See `key-search.ts`.
   *
   * @throws BusinessError `400`, reason `system-config.filter-unknown`
   */
  list(query: string): Promise<readonly ConfigItem[]>

  /**
   * One key. Throws BusinessError `404` when no plugin declares it and nothing is stored under it; `data.nearest` is the key that
   * was probably meant.
   */
  get(key: string): Promise<ConfigItem>

  /**
   * What changes would do, with every fault, also what the owners refuse of values that are no secrets. Changes nothing;
   * listeners of live keys are not called.
   *
   * @param locale language of the messages of faults; English when absent
   */
  preview(changes: readonly ConfigChange[], locale?: string): Promise<Preview>

  /**
   * Stores all changes or none, as one new version, and applies them here at once; other instances follow. The owners are
   * asked first: their verifiers, and the listeners of live keys, which then have the new values already. When one refuses,
   * nothing is stored and all have their old values back.
   *
   * A stored secret whose destination changes without it is removed with the same version (outcome `unset`, decision F.2).
   *
   * @throws BusinessError `400`, reason `system-config.invalid`, with every fault in `data.errors`
   * @throws BusinessError `409`, reason `system-config.conflict`, when a key is no longer at its expected version
   * @throws BusinessError `503`, reason `system-config.master-key`, when a secret cannot be encrypted
   */
  save(changes: readonly ConfigChange[], options: SaveOptions): Promise<SaveResult>

  /**
   * Stores state of a plugin: its own keys that are declared with `state: true`, which `save`, imports, rollbacks, routes
   * and commands refuse to write. All changes or none, as one new version, with the same history, checks and failures as
   * `save`; a key that is not state of this plugin is a fault with rule `not-owner`. `expectedVersion` makes it a
   * compare-and-set: of several callers that saw the same version, on any instance, one wins and the others get `409`.
   *
   * @param plugin id of the calling plugin
   */
  saveState(plugin: string, changes: readonly ConfigChange[], options: SaveOptions): Promise<SaveResult>

  /** Asks the owner of the key to prove a value without storing it. Throws `404` for an unknown key. */
  verify(key: string, value: JsonValue, signal?: AbortSignal): Promise<Verification>

  /**
   * Whether this is the secret that is stored under the key. It is only for whoever may replace that secret: each question
   * is in the audit trail. `undefined` for a key that is no secret or cannot be changed here, and when nothing is stored that
   * can be decrypted. Throws `404` for an unknown key.
   */
  isStoredSecret(key: string, value: JsonValue, actor: Actor): Promise<boolean | undefined>

  /** Changes, newest first. */
  history(filter: HistoryFilter, window: HistoryWindow): Promise<FoundPage<HistoryEntry>>

  /**
   * The changes that lead back to the values of a version, of all keys or of those given. State of plugins stays. A secret
   * that was changed since is among them also when it holds the same value again. It is only restored together with the
   * destination that it was entered for; otherwise its outcome is `rejected`.
   *
   * @throws BusinessError `400`, reason `system-config.version-unknown`; `400` `system-config.invalid` for secrets that
   *   can no longer be decrypted
   */
  rollbackChanges(toVersion: number, keys?: readonly string[]): Promise<readonly ConfigChange[]>

  /** Goes back to the values of a version, as a new version. Throws as `rollbackChanges` and `save` do. */
  rollback(toVersion: number, options: SaveOptions & { readonly keys?: readonly string[] }): Promise<SaveResult>

  /** Without secrets and without state of plugins, which belongs to this installation. */
  export(): Promise<ConfigDocument>

  /**
   * The changes that an import would make. Values that are stored already are left out, but for secrets: whoever may try an
   * import must not learn whether a guessed secret is the right one.
   */
  importChanges(document: ImportDocument, mode: ImportMode): Promise<readonly ConfigChange[]>

  /** Throws as `save` does. */
  import(document: ImportDocument, options: SaveOptions & { readonly mode: ImportMode }): Promise<SaveResult>

  /** Processes that were seen lately. */
  instances(): Promise<readonly InstanceState[]>

  /** Encrypts every secret with a new master key. See the README for what survives a crash. */
  rotateSecrets(): Promise<RotationReport>

  /** Takes over what other instances stored, at once. For whoever hears of a change before the next poll. */
  refresh(): Promise<void>
}

export const configCentre = service<ConfigCentre>('configCentre', { from: '@plinth/system-config' })
