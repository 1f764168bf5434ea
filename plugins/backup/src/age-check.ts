import { type Clock, errorReason, type Logger } from '@plinth/kernel'
import { assertRecipient, isRunAlive } from './create.ts'
import { startOf } from './format.ts'
import { type BackupList, listBackupsWithin, newestBackup, ofProduct, type Place } from './vault.ts'

interface AgeCheckOptions {
  readonly place: Place
  /** Name of the product. Backups of other products in the same place do not count. */
  readonly product: string
  /** Empty if no backups are made. */
  readonly recipient: string
  readonly maxAgeMs: () => number
  readonly clock: Clock
  readonly log: Pick<Logger, 'warn'>
}

export interface BackupWarning {
  /**
   * `none`: no backup is proven. `too-old`: the newest proven backup is older than `platform.backup.max-age`. `failed`:
   * a later backup failed, or its process died. `unavailable`: the place cannot be read.
   */
  readonly code: 'none' | 'too-old' | 'failed' | 'unavailable'
  /** For the owner of the machine. */
  readonly text: string
  /** Time of the newest proven backup, or undefined. */
  readonly newestAt: string | undefined
}

/** Time in milliseconds for which a result is valid. */
const validMs = 10 * 60_000
/** Time limit for reading the place, in milliseconds. */
const readMs = 60_000

/** Warns if the newest backup is too old, or if a later one failed. */
export class AgeCheck {
  readonly #options: AgeCheckOptions
  #checkedAt = Number.NEGATIVE_INFINITY
  #running: Promise<void> | undefined
  /** Warnings of the last check. */
  warnings: readonly BackupWarning[] = []

  constructor(options: AgeCheckOptions) {
    this.#options = options
  }

  /**
   * Checks again if the last check is not recent. Never throws.
   *
   * @param maxAgeMs a check that is younger than this number of milliseconds is recent
   */
  refresh(maxAgeMs = validMs): Promise<void> {
    const { clock, recipient } = this.#options
    if (recipient === '' || clock.monotonic() - this.#checkedAt < maxAgeMs) return this.#running ?? Promise.resolve()
    this.#checkedAt = clock.monotonic()
    this.#running ??= this.#check()
      .catch((error: unknown) => {
        const text = `The backups cannot be checked: ${errorReason(error)}`
        if (!this.warnings.some(({ code }) => code === 'unavailable')) this.#options.log.warn({ err: error }, text)
        return [{ code: 'unavailable', text, newestAt: undefined } as const]
      })
      .then((warnings) => {
        this.warnings = warnings
        this.#running = undefined
      })
    return this.#running
  }

  async #check(): Promise<readonly BackupWarning[]> {
    const { place, product, recipient, maxAgeMs, clock } = this.#options
    assertRecipient(recipient)
    const list = ofProduct(await listBackupsWithin(place, clock, readMs), product)
    return warningsOf(list, clock.now(), maxAgeMs())
  }
}

/** @param now milliseconds since the epoch */
export function warningsOf(list: BackupList, now: number, maxAgeMs: number): readonly BackupWarning[] {
  const { failed, unfinished } = list
  const newest = newestBackup(list, maxAgeMs, now)
  const newestAt = newest?.createdAt
  const warning = (code: BackupWarning['code'], text: string) => ({ code, text, newestAt })
  const warnings: BackupWarning[] = []
  const advice = 'Run `plinth backup create`.'
  if (newestAt === undefined) warnings.push(warning('none', `There is no complete backup. ${advice}`))
  else if (now - Date.parse(newestAt) > maxAgeMs) {
    warnings.push(warning('too-old', `The newest backup is from ${newestAt}. ${advice}`))
  }
  const died = unfinished.filter(([, run]) => run !== undefined && run.startedAt > 0 && !isRunAlive(run, now))
  const last = [...failed, ...died]
    .map(([{ id }]) => id)
    .sort()
    .at(-1)
  if (last !== undefined && last > (newest?.id ?? '')) {
    const { reason } = failed.find(([{ id }]) => id === last)?.[1] ?? { reason: 'its process ended' }
    warnings.push(warning('failed', `The backup of ${new Date(startOf(last)).toISOString()} failed: ${reason}`))
  }
  return warnings
}
