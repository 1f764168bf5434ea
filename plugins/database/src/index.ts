export { transportSecurityKey } from './config.ts'
export type { ProbeTarget, TransportSecurity } from './connections/connection-failure.ts'
export * from './contract.ts'
export type { DatabaseErrorCode } from './errors.ts'
export { default } from './plugin.ts'
export { findMissingTablePermission, type MissingTablePermission, type TablePermission } from './probe-target.ts'
export { rehearse } from './rehearsal.ts'
export type { Parameter } from './rows/bound-parameters.ts'
export { type ColumnKind, column, createEditColumns } from './rows/columns.ts'
export type { TimeRange } from './rows/find-page.ts'
export {
  containsFoldedText,
  type FoundPage,
  findPage,
  foldText,
  type PageOptions,
  type PageWindow,
  type TextSearch,
} from './rows/find-page.ts'
export { firstIdAt, newIdAfter } from './rows/id-source.ts'
export {
  type Changes,
  insertMissingRows,
  insertOrAddToRows,
  insertOrReplaceRows,
  insertRow,
  insertRows,
  insertRowsIfAbsent,
  updateRows,
  versionConflictData,
} from './rows/insert-rows.ts'
export type { KeyValue, SortProperty } from './rows/keyset.ts'
export {
  erasedName,
  type PersonalCondition,
  type PersonalOwner,
  personalTable,
  type RowOwner,
  removeRows,
  rowsOfUser,
  rowsThroughSql,
} from './rows/personal-table.ts'
export { type ExpiredRows, type PurgeOptions, purgeOldRows, type RemovedRows } from './rows/purge.ts'
export type { RowCondition } from './rows/row-conditions.ts'
export {
  type Column,
  type Entity,
  type NewRow,
  type RowChanges,
  type RowOf,
  type Table,
  tableOf,
} from './rows/row-table.ts'
export { incrementBy, SqlValue, sqlValue } from './rows/row-values.ts'
export {
  type CountedRowsQuery,
  countRows,
  maxCounted,
  type RowCount,
  type Selected,
  Selection,
  selectionOf,
} from './rows/selection.ts'
export {
  hasHourlySteps,
  type Step,
  type StepSums,
  type SumsOverTime,
  stepsOf,
  sumsByStep,
  sumsOverTime,
  type TimedSums,
  type TimeSpan,
} from './rows/sums-over-time.ts'
export { type ClockProblem, type DatabaseClock, expiryClock } from './time/database-clock.ts'
