import type { Database } from '@plinth/database'
import { iamError } from '../declarations.ts'

/**
 * Checks that the database is migrated, because commands do not migrate it.
 *
 * @throws PlinthError `PLINTH_IAM_MIGRATION_PENDING`
 */
export async function assertMigrated(db: Database): Promise<void> {
  const { pending } = await db.migrationStatus()
  if (pending.length > 0) throw iamError('PLINTH_IAM_MIGRATION_PENDING', { count: pending.length })
}
