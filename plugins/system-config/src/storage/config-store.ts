import { type EntityManager, type FilterQuery, InvalidFieldNameException } from '@mikro-orm/core'
import { type Database, updateRows } from '@plinth/database'
import { type AuditEntry, type Clock, fitTextToColumn, type JsonValue } from '@plinth/kernel'
import type { Fingerprints } from '@plinth/kernel/host'
import type { SettledChange } from '../changes/destinations.ts'
import type { ChangeOrigin, ConfigChange, SaveOptions } from '../contract.ts'
import { businessError, type Conflict, conflictError } from '../declarations.ts'
import { ConfigRow, HistoryRow, VersionRow } from '../entities.ts'
import type { Keyring, MasterKeys } from '../secrets/master-keys.ts'
import { type SealedValue, sealDestination, sealValue, unsealForUse } from '../secrets/sealed-value.ts'
import type { MasterKey } from '../secrets/secret-box.ts'
import { savedEntry } from './audit-entries.ts'

/** A stored value, decrypted if possible. */
export interface StoredValue {
  readonly key: string
  /** `undefined` if `problem` is set. */
  readonly value: JsonValue | undefined
  readonly problem: string | undefined
  /** Destination for which a secret was entered; `undefined` if an earlier version stored it. */
  readonly destination: Fingerprints | undefined
  /** The stored form of an encrypted value. */
  readonly sealed: SealedValue | undefined
  readonly sensitive: boolean
  readonly version: number
  readonly updatedAt: Date
  readonly updatedBy: string
  /** Plugin whose state this value is; null if an operator saved it. */
  readonly stateOf: string | null
}

export interface StoredConfig {
  readonly version: number
  readonly values: ReadonlyMap<string, StoredValue>
}

interface ConfigStoreOptions {
  readonly database: Database
  readonly masterKeys: MasterKeys
  readonly clock: Clock
  readonly isSensitive: (key: string) => boolean
  readonly audit: (entry: AuditEntry) => Promise<void>
}

const maxParameters = 1000
/** Maximum number of changed keys to read one by one. If there are more, all values are read. */
const maxChangedKeys = 1000

export class ConfigStore {
  readonly #options: ConfigStoreOptions

  constructor(options: ConfigStoreOptions) {
    this.#options = options
  }

