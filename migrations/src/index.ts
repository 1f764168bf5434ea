export type { StepProgress } from './apply.ts'
export type { ColumnKind, ColumnType, ColumnTypes } from './change-set.ts'
export {
  type ChangeSet,
  type ChangeSetDefinition,
  columnTypes,
  type DataContext,
  defineChangeSet,
  isChangeSet,
  type SchemaContext,
  type Statement,
} from './change-set.ts'
export type { TableSize } from './changelog.ts'
export { type AppliedChangeSet, changelogTableNames, changelogTables, isMissingTable } from './changelog.ts'
export { type CompiledChangeSet, compileChangeSets, type PluginChangeSets } from './compile.ts'
export { compilerFor, type Dialect, databaseNow, dialects } from './dialect.ts'
export type { LockHolder, LockOptions } from './lock.ts'
export {
  type Development,
  type MigrateOptions,
  type MigrationProgress,
  type MigrationResult,
  type MigrationStatus,
  Migrator,
  type MigratorOptions,
  type PendingChangeSet,
  type PluginTables,
  type WayBackPlan,
} from './migrator.ts'
export { type ColumnShape, type TableShape, tableShapes } from './table-shapes.ts'
