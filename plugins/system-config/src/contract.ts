import type { FoundPage, PageWindow } from '@plinth/database'
import { type JsonValue, service } from '@plinth/kernel'
import type { CatalogueEntry, ConfigExplanation, Fingerprints } from '@plinth/kernel/host'

/** Who makes a change, for the history. */
export interface Actor {
  /** Name of the actor. At most 128 code points; longer names are cut. */
  readonly name: string
  /** Id of the user, if the actor is a user. The name of a user can change, the id cannot. */
  readonly userId?: number
  readonly traceId?: string
  readonly clientIp?: string
  /**
   * Returns true if the actor has a permission. Some keys need one, see `KeyDeclaration.permission`. If absent, a user
   * cannot change these keys. An actor that is not a user, such as the command line, can change all keys.
   */
  readonly can?: (permission: string) => boolean
  /** For an actor who may only change the keys of single groups: returns true for these. Absent: all groups. */
  readonly mayChange?: (group: string) => boolean
  /**
   * Checks that the actor has proven the identity recently. Called before a secret or a key with a permission of its own
   * changes. If it throws, nothing is stored. Absent for actors that are not users.
   */
  readonly assertFresh?: () => void | Promise<void>
}

/** Sets or removes the stored value of one key. */
export type ConfigChange = {
  readonly key: string
  /** Version of the stored value that the caller has read; 0: no value. If absent, the version is not checked. */
  readonly expectedVersion?: number
} & (
  | {
      readonly action: 'set'
      readonly value: JsonValue
      /**
       * For a secret from the history: the destination for which it was entered, or `undefined` if unknown. If absent,
       * the secret is new and belongs to the destination after the changes.
       */
      readonly enteredFor?: { readonly destination: Fingerprints | undefined }
      /**
       * For a secret: version of the destination that the caller has seen (`ConfigItem.destinationVersion`). If absent,
       * the destination is not checked.
       */
      readonly expectedDestination?: string
    }
  | { readonly action: 'reset' }
)

/** Why a change is rejected. Has the fields of an input error of the HTTP API. */
export interface KeyProblem {
  readonly field: string
  /**
   * `unknown`, `not-editable`, `not-owner`, `masked`, `duplicate`, `unreadable`, `refused`, `required`, `permission`, or
   * the violated JSON Schema keyword.
   */
  readonly rule: string
  readonly message: string
}

/**
 * Effect of a change on this instance.
 * - `applied`: effective now.
 * - `pendingRestart`: effective after a restart.
 * - `shadowed`: not effective while the command line sets another value.
 * - `rejected`: the plugin that declares the key rejected the value, so the old value stays effective.
 * - `unchanged`: the value was already stored.
 * - `unset`: a secret no longer applies, because its destination changes. A stored secret is removed; a secret of
 *   another source is not used.
 * - `requested`: another operator must approve the changes of the request. Nothing is stored until then.
 */
export type Outcome = 'applied' | 'pendingRestart' | 'shadowed' | 'rejected' | 'unchanged' | 'unset' | 'requested'

export interface Effect {
  readonly key: string
  /** Plugin that declares the key; `undefined` for an orphaned value. */
  readonly plugin: string | undefined
  readonly outcome: Outcome
  /** Why the change was rejected or the secret unset. */
  readonly reason?: string
  /** Stored values before and after the change. Secrets are masked. `undefined` without a value. */
  readonly before: JsonValue | undefined
  readonly after: JsonValue | undefined
  /** For a new secret: the keys that decide where it is sent, with their values after the changes. */
  readonly destination?: DestinationValues
}

/** Keys of the destination of a secret, with their values. Secrets are masked. */
export type DestinationValues = Readonly<Record<string, JsonValue>>

/** Effects that changes would have. */
export interface Preview {
  readonly effects: readonly Effect[]
  readonly plugins: readonly string[]
  readonly faults: readonly KeyProblem[]
  /** Version of the stored values with which the preview was computed. */
  readonly version: number
}

