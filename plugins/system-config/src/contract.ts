import type { FoundPage, PageWindow } from '@plinth/database'
import { type JsonValue, service } from '@plinth/kernel'
import type { BoundDestination, CatalogueEntry, Explanation } from '@plinth/kernel/host'

/** The caller who changes something, for the history. */
export interface Actor {
  /** At most 128 code points. Longer names are cut. */
  readonly name: string
  /** The user, if there is one. Names change and are reassigned, ids are not. */
  readonly userId?: number
  readonly traceId?: string
  readonly clientIp?: string
}

/** Sets or removes the stored value of one key. */
export type ConfigChange = {
  readonly key: string
  /** Version of the stored value that the change is based on; 0: no value. Absent: any version. */
  readonly expectedVersion?: number
} & (
  | {
      readonly action: 'set'
      readonly value: JsonValue
      /**
       * For a secret from the history: the destination that it was entered for, or `undefined` inside if that is
       * unknown. Absent: the secret is entered now, for the destination after the changes.
       */
      readonly enteredFor?: { readonly destination: BoundDestination | undefined }
    }
  | { readonly action: 'reset' }
)

/** Why a change of a key is rejected. The members are those of the input errors of the HTTP interface. */
export interface KeyProblem {
  /** The key. */
  readonly field: string
  /**
   * `unknown`, `not-editable`, `not-owner`, `masked`, `duplicate`, `unreadable`, `refused`, `required`, or the violated
   * JSON Schema keyword.
   */
  readonly rule: string
  readonly message: string
}

/**
 * Effect of a change on the instance that returns it. `applied`: it applies now. `pendingRestart`: it applies after a
 * restart. `shadowed`: it applies when the command line no longer overrides it. `rejected`: the plugin that owns the
 * key rejected it, and the old value stays effective. `unchanged`: it was already stored. `unset`: a secret no longer
 * applies, because another change of the request changes its destination. A stored secret is removed, one of another
 * source is not used.
 */
export type Outcome = 'applied' | 'pendingRestart' | 'shadowed' | 'rejected' | 'unchanged' | 'unset'

export interface Effect {
  readonly key: string
  /** Owner of the key; `undefined` for an orphaned value. */
  readonly plugin: string | undefined
  readonly outcome: Outcome
  /** Why it was rejected or unset. */
  readonly reason?: string
  /** Stored values before and after, masked for a sensitive key; `undefined` without a value. */
  readonly before: JsonValue | undefined
  readonly after: JsonValue | undefined
}

/** Effects that changes would have. */
export interface Preview {
  readonly effects: readonly Effect[]
  /** Plugins whose values would change. */
  readonly plugins: readonly string[]
  readonly faults: readonly KeyProblem[]
  /** Version that the result is based on. */
  readonly version: number
}

export interface SaveOptions {
  readonly actor: Actor
  /** At most 200 code points. The rest is cut. */
  readonly reason?: string
  /** False: stores values without asking their plugins to verify them. */
  readonly verify?: boolean
  readonly signal?: AbortSignal
  /** Language of error messages; default English. */
  readonly locale?: string
}

export interface SaveResult {
  /** Version after the save; unchanged if nothing changed. */
  readonly version: number
  readonly effects: readonly Effect[]
}

/** The stored value of a key. */
export interface StoredState {
  /** Masked for a sensitive key; `undefined` if it cannot be decrypted. */
  readonly value: JsonValue | undefined
  readonly version: number
  readonly updatedAt: Date
  readonly updatedBy: string
}

/** All information about one key for an operator. Sensitive values are always masked. */
export interface ConfigItem {
  readonly key: string
  /** `undefined` for an orphaned value, which no loaded plugin declares. */
  readonly declaration: CatalogueEntry | undefined
  /**
   * Effective value, all sources, and the state of the newest value on this instance. `undefined` for an orphaned
   * value.
   */
  readonly explanation: Explanation | undefined
  readonly stored: StoredState | undefined
  /**
   * Why a value is not effective: the stored value violates its rule or cannot be decrypted, or a secret belongs to
   * another destination.
   */
  readonly problem: string | undefined
}

