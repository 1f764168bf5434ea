import { existsSync } from 'node:fs'
import { TableNotFoundException } from '@mikro-orm/core'
import { errorReason, fitTextToColumn, isBusinessError, omitUndefined, type PlinthError } from '@plinth/kernel'
import { installError, StepFailure } from '../declarations.ts'
import type { InstallFiles } from '../files.ts'
import { StateRow } from '../records/entities.ts'
import type { InstallServices } from '../requires.ts'
import { AtomicJsonFile } from './restart-note.ts'

/**
 * Why the state is unknown. `lost`: the product was installed on this machine, but the database does not contain this.
 * `unreadable`: the database is not available.
 */
type Doubt = 'lost' | 'unreadable'

export interface InstallStateReading {
  readonly name: 'installed' | 'not-installed' | 'unknown'
  /** Version of the stored value, or 0. */
  readonly version: number
  /** Set if the state is `unknown`. */
  readonly doubt?: Doubt
}

/** An unknown state counts as installed. */
export const isInstalled = ({ name }: InstallStateReading) => name !== 'not-installed'

/** Why the installer is closed to all callers: the product is installed, or the state is unknown. */
export type ClosedByState = 'installed' | `state-${Doubt}`

interface StateChange {
  readonly by: string
  readonly traceId: string
  readonly sessionId?: string
  readonly reason?: string
}

interface Marker {
  readonly installedAt: string
  readonly sessionId: string
}

type StateDependencies = Pick<InstallServices, 'plugin' | 'config' | 'configCentre' | 'database' | 'clock' | 'log'> & {
  readonly files: InstallFiles
}

const installedKey = 'platform.install.installed'

/**
 * The state of the installation. The stored value of `platform.install.installed` is decisive. All instances share it,
 * and it is read from the database for each call. The row in `install_state` is a copy for other programs (requirement
 * I-008). A marker file on the local disk distinguishes a new database from a database that has lost its data (decision
 * E7).
 */
export class InstallState {
  readonly #parts: StateDependencies
  readonly #marker: AtomicJsonFile<Marker>
  #reported: Doubt | undefined

  constructor(parts: StateDependencies) {
    this.#parts = parts
    this.#marker = new AtomicJsonFile(parts.files.marker)
  }

