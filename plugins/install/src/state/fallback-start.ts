import type { DatabaseErrorCode } from '@plinth/database'
import { type FailedStart, nodeEnvironmentOf } from '@plinth/kernel'
import type { InstallConfig } from '../config.ts'
import { installToken } from '../entry/install-token.ts'
import { installFiles } from '../files.ts'
import { NoteFile } from './note-file.ts'

const connectionFailures: readonly string[] = [
  'PLINTH_DATABASE_UNREACHABLE',
  'PLINTH_DATABASE_ACCESS_DENIED',
  'PLINTH_DATABASE_UNKNOWN',
  'PLINTH_DATABASE_FAILED',
  'PLINTH_DATABASE_TOO_MANY_CONNECTIONS',
] satisfies readonly DatabaseErrorCode[]

/** An empty database in memory and no Redis: whatever happens here, nothing of another instance is touched. */
const inMemory: Readonly<Record<string, string>> = {
  'platform.database.type': 'sqlite',
  'platform.database.sqlite.file': ':memory:',
  'platform.cache.enabled': 'false',
}

/**
 * A product that was never installed and whose database cannot be used starts all the same, so that the wizard can show
 * what is wrong. Only where the wizard could mend it, in the file that it writes; not where this machine was installed
 * once, nor where nobody could enter.
 */
export async function fallbackStart({ code, root, explain, get }: FailedStart) {
  if (!connectionFailures.includes(code)) return undefined
  if (explain('platform.database.type')?.effective.source !== 'dotenv') return undefined
  const config = { get } as unknown as InstallConfig
  const { isProduction } = nodeEnvironmentOf(process.env['NODE_ENV'])
  const mode = config.get('platform.install.mode')
  const isEnabled = mode === 'forced' || (mode === 'auto' && config.get('platform.install.enabled'))
  const isClosed = installToken(config, { explain }, { isProduction }).closedBecause !== undefined
  if (!isEnabled || isClosed || config.get('platform.install.installed')) return undefined
  const marker = new NoteFile(installFiles(config, { explain }, root).marker)
  if ((await marker.read()) !== undefined) return undefined
  return Object.fromEntries(Object.entries(inMemory).filter(([key]) => explain(key) !== undefined))
}