  get #db(): Database {
    return this.#options.database
  }

  async version(): Promise<number> {
    const row = await this.#db.fork().findOneOrFail(VersionRow, { id: 1 })
    return row.version
  }

  /**
   * Reads the stored values. Reads the version first, so that values that change during the read are read again with
   * the next version.
   *
   * @param known values that were read before; only values that changed since or could not be decrypted are read again.
   *   Default: reads all values.
   */
  async load(known?: StoredConfig): Promise<StoredConfig> {
    const version = await this.version()
    const em = this.#db.fork()
    const changed = known === undefined ? undefined : await this.#changedKeys(em, known, version)
    const rows = await (changed === undefined ? find(em, {}) : rowsOf(em, changed))
    const keyring = await this.#options.masterKeys.read()
    const read = rows.map((row) => stored(row, keyring))
    const kept = new Map(changed === undefined ? [] : known?.values)
    for (const key of changed ?? []) kept.delete(key)
    const all = [...kept.values(), ...read].sort((a, b) => (a.key < b.key ? -1 : 1))
    return { version, values: new Map(all.map((row) => [row.key, row])) }
  }

  /** Returns the keys to read again, or undefined if all values must be read. */
  async #changedKeys(em: EntityManager, known: StoredConfig, version: number): Promise<readonly string[] | undefined> {
    // The version is lower after the database was restored from a backup.
    if (version < known.version) return undefined
    const changes = await em.findAll(HistoryRow, {
      where: { version: { $gt: known.version } },
      fields: ['configKey', 'version'],
      limit: maxChangedKeys + 1,
    })
    if (changes.length > maxChangedKeys) return undefined
    // Each save adds history. If a version has no history, it was created with SQL, so any row may have changed.
    const versions = new Set(changes.map((change) => change.version).filter((changed) => changed <= version))
    if (versions.size !== version - known.version) return undefined
    const unreadable = [...known.values.values()].filter(({ problem }) => problem !== undefined)
    return [...new Set([...changes.map(({ configKey }) => configKey), ...unreadable.map(({ key }) => key)])]
  }

  /**
   * Writes all changes or none. First locks the version row, so that saves of all instances run one after another. Then
   * reads the master keys, so that a rotation cannot remove the key in use.
   *
   * @param judgedAt version against which the changes were checked
   * @param stateOf plugin that changes its own state
   * @param close runs in the same transaction, for a request that is applied
   * @returns the new version, or the old version if nothing changed; undefined if another save came first and nothing
   *   was written
   * @throws BusinessError `409` and `503` like `ConfigCentre.save`
   */
  write(
    changes: readonly SettledChange[],
    origin: ChangeOrigin,
    options: SaveOptions,
    judgedAt: number,
    {
      stateOf,
      close,
    }: { readonly stateOf?: string | undefined; readonly close?: (() => Promise<void>) | undefined } = {},
  ): Promise<number | undefined> {
    return this.#db.transactional(async (em) => {
      const current = await lockVersion(this.#db)
      if (current !== judgedAt) return undefined
      await close?.()
      const keyring = await this.#options.masterKeys.read()
      const keys = changes.map(({ key }) => key)
      const rows = new Map((await rowsOf(em, keys)).map((row) => [row.configKey, row] as const))
      const conflicts = changes.flatMap((change) => conflictOf(change, rows.get(change.key)))
      if (conflicts.length > 0) throw conflictError(conflicts)

      const isSecret = (key: string) => this.#options.isSensitive(key) || rows.get(key)?.sensitive === true
      const effective = changes.filter((change) =>
        isChange(change, rows.get(change.key), keyring, isSecret(change.key)),
      )
      if (effective.length === 0) return current
      // The values before the changes must be read here, because the rows change below.
      const recorded = effective.map((change) => {
        const row = rows.get(change.key)
        return { change, before: row && stored(row, keyring).value, isSecret: isSecret(change.key) }
      })
      const version = current + 1
      const changedAt = new Date(this.#options.clock.now())
      const actor = fitTextToColumn(options.actor.name, 128)
      const storesSecret = effective.some(({ action, key }) => action === 'set' && isSecret(key))
      const masterKey = storesSecret ? await encryptionKey(this.#db, this.#options.masterKeys, keyring) : undefined
      for (const change of effective) {
        const { key } = change
        const row = rows.get(key)
        const sensitive = isSecret(key)
        const next = change.action === 'reset' ? undefined : sealValue(sensitive ? masterKey : undefined, key, change)
        em.create(HistoryRow, {
          version,
          configKey: key,
          oldValue: row?.configValue ?? null,
          oldMasterKeyId: row?.masterKeyId ?? null,
          oldDestination: row?.destination ?? null,
          newValue: next?.text ?? null,
          newMasterKeyId: next?.masterKeyId ?? null,
          newDestination: next?.destination ?? null,
          sensitive,
          origin,
          actor,
          actorUserId: options.actor.userId ?? null,
          reason: options.reason === undefined ? null : fitTextToColumn(options.reason, 200),
          traceId: options.actor.traceId === undefined ? null : fitTextToColumn(options.actor.traceId, 128),
          changedAt,
        })
        if (next === undefined) {
          if (row !== undefined) em.remove(row)
          continue
        }
        const members = {
          configValue: next.text,
          masterKeyId: next.masterKeyId,
          destination: next.destination,
          sensitive,
          version,
          updatedAt: changedAt,
          updatedBy: actor,
          stateOf: stateOf ?? null,
        }
        if (row === undefined) em.create(ConfigRow, { configKey: key, ...members })
        else em.assign(row, members)
      }
      await em.flush()
      await this.#db.execute('update sys_config_version set version = ?, changed_at = ? where id = 1', [
        version,
        changedAt,
      ])
      // Only actions of operators are audited. A plugin that changes its own state is not an operator.
      if (stateOf === undefined) await this.#options.audit(savedEntry(origin, version, recorded, options))
      return version
    })
  }

  /**
   * Stores the destinations of secrets that were stored without one. Changes no ciphertext, version or history.
   *
   * @param known the values for which the destinations were computed
   * @returns the bound keys, without values that are not encrypted; undefined if another process has changed a row, so
   *   that the values must be read again
   */
  async bind(
    destinations: ReadonlyMap<string, Fingerprints>,
    known: StoredConfig,
  ): Promise<readonly string[] | undefined> {
    const { byId } = await this.#options.masterKeys.read()
    const bound: string[] = []
    for (const [configKey, own] of destinations) {
      const sealed = known.values.get(configKey)?.sealed
      if (sealed === undefined) continue
      const masterKey = byId.get(sealed.masterKeyId ?? '')
      if (masterKey === undefined) return undefined
      const { text: configValue, destination } = sealed
      const next = { destination: sealDestination(masterKey, configKey, configValue, own) }
      const count = await updateRows(this.#db, ConfigRow, { configKey, configValue, destination }, next)
      if (count === 0) return undefined
      bound.push(configKey)
    }
    return bound
  }
}

