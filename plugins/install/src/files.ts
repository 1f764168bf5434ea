import { join, resolve } from 'node:path'
import type { ConfigAdmin } from '@plinth/kernel/host'
import { type InstallConfig, storagePlaceholder } from './config.ts'

export interface InstallFiles {
  readonly storageDirectory: string
  /** The `.env` file of the product. */
  readonly configFile: string
  /** Lists the variables that may be written. */
  readonly exampleFile: string
  readonly executionLog: string
  /** Marker file. It exists if the product was installed from this machine. */
  readonly marker: string
  /**
   * Note file. It exists from the moment at which an installation requests a restart until the next run of the
   * installation.
   */
  readonly restartNote: string
}

const storageRootKey = 'platform.storage.root'
/** Storage directory if the plugin that declares the key of this directory is not loaded. */
const usualStorage = 'data/storage'

/**
 * @param root directory of the product, which may be read-only
 * @param settingsFile file that the product reads at its start. Default: the value of `platform.install.config-file`
 */
export function installFiles(
  config: InstallConfig,
  { explain }: Pick<ConfigAdmin, 'explain'>,
  root: string,
  settingsFile?: string,
): InstallFiles {
  const stored = explain(storageRootKey)?.effective.value
  const storageDirectory = resolve(root, typeof stored === 'string' && stored !== '' ? stored : usualStorage)
  const configFile = settingsFile ?? resolve(root, config.get('platform.install.config-file'))
  const log = config.get('platform.install.execution-log-file').replace(storagePlaceholder, () => storageDirectory)
  const own = join(storageDirectory, 'install')
  return {
    storageDirectory,
    configFile,
    exampleFile: join(root, '.env.example'),
    executionLog: resolve(root, log),
    marker: join(own, 'installed.json'),
    restartNote: join(own, 'restart.json'),
  }
}
