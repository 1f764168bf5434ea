import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { type Clock, errorCodeOf, type Kernel } from '@plinth/kernel'
import type { SingleInstallationLock } from '../execution/single-run.ts'
import type { InstallFiles } from '../files.ts'
import type { InstallState } from './install-state.ts'
import type { RestartRequestFile } from './restart-note.ts'

/** Interval in milliseconds at which the state of the installation is read. */
const pauseMs = 2_000

interface SettingsFileWatchDependencies {
  readonly kernel: Pick<Kernel, 'requestRestart'>
  readonly files: Pick<InstallFiles, 'configFile'>
  readonly state: Pick<InstallState, 'read' | 'closedBecause'>
  readonly restartNote: Pick<RestartRequestFile, 'wasRestarted'>
  readonly singleRun: Pick<SingleInstallationLock, 'isRunning'>
  readonly clock: Pick<Clock, 'sleep'>
}

/**
 * Restarts this instance if an installation changed the settings file after this instance had read it. The instances of
 * a product share the file, but only one of them runs the installation (decision G11).
 */
export class SettingsFileWatch {
  readonly #parts: SettingsFileWatchDependencies

  constructor(parts: SettingsFileWatchDependencies) {
    this.#parts = parts
  }

  /** Returns when the installer is closed, when a restart was requested, or when the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { kernel, state, restartNote, singleRun, clock } = this.#parts
    const atStart = await this.#hash()
    for (;;) {
      const reading = await state.read()
      const isInstalled = reading.name === 'installed'
      const isWritten = isInstalled || (await restartNote.wasRestarted())
      if (isWritten && !singleRun.isRunning && (await this.#hash()) !== atStart) {
        return kernel.requestRestart('an installation changed the settings file')
      }
      if (isInstalled && !singleRun.isRunning && state.closedBecause(reading) === 'installed') return
      await clock.sleep(pauseMs, signal)
      if (signal.aborted) return
    }
  }

  /** Returns a hash of the settings file, or its error code. */
  async #hash(): Promise<string> {
    return readFile(this.#parts.files.configFile).then(
      (content) => createHash('sha256').update(content).digest('hex'),
      (error: unknown) => errorCodeOf(error) ?? '',
    )
  }
}