  /** Never throws. */
  async read(): Promise<InstallStateReading> {
    const found = await this.#find()
    if (found.doubt !== this.#reported) this.#report(found)
    this.#reported = found.doubt
    return found
  }

  /** Returns why an installation is not possible, or `undefined` if it is possible. */
  closedBecause({ name, doubt }: InstallStateReading): ClosedByState | undefined {
    if (name === 'unknown') return `state-${doubt ?? 'unreadable'}`
    const mayReinstall = this.#parts.config.get('platform.install.allow-reinstall')
    return name === 'installed' && !mayReinstall ? 'installed' : undefined
  }

  /**
   * True if this process knows that the product is installed. Every request is checked, so this reads no database. Each
   * instance is notified of changes.
   */
  get isKnownInstalled(): boolean {
    return this.#parts.config.get(installedKey)
  }

  /**
   * @throws PlinthError `PLINTH_INSTALL_STATE_LOST` if the product was installed on this machine, but the database does
   *   not contain this
   */
  async assertNotLost(): Promise<void> {
    if ((await this.read()).doubt === 'lost') throw this.#lost()
  }

  async #find(): Promise<InstallStateReading & { readonly reason?: string }> {
    try {
      // Does not query a missing SQLite file, because the query would create the file, for example during `plinth
      // doctor`.
      const get = this.#isFileMissing() ? undefined : this.#parts.configCentre.get(installedKey)
      const { explanation, stored } = (await get) ?? {}
      if (explanation?.effective.value === true) return { name: 'installed', version: stored?.version ?? 0 }
      if (stored !== undefined) return { name: 'not-installed', version: stored.version }
    } catch (error) {
      const wasNeverMigrated = causeOf(error) instanceof TableNotFoundException
      if (!wasNeverMigrated) return { name: 'unknown', version: 0, doubt: 'unreadable', reason: errorReason(error) }
    }
    if ((await this.#marker.read()) === undefined) return { name: 'not-installed', version: 0 }
    return { name: 'unknown', version: 0, doubt: 'lost' }
  }

  #isFileMissing(): boolean {
    const { dialect, place } = this.#parts.database
    return dialect === 'sqlite' && place !== ':memory:' && !existsSync(place)
  }

  /**
   * Logs that the state has become unknown, or known again. Only changes are logged, because every call reads the
   * state.
   */
  #report({ doubt, reason }: InstallStateReading & { readonly reason?: string }): void {
    const { log } = this.#parts
    if (doubt === undefined) log.info('the install state can be read again')
    else if (doubt === 'unreadable')
      log.warn({ reason }, 'the install state cannot be read, so the product is treated as installed')
    else log.error({ code: this.#lost().code, fix: this.#lost().fix }, this.#lost().message)
  }

  #lost(): PlinthError {
    return installError('PLINTH_INSTALL_STATE_LOST', { marker: this.#parts.files.marker })
  }

  /**
   * Changes the state if it still has the version in `seen`. If several callers on any instances change it, only one
   * succeeds.
   *
   * @returns false if another caller changed it first
   * @throws BusinessError "503" if it cannot be stored
   */
  async change(installed: boolean, seen: InstallStateReading, change: StateChange): Promise<boolean> {
    const { plugin, configCentre } = this.#parts
    try {
      await configCentre.saveState(
        plugin,
        [{ key: installedKey, action: 'set', value: installed, expectedVersion: seen.version }],
        omitUndefined({
          actor: { name: change.by, traceId: change.traceId },
          reason: change.reason,
        }),
      )
    } catch (error) {
      if (isBusinessError(error) && error.code === '409') return false
      throw error
    }
    await this.#tryToCopy(installed, change)
    return true
  }

  /**
   * Marks the product as installed.
   *
   * @returns the time of the change, ISO 8601, or empty if unknown
   * @throws StepFailure if a concurrent change prevented it and the product is still not installed
   */
  async lock(change: StateChange): Promise<string> {
    const seen = await this.read()
    if (seen.name !== 'installed' && !(await this.change(true, seen, change))) {
      if ((await this.read()).name !== 'installed') throw new StepFailure('failure.lock')
    }
    const row = await this.#row()
    return row?.installed === true ? (row.changedAt?.toISOString() ?? '') : ''
  }

  /**
   * Removes the marker, because this machine now uses another database, which is not installed yet. The caller must
   * have checked that an installation is allowed.
   */
  async leaveDatabase(): Promise<void> {
    await this.#marker.remove()
  }

  /** Updates the row and the marker, for example after a crash. Does nothing if the state is unknown. Never throws. */
  async repair(): Promise<void> {
    const { name } = await this.read()
    if (name === 'unknown') return
    const installed = name === 'installed'
    const [row, marker] = [await this.#row(), await this.#marker.read()]
    if (row === undefined || (row.installed === installed && (marker !== undefined) === installed)) return
    await this.#tryToCopy(installed, { by: row.changedBy || 'repair', traceId: '', sessionId: row.sessionId })
  }

  /** Returns the row of `install_state`, or `undefined` if it cannot be read. */
  async #row(): Promise<StateRow | undefined> {
    const found = await this.#parts.database
      .fork()
      .findOne(StateRow, 1)
      .catch(() => null)
    return found ?? undefined
  }

  async #tryToCopy(installed: boolean, change: StateChange): Promise<void> {
    await this.#copy(installed, change).catch((error: unknown) => {
      this.#parts.log.warn({ reason: errorReason(error) }, 'the copies of the install state could not be written')
    })
  }

  async #copy(installed: boolean, { by, sessionId = '' }: StateChange): Promise<void> {
    const marker = this.#marker
    const { database, clock } = this.#parts
    const now = new Date(clock.now())
    if (installed) await marker.write({ installedAt: now.toISOString(), sessionId })
    else await marker.remove()
    await database.execute(
      'update install_state set installed = ?, session_id = ?, changed_at = ?, changed_by = ? where id = 1',
      [installed, sessionId, now, fitTextToColumn(by, 128)],
    )
  }
}

function causeOf(error: unknown): unknown {
  return isBusinessError(error) ? error.cause : error
}
