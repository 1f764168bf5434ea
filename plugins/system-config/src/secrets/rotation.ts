import { setImmediate as nextTurn } from 'node:timers/promises'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { Database } from '@plinth/database'
import type { ResealReport, RotationReport } from '../contract.ts'
import { businessError } from '../declarations.ts'
import { ConfigRow, HistoryRow, RequestRow } from '../entities.ts'
import { requestPurpose } from '../requests/change-requests.ts'
import { encryptionKey, lockVersion, oldAndNewValueOf, sealedValueOf } from '../storage/config-store.ts'
import type { MasterKeys } from './master-keys.ts'
import { type SealedValue, sealValue, unsealValue } from './sealed-value.ts'
import type { MasterKey } from './secret-box.ts'

interface RotationOptions {
  readonly database: Database
  readonly masterKeys: MasterKeys
  readonly isSensitive: (key: string) => boolean
}

/** Number of history rows per step. Saves wait for at most one step. */
const stepRows = 100

/**
 * Encrypts all secrets with a new master key: adds the key to the file, encrypts the values, then the history in small
 * steps, and removes unused keys. After a crash, all secrets can be decrypted, and the next rotation completes the
 * work. Each step holds the lock of writers, so that no row is encrypted with a key that is being removed. Each step
 * uses the current key at that time, because another rotation may have started.
 */
export async function rotateSecrets(options: RotationOptions): Promise<RotationReport> {
  const { database, masterKeys } = options
  const { isConfigured } = masterKeys
  if (!isConfigured) await database.transactional(() => addMasterKey(options))
  const { reencrypted, unreadable } = await reencrypt({
    ...options,
    isDone: (value, key) => value.masterKeyId === key.id,
  })
  if (!isConfigured) await database.transactional(() => dropUnused(options))
  return { reencrypted, unreadable, advice: adviceFor(isConfigured, unreadable, masterKeys.file) }
}

/**
 * Encrypts all secrets again with the current master key, in the form that all versions read. The steps are those of a
 * rotation, so it may be interrupted and repeated.
 */
export const resealSecrets = (options: RotationOptions): Promise<ResealReport> =>
  reencrypt({ ...options, isDone: () => false })

/** Returns the keys of all stored secrets, also of open requests and of the history, that cannot be decrypted. */
export async function findUnreadableSecrets(
  { database, masterKeys }: Pick<RotationOptions, 'database' | 'masterKeys'>,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const keyring = await masterKeys.read()
  const unreadable = new Set<string>()
  const open = (configKey: string, sealed: SealedValue | undefined) => {
    if (sealed !== undefined && 'problem' in unsealValue(keyring, configKey, sealed)) unreadable.add(configKey)
  }
  const em = database.fork()
  for (const row of await em.findAll(ConfigRow)) open(row.configKey, sealedValueOf(row))
  for (const row of await em.find(RequestRow, { secrets: { $ne: null } }))
    open(requestPurpose(row.id), sealedRequestOf(row))
  let after: HistoryRow | undefined
  do {
    signal.throwIfAborted()
    const rows: HistoryRow[] = await readHistory(database.fork(), after)
    for (const row of rows) for (const sealed of oldAndNewValueOf(row)) open(row.configKey, sealed)
    after = rows.length < stepRows ? undefined : rows.at(-1)
  } while (after !== undefined)
  return [...unreadable].sort()
}

interface ReencryptionOptions extends RotationOptions {
  /** True if a value needs no encryption again. */
  readonly isDone: (value: SealedValue, current: MasterKey) => boolean
}

async function reencrypt(options: ReencryptionOptions): Promise<ResealReport> {
  const { database } = options
  const unreadableKeys = new Set<string>()
  let reencrypted = await database.transactional(() => reencryptValues(options, unreadableKeys))
  reencrypted += await database.transactional(() => reencryptRequests(options, unreadableKeys))
  let after: HistoryRow | undefined
  do {
    const from = after
    const step = await database.transactional(() => reencryptHistory(options, unreadableKeys, from))
    reencrypted += step.count
    after = step.last
    await nextTurn()
  } while (after !== undefined)
  return { reencrypted, unreadable: [...unreadableKeys].sort() }
}

function adviceFor(isConfigured: boolean, unreadable: readonly string[], file: string): string {
  if (unreadable.length > 0) {
    return `No known master key decrypts values of ${unreadable.join(', ')}. Restore their key and rotate again, or set them again.`
  }
  return isConfigured
    ? `Everything is encrypted with the first configured key; further ones, and ${file} if it exists, are no longer needed.`
    : `Keep a copy of ${file}; copies of the old one are of no more use.`
}

async function addMasterKey({ database, masterKeys }: RotationOptions): Promise<void> {
  await lockVersion(database)
  const { current, problem } = await masterKeys.read()
  // If the file contains a damaged line, it is not rewritten, because the key in this line may still be repaired.
  if (problem !== undefined) throw businessError('master-key', { params: { problem } })
  if (current !== undefined) await masterKeys.addCurrent()
}

