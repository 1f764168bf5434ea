import { type Clock, codeOf, withinDeadline } from '@plinth/kernel'
import type { Disk, DiskInfo, Storage } from './contract.ts'

/** Whether files can be written: `disabled` by configuration, `failing` when the disk says no or nothing. */
export const diskStates = ['ready', 'failing', 'disabled'] as const

export interface DiskReport extends DiskInfo {
  readonly state: (typeof diskStates)[number]
  /** Code of the system or of the disk, such as `ENOSPC`; without it the log has the reason. */
  readonly fault: string | null
}

/** What a disk holds, as far as it was counted. */
interface DiskUsage {
  readonly files: number
  /** Of all counted files. */
  readonly bytes: number
  readonly newestAt: Date | null
  /** False when the disk holds more files than are counted, or did not list them in time. */
  readonly complete: boolean
}

/** Files that are counted at most, so that a look at a full disk costs no more than at a small one. */
export const mostCounted = 10_000
/** Milliseconds that a disk has to answer a question. */
const answerMs = 5_000

interface DiskReportParts {
  readonly storage: Pick<Storage, 'disks' | 'list'>
  readonly disks: ReadonlyMap<string, Pick<Disk, 'verify'>>
  readonly clock: Clock
}

/** What operators see of the disks. */
export class DiskReports {
  readonly #parts: DiskReportParts

  constructor(parts: DiskReportParts) {
    this.#parts = parts
  }

  /** Asks all disks that are switched on at the same time. */
  all(): Promise<readonly DiskReport[]> {
    return Promise.all(this.#parts.storage.disks().map((disk) => this.#report(disk)))
  }

  /** `undefined` when there is no disk of the name. */
  async one(name: string): Promise<DiskReport | undefined> {
    const disk = this.#parts.storage.disks().find((known) => known.name === name)
    return disk && (await this.#report(disk))
  }

  /** Nothing is counted on a disk that is not ready. */
  async usage({ name, state }: Pick<DiskReport, 'name' | 'state'>): Promise<DiskUsage> {
    const usage = { files: 0, bytes: 0, newestAt: null as Date | null, complete: false }
    if (state !== 'ready') return usage
    try {
      await this.#inTime(async (signal) => {
        for await (const { size, modifiedAt } of this.#parts.storage.list(name)) {
          if (signal.aborted || usage.files === mostCounted) return
          usage.files += 1
          usage.bytes += size
          if (usage.newestAt === null || modifiedAt > usage.newestAt) usage.newestAt = modifiedAt
        }
        usage.complete = true
      })
    } catch {
      // What was counted until then stands, and says that it is not all.
    }
    return { ...usage }
  }

  async #report(disk: DiskInfo): Promise<DiskReport> {
    if (!disk.enabled) return { ...disk, state: 'disabled', fault: null }
    try {
      await this.#inTime(async (signal) => this.#parts.disks.get(disk.name)?.verify(signal))
      return { ...disk, state: 'ready', fault: null }
    } catch (error) {
      return { ...disk, state: 'failing', fault: codeOf(error) ?? null }
    }
  }

  #inTime<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const late = () => Object.assign(new Error('The disk does not answer.'), { code: 'ETIMEDOUT' })
    return withinDeadline(this.#parts.clock, answerMs, work, late)
  }
}
