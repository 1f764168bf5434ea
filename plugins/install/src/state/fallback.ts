import type { DatabaseErrorCode } from '@plinth/database'
import type { Clock, Kernel, Logger, PlinthError } from '@plinth/kernel'
import type { FailedStart } from '@plinth/kernel/host'
import { nodeEnvironmentOf } from '@plinth/kernel/host'
import type { InstallConfig } from '../config.ts'
import { installError } from '../declarations.ts'
import { installToken } from '../entry/install-token.ts'
import { installFiles } from '../files.ts'
import type { SettingsWriter } from '../settings/settings-writer.ts'
import { AtomicJsonFile } from './restart-note.ts'

/** Interval in milliseconds at which the configured database is tried. */
const pauseMs = 15_000

interface FallbackWatchDependencies {
  readonly kernel: Pick<Kernel, 'fallback' | 'requestRestart'>
  readonly settings: Pick<SettingsWriter, 'tryConfigured'>
  readonly clock: Pick<Clock, 'sleep'>
  readonly log: Logger
}

/**
 * Watches a product that runs on the fallback database in memory. Such a product is not ready. It restarts when the
 * configured database is available.
 */
export class FallbackDatabaseWatch {
  readonly #parts: FallbackWatchDependencies

  constructor(parts: FallbackWatchDependencies) {
    this.#parts = parts
  }

  get problem(): PlinthError | undefined {
    const { fallback } = this.#parts.kernel
    return fallback && installError('PLINTH_INSTALL_DATABASE_UNUSABLE', { reason: fallback.reason })
  }

  /** Returns when the signal aborts, or immediately if the fallback is not in use. */
  async run(signal: AbortSignal): Promise<void> {
    const { kernel, settings, clock, log } = this.#parts
    const { problem } = this
    if (problem === undefined) return
    log.error({ code: problem.code, fix: problem.fix }, problem.message)
    for (;;) {
      await clock.sleep(pauseMs, signal)
      if (signal.aborted) return
      const isThere = await settings.tryConfigured().then(
        () => true,
        () => false,
      )
      if (isThere) return kernel.requestRestart('the configured database answers')
    }
  }
}

const connectionFailures: readonly string[] = [
  'PLINTH_DATABASE_UNREACHABLE',
  'PLINTH_DATABASE_ACCESS_DENIED',
  'PLINTH_DATABASE_UNKNOWN',
  'PLINTH_DATABASE_FAILED',
  'PLINTH_DATABASE_TOO_MANY_CONNECTIONS',
] satisfies readonly DatabaseErrorCode[]

/** An empty database in memory and no Redis, so that data of other instances cannot be changed. */
const inMemory: Readonly<Record<string, string>> = {
  'platform.database.type': 'sqlite',
  'platform.database.sqlite.file': ':memory:',
  'platform.cache.enabled': 'false',
}

/**
 * Lets a product start although its database cannot be used, so that the installer can show the problem. The fallback
 * is only used if the product was never installed on this machine, its connection is set in `.env`, and the installer
 * is open to someone.
 */
export async function fallbackValuesForStart({ code, root, explain, get }: FailedStart) {
  if (!connectionFailures.includes(code)) return undefined
  if (explain('platform.database.type')?.effective.source !== 'dotenv') return undefined
  const config = { get } as unknown as InstallConfig
  const { isProduction } = nodeEnvironmentOf(process.env['NODE_ENV'])
  const mode = config.get('platform.install.mode')
  const isEnabled = mode === 'forced' || (mode === 'auto' && config.get('platform.install.enabled'))
  const isClosed = installToken(config, { explain }, { isProduction }).closedBecause !== undefined
  if (!isEnabled || isClosed || config.get('platform.install.installed')) return undefined
  const marker = new AtomicJsonFile(installFiles(config, { explain }, root).marker)
  if ((await marker.read()) !== undefined) return undefined
  return Object.fromEntries(Object.entries(inMemory).filter(([key]) => explain(key) !== undefined))
}
