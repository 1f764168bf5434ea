import { type Clock, errorCodeOf, type Logger, withinDeadline } from '@plinth/kernel'
import { isRunAlive } from './create.ts'
import { businessError } from './declarations.ts'
import { type Manifest, startOf } from './format.ts'
import { type BackupList, listBackups, type Place } from './vault.ts'

/**
 * `proven`: complete. `running`: not complete yet. `stopped`: the process died, or the files come from another program.
 * `failed`: only the reason is left. `damaged`: the manifest is malformed.
 */
export const backupStates = ['proven', 'running', 'stopped', 'failed', 'damaged'] as const

/** A backup as the back office shows it. */
export interface BackupReport {
  readonly id: string
  readonly state: (typeof backupStates)[number]
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  readonly manifest: Manifest | undefined
  /** Code of the error of a failed backup. */
  readonly failure: string | undefined
}

/** Time limit for reading the place, in milliseconds. */
const readMs = 20_000

interface ReportDependencies {
  readonly place: Place
  readonly clock: Clock
  readonly log: Pick<Logger, 'warn'>
}

/** Reads the place for the back office. All requests share one read at a time, even if the place does not respond. */
export class BackupReports {
  readonly #parts: ReportDependencies
  #reading: Promise<BackupList> | undefined

  constructor(parts: ReportDependencies) {
    this.#parts = parts
  }

  /**
   * Returns all backups, the newest first.
   *
   * @throws BusinessError "503" `backup.place-late`, `backup.place-unavailable`
   */
  async list(): Promise<readonly BackupReport[]> {
    const { place, clock, log } = this.#parts
    this.#reading ??= listBackups(place).finally(() => {
      this.#reading = undefined
    })
    const reading = this.#reading
    const late = () => businessError('place-late', { params: { seconds: readMs / 1000 } })
    let isLate = false
    const found = await withinDeadline(
      clock,
      readMs,
      () => reading,
      () => {
        isLate = true
        return late()
      },
    ).catch((error: unknown) => {
      log.warn({ err: error }, 'the backups cannot be read')
      if (isLate) throw error
      throw businessError('place-unavailable', { params: { code: errorCodeOf(error) ?? 'UNKNOWN' } })
    })
    return reportsOf(found, clock.now())
  }

  /** @throws BusinessError "404" `backup.unknown`, and the errors of `list` */
  async find(id: string): Promise<BackupReport> {
    const report = (await this.list()).find((one) => one.id === id)
    if (report === undefined) throw businessError('unknown', { params: { id } })
    return report
  }
}

function reportsOf({ complete, unfinished, failed, damaged }: BackupList, now: number): readonly BackupReport[] {
  const report = (id: string, state: BackupReport['state'], more: Partial<BackupReport> = {}): BackupReport => ({
    manifest: undefined,
    failure: undefined,
    ...more,
    id,
    state,
    startedAt: startOf(id),
  })
  return [
    ...complete.map((manifest) => report(manifest.id, 'proven', { manifest })),
    ...unfinished.map(([{ id }, run]) => report(id, run !== undefined && isRunAlive(run, now) ? 'running' : 'stopped')),
    ...failed.map(([{ id }, { code }]) => report(id, 'failed', { failure: code })),
    ...damaged.map((id) => report(id, 'damaged')),
  ].sort((a, b) => (a.id < b.id ? 1 : -1))
}