export interface SaveOptions {
  readonly actor: Actor
  /** Reason of the change. At most 200 code points; a longer text is cut. */
  readonly reason?: string
  /** If false, values are stored without asking their plugins. */
  readonly verify?: boolean
  readonly signal?: AbortSignal
  /** Language of error messages; default: English. */
  readonly locale?: string
}

/** `actor`: the caller whose permissions are checked; default: not a user. */
export type PreviewOptions = Partial<Pick<SaveOptions, 'actor' | 'locale'>>

export interface SaveResult {
  /** Version after the save, which is the old version if nothing changed. */
  readonly version: number
  readonly effects: readonly Effect[]
  /** Id of the request, if another operator must approve the changes. Then nothing was stored. */
  readonly requestId?: number
}

/** `applied`: another operator approved the request, and its changes are stored. `expired`: it can no longer be approved. */
export type RequestStatus = 'open' | 'applied' | 'rejected' | 'withdrawn' | 'expired'

/** Changes that wait for another operator, or that another operator has decided about. */
export interface ChangeRequest {
  readonly id: number
  readonly status: RequestStatus
  readonly origin: ChangeOrigin
  /** Changes without secrets. `expectedVersion`: version of the stored value when the request was made. */
  readonly changes: readonly {
    readonly key: string
    readonly action: ConfigChange['action']
    readonly value?: JsonValue
    readonly isSecret: boolean
    readonly expectedVersion?: number
  }[]
  readonly requestedBy: string
  readonly requestedByUserId: number
  readonly reason: string | undefined
  readonly createdAt: Date
  readonly expiresAt: Date
  readonly decidedBy: string | undefined
  readonly decidedByUserId: number | undefined
  readonly decisionReason: string | undefined
  readonly decidedAt: Date | undefined
}

export interface RequestFilter {
  readonly status?: RequestStatus
}

export interface StoredState {
  /** Masked if the key is a secret. `undefined` if the value cannot be decrypted. */
  readonly value: JsonValue | undefined
  readonly version: number
  readonly updatedAt: Date
  readonly updatedBy: string
}

/** One key with its values and sources. Secrets are always masked. */
export interface ConfigItem {
  readonly key: string
  /** `undefined` for an orphaned value, which no loaded plugin declares. */
  readonly declaration: CatalogueEntry | undefined
  /** Effective value and all sources on this instance. `undefined` for an orphaned value. */
  readonly explanation: ConfigExplanation | undefined
  readonly stored: StoredState | undefined
  /** For a secret with a destination: changes whenever a stored value of the destination changes. */
  readonly destinationVersion: string | undefined
  /**
   * Why the stored value is not effective: it violates its rule, cannot be decrypted, or is a secret for another
   * destination.
   */
  readonly problem: string | undefined
}

export interface HistoryEntry {
  readonly version: number
  readonly key: string
  /** Masked if the key is a secret. `undefined` without a value. */
  readonly before: JsonValue | undefined
  readonly after: JsonValue | undefined
  readonly sensitive: boolean
  readonly origin: ChangeOrigin
  /** Name of the actor at the time of the change. */
  readonly actor: string
  /** Id of the user, if the actor is a user. */
  readonly actorUserId: number | undefined
  readonly reason: string | undefined
  readonly traceId: string | undefined
  readonly changedAt: Date
}

/** `save`: an operator saved a value. `state`: a plugin changed its own state. */
export type ChangeOrigin = 'save' | 'import' | 'rollback' | 'state'

export interface HistoryFilter {
  readonly version?: number
  readonly key?: string
  readonly actor?: string
  readonly actorUserId?: number
}

/** Selects a page of entries, newest first. */
export type HistoryWindow = Omit<PageWindow, 'orderBy'>

export interface InstanceState {
  readonly id: string
  readonly host: string
  readonly pid: number
  readonly roles: readonly string[]
  /** Version of the stored values that the process uses. */
  readonly version: number
  readonly startedAt: Date
  readonly seenAt: Date
  readonly pendingRestart: readonly string[]
  readonly refused: readonly { readonly key: string; readonly reason: string }[]
  readonly problems: readonly { readonly key: string; readonly reason: string }[]
}

