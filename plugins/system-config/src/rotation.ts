import type { Database } from '@plinth/database'
import { sidesOf } from './config-store.ts'
import type { RotationReport } from './contract.ts'
import { ConfigRow, HistoryRow } from './entities.ts'
import { encryptionKey, lockVersion } from './exclusive-write.ts'
import { masterKeyUnusable } from './failures.ts'
import type { MasterKeys } from './master-keys.ts'
import { type SealedValue, seal, unseal } from './sealed-value.ts'

export interface RotationOptions {
  readonly database: Database
  readonly masterKeys: MasterKeys
  readonly isSensitive: (key: string) => boolean
}

/**
 * Encrypts every secret, in values and history, with a new master key. Three steps, each whole after a crash: the new key
 * is put before the old ones in the file; all rows are written in one transaction; keys that no row needs leave the
 * file. Each step holds the lock of writers, so that no row is ever encrypted with a key that is about to go. A rotation
 * that was cut short is finished by the next one.
 */
export async function rotateSecrets(options: RotationOptions): Promise<RotationReport> {
  const { database, masterKeys } = options
  const { isConfigured } = masterKeys
  if (!isConfigured) await database.transactional(() => addMasterKey(options))
  const { reencrypted, unreadable } = await database.transactional(() => reencrypt(options))
  if (!isConfigured) await database.transactional(() => dropUnused(options))
  return { reencrypted, unreadable, advice: adviceFor(isConfigured, unreadable, masterKeys.file) }
}

function adviceFor(isConfigured: boolean, unreadable: readonly string[], file: string): string {
  if (unreadable.length > 0) {
    return `No known master key decrypts values of ${unreadable.join(', ')}. Restore their key and rotate again, or set them anew.`
  }
  return isConfigured
    ? `Everything is encrypted with the first configured key; further ones, and ${file} if it exists, are no longer needed.`
    : `Keep a copy of ${file}; copies of the old one are of no more use.`
}

async function addMasterKey({ database, masterKeys }: RotationOptions): Promise<void> {
  await lockVersion(database)
  const { current, problem } = await masterKeys.read()
  // A file with a broken line is not rewritten: what is left of a key may still be mended.
  if (problem !== undefined) throw masterKeyUnusable(problem)
  if (current !== undefined) await masterKeys.addCurrent()
}

async function reencrypt({ database, masterKeys, isSensitive }: RotationOptions) {
  await lockVersion(database)
  const em = database.fork()
  const values = (await em.findAll(ConfigRow)).filter((row) => row.sensitive || isSensitive(row.configKey))
  const history = (await em.findAll(HistoryRow)).filter((row) => row.sensitive || isSensitive(row.configKey))
  const unreadable = new Set<string>()
  let reencrypted = 0
  if (values.length === 0 && history.length === 0) return { reencrypted, unreadable: [] }
  const keyring = await masterKeys.read()
  const key = await encryptionKey(database, masterKeys, keyring)
  const renew = (configKey: string, old: SealedValue | undefined): SealedValue | undefined => {
    if (old === undefined || old.masterKeyId === key.id) return old
    const opened = unseal(keyring, configKey, old)
    if ('problem' in opened) {
      unreadable.add(configKey)
      return old
    }
    reencrypted++
    return seal(key, configKey, opened.value)
  }
  for (const row of values) {
    const value = renew(row.configKey, { text: row.configValue, masterKeyId: row.masterKeyId ?? null })
    if (value === undefined) continue
    em.assign(row, { configValue: value.text, masterKeyId: value.masterKeyId, sensitive: true })
  }
  for (const row of history) {
    const [before, after] = sidesOf(row)
    const renewedBefore = renew(row.configKey, before)
    const renewedAfter = renew(row.configKey, after)
    em.assign(row, {
      oldValue: renewedBefore?.text ?? null,
      oldMasterKeyId: renewedBefore?.masterKeyId ?? null,
      newValue: renewedAfter?.text ?? null,
      newMasterKeyId: renewedAfter?.masterKeyId ?? null,
      sensitive: true,
    })
  }
  await em.flush()
  return { reencrypted, unreadable: [...unreadable].sort() }
}

async function dropUnused({ database, masterKeys }: RotationOptions): Promise<void> {
  await lockVersion(database)
  const used = await database.query<{ id: string | null }>(
    `select master_key_id as id from sys_config union select old_master_key_id as id from sys_config_history
     union select new_master_key_id as id from sys_config_history`,
  )
  await masterKeys.keepOnly(new Set(used.flatMap(({ id }) => id ?? [])))
}
