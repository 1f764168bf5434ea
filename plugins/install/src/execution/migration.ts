import type { Parts } from '../parts.ts'
import { publicReason } from '../public-reason.ts'
import { StepFailure } from './step-failure.ts'

type MigrationParts = Pick<Parts, 'database' | 'redact'>

/** Migrates the database that the product runs on; it never turns to another one (I-148). */
export class Migration {
  readonly #parts: MigrationParts

  constructor(parts: MigrationParts) {
    this.#parts = parts
  }

  async isPending(): Promise<boolean> {
    const { pending, tableExists } = await this.#parts.database.migrationStatus()
    return !tableExists || pending.length > 0
  }

  /** @throws StepFailure with secrets masked */
  async run(signal: AbortSignal): Promise<{ readonly pendingBefore: number; readonly applied: number }> {
    try {
      const { pendingBefore, applied } = await this.#parts.database.migrate({ signal })
      return { pendingBefore, applied: applied.length }
    } catch (error) {
      const reason = this.#parts.redact(publicReason(error))
      throw new StepFailure('failure.migration', { reason }, error)
    }
  }
}