/** Stored values without secrets, for another installation. */
export interface ConfigDocument {
  readonly format: 'plinth-config/1'
  readonly product: string
  readonly version: number
  readonly exportedAt: string
  readonly values: { readonly [key: string]: JsonValue }
  /** Keys of secrets that were omitted. */
  readonly omittedSecrets: readonly string[]
}

/** The part of a document that an import reads. */
export type ImportDocument = Pick<ConfigDocument, 'format' | 'values'>

/** `replace` also removes stored values that are not in the document, except secrets. `merge` keeps them. */
export type ImportMode = 'merge' | 'replace'

export interface RotationReport {
  readonly reencrypted: number
  /** Keys with values that no known master key can decrypt. These values were not changed. */
  readonly unreadable: readonly string[]
  /** What the operator should do next. */
  readonly advice: string
}

/** Result of `resealSecrets`. */
export type ResealReport = Pick<RotationReport, 'reencrypted' | 'unreadable'>

/** Result of a verification. `unverified`: the owner of the key cannot verify values. */
export interface Verification {
  readonly outcome: 'verified' | 'unverified' | 'refused'
  readonly reason?: string
}

/**
 * The config centre: all declared keys with their values and sources. Stored values apply to all instances.
 *
 * Each method that reads or writes stored values throws BusinessError `503`, reason
 * `system-config.storage-unavailable`, if the database does not respond. Changes are then either stored completely or
 * not at all.
 */
export interface ConfigCentre {
  /** Version of the stored values that this instance uses. */
  readonly version: number

  /**
   * Returns the keys that match a query, or all keys for an empty query. For example: `window @modified
   * @group:rate-limit`. See `parseQuery` in `item-view.ts`.
   *
   * @throws BusinessError `400`, reason `system-config.filter-unknown`
   */
  list(query: string): Promise<readonly ConfigItem[]>

  /**
   * Returns one key.
   *
   * @throws BusinessError `404` if no plugin declares the key and no value is stored; `data.nearest` is the most
   *   similar key
   */
  get(key: string): Promise<ConfigItem>

  /** Returns a key as it was read last; `undefined` for an unknown key. */
  find(key: string): ConfigItem | undefined

  /**
   * Returns the effects and problems of changes without storing them. Asks owners to verify values that are not
   * secrets, but does not call listeners of live keys. Checks rules between keys only if each value is valid. A key
   * whose permission the actor lacks has a problem with the rule `permission`.
   */
  preview(changes: readonly ConfigChange[], options?: PreviewOptions): Promise<Preview>

  /**
   * Stores all changes or none, as one new version, and applies them on this instance. Other instances apply them soon
   * after. Before storing, plugins verify the values, and listeners of live keys receive them. If a plugin rejects a
   * value, nothing is stored and all listeners receive the old values again.
   *
   * If the destination of a stored secret changes and the secret is not entered again, the secret is removed (outcome
   * `unset`, decision F2).
   *
   * If `platform.system-config.approval.keys` lists a changed key, and the actor is a user, nothing is stored: all changes
   * become one request that another operator approves. The same applies to `import` and `rollback`.
   *
   * @throws BusinessError `400`, reason `system-config.invalid`, with the problems in `data.errors`
   * @throws BusinessError `403`, reason `system-config.key-protected`, if the stored value of a key would change whose
   *   permission the actor lacks; the problems are in `data.errors`, the permissions in `data.permissions`
   * @throws BusinessError `409`, reason `system-config.conflict`, if a key no longer has the expected version; reason
   *   `system-config.destination-changed`, if a secret no longer has the expected destination
   * @throws BusinessError `503`, reason `system-config.master-key`, if a secret cannot be encrypted
   */
  save(changes: readonly ConfigChange[], options: SaveOptions): Promise<SaveResult>

  /**
   * Stores state of a plugin: its keys that are declared with `state: true`. No other method, route or command can
   * write these keys. History, checks and errors are those of `save`. A key that is not state of this plugin causes a
   * problem with the rule `not-owner`. If several callers on any instance pass the same `expectedVersion`, only one
   * succeeds and the others get `409`.
   *
   * @param plugin id of the calling plugin
   */
  saveState(plugin: string, changes: readonly ConfigChange[], options: SaveOptions): Promise<SaveResult>

