import { TableNotFoundException } from '@mikro-orm/core'
import type { Database } from '@plinth/database'
import { BusinessError, type Clock, type Logger, reasonOf } from '@plinth/kernel'
import type { ConfigCentre } from '@plinth/system-config'
import { StateRow } from './entities.ts'
import type { NoteFile } from './note-file.ts'

/** `unknown`: it cannot be read, which counts as installed. */
export type StateName = 'installed' | 'not-installed' | 'unknown'

export interface Reading {
  readonly name: StateName
  /** Version of the stored value; 0 for none. */
  readonly version: number
}

/** Who changes the state, and why. */
export interface StateChange {
  readonly by: string
  readonly traceId: string
  readonly sessionId?: string
  readonly reason?: string
}

/** What the marker says. */
export interface Marker {
  readonly installedAt: string
  readonly sessionId: string
}

export interface StateParts {
  readonly plugin: string
  readonly configCentre: ConfigCentre
  readonly database: Database
  readonly marker: NoteFile<Marker>
  readonly clock: Pick<Clock, 'now'>
  readonly log: Logger
}

export const installedKey = 'platform.install.installed'

/**
 * Whether the product is installed. What counts is the stored value of `platform.install.installed`, which all instances
 * share; it is read from the database each time. The row `install_state` is a copy for compatibility (I-008). The marker
 * on the local disk tells a database that was never migrated from one that has lost its tables.
 */
export class InstallState {
  readonly #parts: StateParts

  constructor(parts: StateParts) {
    this.#parts = parts
  }

  /** Never throws. */
  async read(): Promise<Reading> {
    try {
      const { explanation, stored } = await this.#parts.configCentre.get(installedKey)
      const isInstalled = explanation?.effective.value === true
      return { name: isInstalled ? 'installed' : 'not-installed', version: stored?.version ?? 0 }
    } catch (error) {
      const wasNeverMigrated = causeOf(error) instanceof TableNotFoundException
      if (wasNeverMigrated && (await this.#parts.marker.read()) === undefined) {
        return { name: 'not-installed', version: 0 }
      }
      this.#parts.log.warn({ reason: reasonOf(error) }, 'the install state cannot be read, so it counts as installed')
      return { name: 'unknown', version: 0 }
    }
  }

  /** When and by which session the marker says that this machine was installed. */
  marker(): Promise<Partial<Marker> | undefined> {
    return this.#parts.marker.read()
  }

  /**
   * Changes the state, if it is still the one that was read: of several callers on any number of instances, one does it.
   *
   * @returns false when somebody else was faster
   * @throws BusinessError "503" when it cannot be stored
   */
  async change(installed: boolean, seen: Reading, change: StateChange): Promise<boolean> {
    const { plugin, configCentre } = this.#parts
    try {
      await configCentre.saveState(
        plugin,
        [{ key: installedKey, action: 'set', value: installed, expectedVersion: seen.version }],
        {
          actor: { name: change.by, traceId: change.traceId },
          ...(change.reason === undefined ? {} : { reason: change.reason }),
        },
      )
    } catch (error) {
      if (error instanceof BusinessError && error.code === '409') return false
      throw error
    }
    await this.#tryToCopy(installed, change)
    return true
  }

  /** Brings the copies in line with what counts, for example after a crash. Never throws. */
  async repair(): Promise<void> {
    const { name } = await this.read()
    if (name === 'unknown') return
    const installed = name === 'installed'
    const [row, marker] = [await this.row(), await this.marker()]
    if (row === undefined || (row.installed === installed && (marker !== undefined) === installed)) return
    await this.#tryToCopy(installed, { by: row.changedBy || 'repair', traceId: '', sessionId: row.sessionId })
  }

  /** The copy in the database; `undefined` when it cannot be read. */
  async row(): Promise<StateRow | undefined> {
    const found = await this.#parts.database
      .fork()
      .findOne(StateRow, 1)
      .catch(() => null)
    return found ?? undefined
  }

  async #tryToCopy(installed: boolean, change: StateChange): Promise<void> {
    await this.#copy(installed, change).catch((error: unknown) => {
      this.#parts.log.warn({ reason: reasonOf(error) }, 'the copies of the install state could not be written')
    })
  }

  async #copy(installed: boolean, { by, sessionId = '' }: StateChange): Promise<void> {
    const { database, marker, clock } = this.#parts
    const now = new Date(clock.now())
    if (installed) await marker.write({ installedAt: now.toISOString(), sessionId })
    else await marker.remove()
    await database.execute(
      'update install_state set installed = ?, session_id = ?, changed_at = ?, changed_by = ? where id = 1',
      [installed, sessionId, now, [...by].slice(0, 128).join('')],
    )
  }
}

function causeOf(error: unknown): unknown {
  return error instanceof BusinessError ? error.cause : error
}
