/**
 * Entry point for `@plinth/dev`, which prepares databases for tests. It is no contract: it changes without notice.
 *
 * @module
 */

export type { ConnectionSettings, ServerSettings } from './connections/connection-failure.ts'
export { ConnectionLease } from './connections/leasing-driver.ts'
export { changeSetsOf } from './migrations/index.ts'
export { cancelMove, type MoveOptions, moveDatabase } from './move/move.ts'
export { openOrm } from './open-orm.ts'
export { IdSource, type IdSourceTables } from './rows/id-source.ts'
export { followedClock } from './time/database-clock.ts'