export interface HistoryEntry {
  readonly version: number
  readonly key: string
  /** Masked for a sensitive key; `undefined` without a value. */
  readonly before: JsonValue | undefined
  readonly after: JsonValue | undefined
  readonly sensitive: boolean
  readonly origin: ChangeOrigin
  /** Name of the actor at that time. */
  readonly actor: string
  /** The user who acted, if there is one. */
  readonly actorUserId: number | undefined
  readonly reason: string | undefined
  readonly traceId: string | undefined
  readonly changedAt: Date
}

/** `save`: manual change. `state`: a plugin changed its own state. */
export type ChangeOrigin = 'save' | 'import' | 'rollback' | 'state'

export interface HistoryFilter {
  readonly version?: number
  readonly key?: string
  readonly actor?: string
  readonly actorUserId?: number
}

/** Selects entries. They are ordered newest first. */
export type HistoryWindow = Omit<PageWindow, 'orderBy'>

/** One running process of the product. */
export interface InstanceState {
  readonly id: string
  readonly host: string
  readonly pid: number
  readonly roles: readonly string[]
  /** Version of the stored values that it uses. */
  readonly version: number
  readonly startedAt: Date
  readonly seenAt: Date
  readonly pendingRestart: readonly string[]
  readonly refused: readonly { readonly key: string; readonly reason: string }[]
  readonly problems: readonly { readonly key: string; readonly reason: string }[]
}

/** Stored values without secrets, for transfer to another installation. */
export interface ConfigDocument {
  readonly format: 'plinth-config/1'
  readonly product: string
  readonly version: number
  readonly exportedAt: string
  readonly values: { readonly [key: string]: JsonValue }
  /** Keys whose secret values were omitted. */
  readonly omittedSecrets: readonly string[]
}

/** The part of a document that an import reads. */
export type ImportDocument = Pick<ConfigDocument, 'format' | 'values'>

/** `merge` keeps stored values that are not in the document, `replace` removes them. Secrets always stay. */
export type ImportMode = 'merge' | 'replace'

export interface RotationReport {
  readonly reencrypted: number
  /** Keys of values and history entries that no known master key decrypts. They were left unchanged. */
  readonly unreadable: readonly string[]
  /** The next actions for the operator. */
  readonly advice: string
}

/** Result of a verification; `unverified` if the owner of the key cannot verify values. */
export interface Verification {
  readonly outcome: 'verified' | 'unverified' | 'refused'
  readonly reason?: string
}

/**
 * The config centre: all declared keys with their values and sources, and the stored values, which apply to all
 * instances.
 *
 * Every method that reads or writes stored values throws BusinessError `503`, reason
 * `system-config.storage-unavailable`, if the database does not respond. Then no change is partly saved.
 */
export interface ConfigCentre {
  /** Version of the stored values that this instance uses. */
  readonly version: number

  /**
   * Returns keys that match a query such as `window @modified @group:rate-limit`; all keys for an empty query. See
   * `parseQuery` in `item-view.ts`.
   *
   * @throws BusinessError `400`, reason `system-config.filter-unknown`
   */
  list(query: string): Promise<readonly ConfigItem[]>

  /**
   * Returns one key.
   *
   * @throws BusinessError `404` if no plugin declares the key and no value is stored; `data.nearest` is the most
   * similar key
   */
  get(key: string): Promise<ConfigItem>

  /**
   * Returns the effects that changes would have, with their errors. Includes rejections of the owners for values that
   * are not secrets. Rules across keys are only checked if each value is valid on its own. Changes nothing and does not
   * call listeners of live keys.
   *
   * @param locale language of error messages; default English
   */
  preview(changes: readonly ConfigChange[], locale?: string): Promise<Preview>