/** Encrypts the values again and returns their number. */
async function reencryptValues(options: ReencryptionOptions, unreadable: Set<string>): Promise<number> {
  const { database, isSensitive } = options
  await lockVersion(database)
  const em = database.fork()
  const rows = (await em.findAll(ConfigRow)).filter((row) => row.sensitive || isSensitive(row.configKey))
  if (rows.length === 0) return 0
  const renewal = await renewalOf(options, unreadable)
  for (const row of rows) {
    const { text, masterKeyId, destination } = renewal.renew(row.configKey, sealedValueOf(row))
    em.assign(row, { configValue: text, masterKeyId, destination, sensitive: true })
  }
  await em.flush()
  return renewal.count
}

/** Encrypts the secrets of open requests again and returns their number. Requests that have ended have none. */
async function reencryptRequests(options: ReencryptionOptions, unreadable: Set<string>): Promise<number> {
  const { database } = options
  await lockVersion(database)
  const em = database.fork()
  const rows = await em.find(RequestRow, { secrets: { $ne: null } })
  if (rows.length === 0) return 0
  const renewal = await renewalOf(options, unreadable)
  for (const row of rows) {
    const { text: secrets, masterKeyId } = renewal.renew(requestPurpose(row.id), sealedRequestOf(row))
    em.assign(row, { secrets, masterKeyId })
  }
  await em.flush()
  return renewal.count
}

const sealedRequestOf = (row: RequestRow): SealedValue => ({
  text: row.secrets ?? '',
  masterKeyId: row.masterKeyId ?? null,
  destination: null,
})

/** Returns the next rows of the history, in the order of the primary key. */
function readHistory(em: SqlEntityManager, after: HistoryRow | undefined): Promise<HistoryRow[]> {
  const where =
    after === undefined
      ? {}
      : {
          $or: [
            { configKey: { $gt: after.configKey } },
            { configKey: after.configKey, version: { $gt: after.version } },
          ],
        }
  return em.find(HistoryRow, where, { orderBy: { configKey: 'asc', version: 'asc' }, limit: stepRows })
}

interface HistoryStep {
  readonly count: number
  /** Last row of this step. Absent if no rows remain. */
  readonly last: HistoryRow | undefined
}

/** Encrypts the next rows of the history. */
async function reencryptHistory(
  options: ReencryptionOptions,
  unreadable: Set<string>,
  after: HistoryRow | undefined,
): Promise<HistoryStep> {
  const { database, isSensitive } = options
  await lockVersion(database)
  const em = database.fork()
  const rows = await readHistory(em, after)
  const last = rows.length < stepRows ? undefined : rows.at(-1)
  const secrets = rows.filter((row) => row.sensitive || isSensitive(row.configKey))
  if (secrets.length === 0) return { count: 0, last }
  const renewal = await renewalOf(options, unreadable)
  for (const row of secrets) {
    const [before, later] = oldAndNewValueOf(row)
    const renewedBefore = before && renewal.renew(row.configKey, before)
    const renewedLater = later && renewal.renew(row.configKey, later)
    em.assign(row, {
      oldValue: renewedBefore?.text ?? null,
      oldMasterKeyId: renewedBefore?.masterKeyId ?? null,
      oldDestination: renewedBefore?.destination ?? null,
      newValue: renewedLater?.text ?? null,
      newMasterKeyId: renewedLater?.masterKeyId ?? null,
      newDestination: renewedLater?.destination ?? null,
      sensitive: true,
    })
  }
  await em.flush()
  return { count: renewal.count, last }
}

/** Returns a function that encrypts values with the current key. The caller must hold the lock of `lockVersion`. */
async function renewalOf({ database, masterKeys, isDone }: ReencryptionOptions, unreadable: Set<string>) {
  const keyring = await masterKeys.read()
  const key = await encryptionKey(database, masterKeys, keyring)
  const renewal = {
    count: 0,
    renew(configKey: string, old: SealedValue): SealedValue {
      if (isDone(old, key)) return old
      const opened = unsealValue(keyring, configKey, old)
      if ('problem' in opened) {
        unreadable.add(configKey)
        return old
      }
      renewal.count++
      return sealValue(key, configKey, opened)
    },
  }
  return renewal
}

async function dropUnused({ database, masterKeys }: RotationOptions): Promise<void> {
  await lockVersion(database)
  const used = await database.query<{ id: string | null }>(
    `select master_key_id as id from sys_config union select old_master_key_id as id from sys_config_history
     union select new_master_key_id as id from sys_config_history
     union select master_key_id as id from sys_config_request`,
  )
  await masterKeys.keepOnly(new Set(used.flatMap(({ id }) => id ?? [])))
}
