import { type Clock, errorReason } from '@plinth/kernel'
import { assertRecipient } from './create.ts'
import { listBackups, type Place } from './vault.ts'

interface AgeCheckOptions {
  readonly place: Place
  /** Empty if no backups are made. */
  readonly recipient: string
  readonly maxAgeMs: () => number
  readonly clock: Clock
}

/** Time in milliseconds for which a result is valid. */
const validMs = 10 * 60_000

/** Warns if the newest backup is too old. */
export class AgeCheck {
  readonly #options: AgeCheckOptions
  #checkedAt = Number.NEGATIVE_INFINITY
  /** Warnings of the last check. */
  warnings: readonly string[] = []

  constructor(options: AgeCheckOptions) {
    this.#options = options
  }

  /** Checks again if the last check is not recent. Never throws. */
  async refresh(): Promise<void> {
    const { clock, recipient } = this.#options
    if (recipient === '' || clock.monotonic() - this.#checkedAt < validMs) return
    this.#checkedAt = clock.monotonic()
    this.warnings = await this.#check().catch((error: unknown) => [
      `The backups cannot be checked: ${errorReason(error)}`,
    ])
  }

  async #check(): Promise<readonly string[]> {
    const { place, recipient, maxAgeMs, clock } = this.#options
    assertRecipient(recipient)
    const [newest] = (await listBackups(place)).complete
    if (newest !== undefined && clock.now() - Date.parse(newest.createdAt) <= maxAgeMs()) return []
    const text = newest === undefined ? 'There is no complete backup' : `The newest backup is from ${newest.createdAt}`
    return [`${text}. Run \`plinth backup create\`.`]
  }
}
