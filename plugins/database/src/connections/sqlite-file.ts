import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { codeOf } from '@plinth/kernel'
import { connectionFailure } from './connection-failure.ts'
import type { ConnectionSettings } from './connection-settings.ts'

/**
 * True for an SQLite file that does not exist yet and can be created.
 *
 * @throws PlinthError `PLINTH_DATABASE_FILE` when it cannot be created
 */
export async function isMissingFile(settings: ConnectionSettings): Promise<boolean> {
  if (settings.type !== 'sqlite' || settings.file === ':memory:') return false
  try {
    if (await exists(settings.file)) return false
    await assertCreatable(dirname(settings.file))
    return true
  } catch (error) {
    throw connectionFailure(settings, error)
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false
    throw error
  }
}

/** A file can be created in the directory, or in directories that can be created in the next one above. */
async function assertCreatable(directory: string): Promise<void> {
  const parent = dirname(directory)
  if (!(await exists(directory)) && parent !== directory) return assertCreatable(parent)
  // The trailing slash makes the system reject what is not a directory.
  await access(`${directory}/`, constants.W_OK | constants.X_OK)
}