  /**
   * Asks the owner of the key to verify a value, without storing it.
   *
   * @param expectedDestination like `ConfigChange.expectedDestination`, because the owner may send the secret there
   * @throws BusinessError `404` for an unknown key; `409`, reason `system-config.destination-changed`
   */
  verify(
    key: string,
    value: JsonValue,
    options?: { readonly signal?: AbortSignal; readonly expectedDestination?: string | undefined },
  ): Promise<Verification>

  /**
   * Returns whether the value equals the stored secret. Only for callers who may replace the secret. Each call is
   * audited. Returns `undefined` if the key is not a secret, cannot be changed here, or has no stored value that can be
   * decrypted.
   *
   * @throws BusinessError `404` for an unknown key
   */
  isStoredSecret(key: string, value: JsonValue, actor: Actor): Promise<boolean | undefined>

  history(filter: HistoryFilter, window: HistoryWindow): Promise<FoundPage<HistoryEntry>>

  /**
   * Returns the changes that restore the values of a version, for all keys or for `keys`. Leaves out state of plugins.
   * Includes each secret that was changed since, even if its value is the same again. A secret is only restored if it
   * belongs to the restored destination; otherwise its outcome is `rejected`.
   *
   * @throws BusinessError `400`, reason `system-config.version-unknown`; `400` `system-config.invalid` for secrets that
   *   can no longer be decrypted
   */
  rollbackChanges(toVersion: number, keys?: readonly string[]): Promise<readonly ConfigChange[]>

  /** Restores the values of a version, as a new version. Throws the errors of `rollbackChanges` and `save`. */
  rollback(toVersion: number, options: SaveOptions & { readonly keys?: readonly string[] }): Promise<SaveResult>

  /** Returns the stored values without secrets and without state of plugins, which belongs to this installation. */
  export(): Promise<ConfigDocument>

  /**
   * Returns the changes that an import would make, without values that are already stored. Secrets are always included.
   * Otherwise a caller could test guesses with a preview.
   */
  importChanges(document: ImportDocument, mode: ImportMode): Promise<readonly ConfigChange[]>

  /** Throws the errors of `save`. */
  import(document: ImportDocument, options: SaveOptions & { readonly mode: ImportMode }): Promise<SaveResult>

  requests(filter: RequestFilter, window: HistoryWindow): Promise<FoundPage<ChangeRequest>>

  /** @throws BusinessError `404`, reason `system-config.request-unknown` */
  request(id: number): Promise<ChangeRequest>

  /**
   * Stores the changes of a request, with the permissions and checks of `save` for the actor. If a stored value has
   * changed since the request, nothing is stored.
   *
   * @throws BusinessError `403`, reason `system-config.own-request`, for the user who made the request; `404`
   *   `system-config.request-unknown`; `409` `system-config.request-closed` if the request was decided or has expired;
   *   also the errors of `save`
   */
  approve(id: number, options: SaveOptions): Promise<SaveResult>

  /** Ends a request of another user. Throws `system-config.own-request`, `request-unknown` and `request-closed`. */
  reject(id: number, options: SaveOptions): Promise<void>

  /** Ends an own request. Throws `system-config.request-unknown`, also for that of another user, and `request-closed`. */
  withdraw(id: number, options: SaveOptions): Promise<void>

  /** Returns the processes that were seen recently. */
  instances(): Promise<readonly InstanceState[]>

  /** Encrypts every secret with a new master key. The README describes the recovery after a crash. */
  rotateSecrets(): Promise<RotationReport>

  /**
   * Encrypts every secret again with the current master key, together with its destination, in the form that all
   * versions read. The README describes when to use it.
   */
  resealSecrets(): Promise<ResealReport>

  /** Applies values that other instances have stored, without waiting for the next poll. */
  refresh(): Promise<void>
}

export const configCentre = service<ConfigCentre>('configCentre', { from: '@plinth/system-config' })