  /**
   * Stores all changes or none, as one new version, and applies them here immediately. Other instances follow. First
   * asks the owners: their verifiers, then the listeners of live keys, which already receive the new values. If one
   * rejects, nothing is stored and all listeners get their old values back.
   *
   * A stored secret whose destination changes without it is removed in the same version (outcome `unset`, decision
   * F.2).
   *
   * @throws BusinessError `400`, reason `system-config.invalid`, with the errors in `data.errors`
   * @throws BusinessError `409`, reason `system-config.conflict`, if a key is no longer at its expected version
   * @throws BusinessError `503`, reason `system-config.master-key`, if a secret cannot be encrypted
   */
  save(changes: readonly ConfigChange[], options: SaveOptions): Promise<SaveResult>

  /**
   * Stores state of a plugin: its own keys that are declared with `state: true`. `save`, imports, rollbacks, routes and
   * commands cannot write these keys. Stores all changes or none, as one new version, with the history, checks and
   * errors of `save`. A key that is not state of this plugin is an error with the rule `not-owner`. `expectedVersion`
   * makes it a compare-and-set: of several callers with the same version, on any instance, one succeeds and the others
   * get `409`.
   *
   * @param plugin id of the calling plugin
   */
  saveState(plugin: string, changes: readonly ConfigChange[], options: SaveOptions): Promise<SaveResult>

  /**
   * Lets the owner of the key verify a value without storing it.
   *
   * @throws BusinessError `404` for an unknown key
   */
  verify(key: string, value: JsonValue, signal?: AbortSignal): Promise<Verification>

  /**
   * Returns true if this is the secret that is stored under the key. Only for callers who may replace that secret. Each
   * call is recorded in the audit. Returns `undefined` if the key is not a secret or cannot be changed here, or if no
   * stored value can be decrypted.
   *
   * @throws BusinessError `404` for an unknown key
   */
  isStoredSecret(key: string, value: JsonValue, actor: Actor): Promise<boolean | undefined>

  /** Returns changes, newest first. */
  history(filter: HistoryFilter, window: HistoryWindow): Promise<FoundPage<HistoryEntry>>

  /**
   * Returns the changes that restore the values of a version, for all keys or for the given ones. State of plugins
   * stays. A secret that was changed since then is included, even if it has the same value again. A secret is only
   * restored together with the destination that it was entered for. Otherwise its outcome is `rejected`.
   *
   * @throws BusinessError `400`, reason `system-config.version-unknown`; `400` `system-config.invalid` for secrets that
   * can no longer be decrypted
   */
  rollbackChanges(toVersion: number, keys?: readonly string[]): Promise<readonly ConfigChange[]>

  /** Restores the values of a version, as a new version. Throws like `rollbackChanges` and `save`. */
  rollback(toVersion: number, options: SaveOptions & { readonly keys?: readonly string[] }): Promise<SaveResult>

  /** Returns the stored values without secrets and without state of plugins, which belongs to this installation. */
  export(): Promise<ConfigDocument>

  /**
   * Returns the changes that an import would make. Values that are already stored are omitted, except secrets: a caller
   * who previews an import must not learn whether a guessed secret is correct.
   */
  importChanges(document: ImportDocument, mode: ImportMode): Promise<readonly ConfigChange[]>

  /** Throws like `save`. */
  import(document: ImportDocument, options: SaveOptions & { readonly mode: ImportMode }): Promise<SaveResult>

  /** Returns recently seen processes. */
  instances(): Promise<readonly InstanceState[]>

  /** Encrypts every secret with a new master key. The README describes the recovery after a crash. */
  rotateSecrets(): Promise<RotationReport>

  /** Applies the values that other instances stored, without waiting for the next poll. */
  refresh(): Promise<void>
}

export const configCentre = service<ConfigCentre>('configCentre', { from: '@plinth/system-config' })
