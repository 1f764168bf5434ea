export { transportSecurityKey } from './config.ts'
export type { ProbeTarget, TransportSecurity } from './connections/connection-failure.ts'
export * from './contract.ts'
export type { DatabaseErrorCode } from './errors.ts'
export type { ChangeSetDraft } from './migrations/draft.ts'
export { default } from './plugin.ts'
export { findMissingRight, type MissingRight, type TableRight } from './probe-target.ts'
export type { Parameter } from './rows/bound-parameters.ts'
export { column, editColumns } from './rows/columns.ts'
export type { MomentRange } from './rows/find-page.ts'
export {
  type FoundPage,
  findPage,
  foldText,
  holdsText,
  type PageOptions,
  type PageWindow,
  type TextSearch,
} from './rows/find-page.ts'
export { firstIdAt } from './rows/id-source.ts'
export {
  addToRows,
  type Changes,
  conflictData,
  insertMissing,
  insertNew,
  insertRow,
  insertRows,
  putRows,
  updateRows,
} from './rows/insert-rows.ts'
export type { KeyValue, SortedBy } from './rows/keyset.ts'
export {
  erasedName,
  type PersonalCondition,
  type PersonalOwner,
  personalTable,
  type RowOwner,
  removeRows,
  rowsOfUser,
  rowsThrough,
} from './rows/personal-table.ts'
export { type OldRows, type PurgeOptions, purgeOldRows, type RemovedRows } from './rows/purge.ts'
export type { Entity, NewRow, RowChanges, RowOf } from './rows/row-table.ts'
export { plus, SqlValue, sqlValue } from './rows/row-values.ts'
export {
  countRows,
  maxCounted,
  type RowCount,
  type Selected,
  Selection,
  selectionOf,
  type WantedRows,
} from './rows/selection.ts'
export {
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