/** Reads rows in batches, because a statement can only have a limited number of parameters. */
async function rowsOf(em: EntityManager, keys: readonly string[]): Promise<readonly ConfigRow[]> {
  const rows: ConfigRow[] = []
  for (let start = 0; start < keys.length; start += maxParameters) {
    rows.push(...(await find(em, { configKey: { $in: keys.slice(start, start + maxParameters) } })))
  }
  return rows
}

/** Before the migration, the commands of the upgrade guide read the values without the newest column. */
async function find(em: EntityManager, where: FilterQuery<ConfigRow>): Promise<readonly ConfigRow[]> {
  try {
    return await em.find(ConfigRow, where)
  } catch (error) {
    if (!(error instanceof InvalidFieldNameException)) throw error
    return em.find(ConfigRow, where, { exclude: ['destination'] }) as Promise<ConfigRow[]>
  }
}

export const sealedValueOf = (row: ConfigRow): SealedValue => ({
  text: row.configValue,
  masterKeyId: row.masterKeyId ?? null,
  destination: row.destination ?? null,
})

export const oldAndNewValueOf = (row: HistoryRow): readonly [SealedValue | undefined, SealedValue | undefined] => [
  sealedOrUndefined(row.oldValue, row.oldMasterKeyId, row.oldDestination),
  sealedOrUndefined(row.newValue, row.newMasterKeyId, row.newDestination),
]

type Column = string | null | undefined
const sealedOrUndefined = (text: Column, masterKeyId: Column, destination: Column): SealedValue | undefined =>
  text == null ? undefined : { text, masterKeyId: masterKeyId ?? null, destination: destination ?? null }

function stored(row: ConfigRow, keyring: Keyring): StoredValue {
  const sealed = sealedValueOf(row)
  const opened = unsealForUse(keyring, row.configKey, sealed)
  return {
    key: row.configKey,
    value: 'value' in opened ? opened.value : undefined,
    problem: 'problem' in opened ? opened.problem : undefined,
    destination: 'value' in opened ? opened.destination : undefined,
    sealed: sealed.masterKeyId === null ? undefined : sealed,
    sensitive: row.sensitive,
    version: row.version,
    updatedAt: row.updatedAt,
    updatedBy: row.updatedBy,
    stateOf: row.stateOf ?? null,
  }
}

function conflictOf({ key, expectedVersion }: ConfigChange, row: ConfigRow | undefined): Conflict[] {
  const currentVersion = row?.version ?? 0
  if (expectedVersion === undefined || expectedVersion === currentVersion) return []
  const updatedAt = row?.updatedAt.toISOString() ?? null
  return [{ key, expectedVersion, currentVersion, updatedBy: row?.updatedBy ?? null, updatedAt }]
}

/** Setting a secret always counts as a change. Otherwise the result would confirm a correct guess. */
function isChange(change: ConfigChange, row: ConfigRow | undefined, keyring: Keyring, isSecret: boolean): boolean {
  if (change.action === 'reset') return row !== undefined
  if (row === undefined || isSecret) return true
  const { value } = stored(row, keyring)
  return value === undefined || JSON.stringify(value) !== JSON.stringify(change.value)
}

/** Makes all other writers wait until the current transaction ends. Returns the current version. */
export async function lockVersion(database: Database): Promise<number> {
  await database.execute('update sys_config_version set version = version where id = ?', [1])
  const [row] = await database.query<{ version: number }>('select version from sys_config_version where id = ?', [1])
  return Number(row?.version)
}

/**
 * Returns the key for encryption. Creates a key only if no stored secret needs an existing one. Otherwise a key file
 * that is temporarily missing would be replaced. The caller must hold the lock of `lockVersion`.
 *
 * @throws BusinessError `503`, reason `system-config.master-key`
 */
export async function encryptionKey(
  database: Database,
  masterKeys: MasterKeys,
  { current, problem }: Keyring,
): Promise<MasterKey> {
  if (current !== undefined) return current
  if (problem !== undefined) throw unusable(problem)
  const needed = await database.query<{ id: string }>(
    'select distinct master_key_id as id from sys_config where master_key_id is not null',
  )
  if (needed.length > 0) {
    const ids = needed.map(({ id }) => id).join(', ')
    throw unusable(`Stored secrets need master key ${ids}, which is missing. Restore it, or reset them first.`)
  }
  const created = await masterKeys.create()
  if (created.current === undefined) throw unusable(created.problem ?? 'The key file contains no key.')
  return created.current
}

/** @param problem why the master key is unusable */
const unusable = (problem: string) => businessError('master-key', { params: { problem } })
