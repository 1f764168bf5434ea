import type { Database } from '@plinth/database'
import { StepFailure } from './step-failure.ts'
import { toldReason } from './told-reason.ts'

export interface MigrationParts {
  readonly database: Database
  readonly redact: (text: string) => string
}

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
      const reason = this.#parts.redact(toldReason(error))
      throw new StepFailure('failure.migration', { reason }, error)
    }
  }
}
