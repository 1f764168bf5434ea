import type { Clock, Kernel, Logger, PlinthError } from '@plinth/kernel'
import { installError } from '../errors.ts'
import type { SettingsWriter } from '../settings/settings-writer.ts'

/** Pause between two looks at the configured database, in milliseconds. */
const pauseMs = 15_000

interface FallbackWatchParts {
  readonly kernel: Pick<Kernel, 'fallback' | 'requestRestart'>
  readonly settings: Pick<SettingsWriter, 'tryConfigured'>
  readonly clock: Pick<Clock, 'sleep'>
  readonly log: Logger
}

/** A product that has fallen back on a database in memory: not ready, and over as soon as the configured one answers. */
export class FallbackWatch {
  readonly #parts: FallbackWatchParts

  constructor(parts: FallbackWatchParts) {
    this.#parts = parts
  }

  /** What keeps the product from being ready. */
  get problem(): PlinthError | undefined {
    const { fallback } = this.#parts.kernel
    return fallback && installError('PLINTH_INSTALL_DATABASE_UNUSABLE', { reason: fallback.reason })
  }

  /** Returns when the signal aborts, or at once where nothing has fallen back. */
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
