/**
 * Entry point for tests. It is no contract: it changes without notice.
 *
 * @module
 */

export { backupSettings } from './commands.ts'
export { type BackupContext, type CreateOptions, createBackup } from './create.ts'
export { backupId } from './format.ts'
export { type RestoreOptions, restoreBackup, verifyBackup } from './restore.ts'
export { expiredBackups } from './retention.ts'
export { backupSchedule } from './tasks.ts'
export { listBackups, type Place, Vault } from './vault.ts'
