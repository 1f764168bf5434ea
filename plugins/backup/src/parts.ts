/**
 * Entry point for tests. It is no contract: it changes without notice.
 *
 * @module
 */

export { type BackupContext, type CreateOptions, createBackup, removeDeadRuns } from './create.ts'
export { type RestoreOptions, restoreBackup, verifyBackup } from './restore.ts'
export { listBackups, type Place } from './vault.ts'
