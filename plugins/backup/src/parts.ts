/**
 * Entry point for tests. It is no contract: it changes without notice.
 *
 * @module
 */

export { backupSettings } from './commands.ts'
export { type BackupContext, type CreateOptions, createBackup, removeDeadRuns } from './create.ts'
export { type RestoreOptions, restoreBackup, verifyBackup } from './restore.ts'
export { expiredBackups } from './retention.ts'
export { backupSchedule } from './tasks.ts'
export { listBackups, type Place } from './vault.ts'
