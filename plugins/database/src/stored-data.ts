/**
 * Entry point for programs that copy all data of a product, as `plinth database move` does: the list of tables, their
 * rows in a form that is the same for all databases, and hashes of the rows. A backup can use it too.
 *
 * @module
 */

export type { ConnectionSettings, ServerSettings, SqliteSettings } from './connections/connection-failure.ts'
export { type MoveContext, moveContext } from './move/move-command.ts'
export { withDatabase } from './move/open-database.ts'
export {
  digestOf,
  insertStoredRows,
  keyOf,
  keyText,
  readRows,
  rowHash,
  type StoredRow,
  type TableDigest,
} from './move/stored-rows.ts'
export {
  findStoredTables,
  type StoredDatabase,
  type StoredTable,
  type StoredTables,
  type TableProblem,
  tableNamesOf,
} from './move/stored-tables.ts'
export { type KnownColumn, type StoredValue, ValueError, type ValueProblem } from './move/stored-values.ts'
