import type { Database } from '@plinth/database'
import { businessError } from '../declarations.ts'
import type { Keyring, MasterKeys } from '../secrets/master-keys.ts'
import type { MasterKey } from '../secrets/secret-box.ts'

/** Makes every other writer wait until the surrounding transaction ends. Returns the current version. */
export async function lockVersion(database: Database): Promise<number> {
  await database.execute('update sys_config_version set version = version where id = ?', [1])
  const [row] = await database.query<{ version: number }>('select version from sys_config_version where id = ?', [1])
  return Number(row?.version)
}

/**
 * Returns the key for encryption. Creates it if no key exists and no stored secret uses one: a temporarily missing key
 * file must not be replaced. Must be called under the lock.
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
