import {
  AlterTableNode,
  ColumnDefinitionNode,
  type ColumnNode,
  CreateTableNode,
  DropTableNode,
  ForeignKeyConstraintNode,
  type OperationNode,
  PrimaryKeyConstraintNode,
  RawNode,
  type TableNode,
} from 'kysely'
import { type ColumnKind, columnMarkers, kindOfMarker } from './change-set.ts'
import { type CompiledChangeSet, compileChangeSets, type PluginChangeSets, queriesOf } from './compile.ts'
import { compilerFor, type Dialect } from './dialect.ts'

/** A column, as the change sets of a plugin declare it. */
export interface ColumnShape {
  readonly name: string
  /** Undefined if the change set declares the type with SQL of its own. */
  readonly kind: ColumnKind | undefined
  /** Maximum number of code points of the kind `text`. */
  readonly length?: number
  /** True if the database computes the value. */
  readonly isGenerated: boolean
}

/** A table, as the change sets of a plugin declare it. */
export interface TableShape {
  readonly plugin: string
  readonly table: string
  readonly columns: readonly ColumnShape[]
  /** Columns of the primary key in their order. */
  readonly primaryKey: readonly string[]
  /** Tables to which foreign keys of this table refer. */
  readonly parents: readonly string[]
}

interface GrowingTable {
  plugin: string
  columns: Map<string, ColumnShape>
  primaryKey: string[]
  parents: Set<string>
}
type GrowingTables = Map<string, GrowingTable>

/**
 * Returns the tables that exist after all change sets. It runs the pure `up` functions with column types that only mark
 * the kind, so no second list of columns is needed. Tables and columns of raw SQL are missing: compare the result with
 * the catalogue of the database.
 *
 * @throws PlinthError like `compileChangeSets`
 */
export function tableShapes(plugins: readonly PluginChangeSets[], dialect: Dialect): readonly TableShape[] {
  const tables: GrowingTables = new Map()
  for (const changeSet of compileChangeSets(plugins, dialect)) {
    for (const node of statementsOf(changeSet, dialect)) apply(tables, changeSet.plugin, node)
  }
  return [...tables].map(([table, { plugin, columns, primaryKey, parents }]) => ({
    plugin,
    table,
    columns: [...columns.values()],
    primaryKey,
    parents: [...parents],
  }))
}

const statementsOf = ({ plugin, definition }: CompiledChangeSet, dialect: Dialect): readonly OperationNode[] =>
  queriesOf(compilerFor(dialect), plugin, definition, dialect, columnMarkers).map(({ query }) => query as OperationNode)

const tableName = ({ table }: TableNode) => table.identifier.name
const columnName = ({ column }: ColumnNode) => column.name

function apply(tables: GrowingTables, plugin: string, node: OperationNode): void {
  if (CreateTableNode.is(node)) {
    if (tables.has(tableName(node.table))) return
    const table: GrowingTable = { plugin, columns: new Map(), primaryKey: [], parents: new Set() }
    tables.set(tableName(node.table), table)
    for (const column of node.columns) addColumn(table, column)
    for (const constraint of node.constraints ?? []) addConstraint(table, constraint)
  } else if (DropTableNode.is(node)) {
    tables.delete(tableName(node.table))
  } else if (AlterTableNode.is(node)) {
    alter(tables, node)
  }
}

function alter(tables: GrowingTables, node: AlterTableNode): void {
  const name = tableName(node.table)
  const table = tables.get(name)
  if (table === undefined) return
  for (const change of node.columnAlterations ?? []) {
    if (change.kind === 'AddColumnNode' || change.kind === 'ModifyColumnNode') addColumn(table, change.column)
    else if (change.kind === 'DropColumnNode') table.columns.delete(columnName(change.column))
    else if (change.kind === 'RenameColumnNode') {
      renameColumn(table, columnName(change.column), columnName(change.renameTo))
    } else if (change.dataType !== undefined) {
      addColumn(table, ColumnDefinitionNode.create(columnName(change.column), change.dataType))
    }
  }
  if (node.addConstraint !== undefined) addConstraint(table, node.addConstraint.constraint)
  if (node.renameTo === undefined) return
  const renamed = tableName(node.renameTo)
  tables.delete(name)
  tables.set(renamed, table)
  for (const { parents } of tables.values()) if (parents.delete(name)) parents.add(renamed)
}

function addColumn(table: GrowingTable, column: ColumnDefinitionNode): void {
  const name = columnName(column.column)
  const { dataType } = column
  const type = RawNode.is(dataType as OperationNode)
    ? kindOfMarker((dataType as RawNode).sqlFragments.join(''))
    : undefined
  table.columns.set(name, { name, kind: undefined, ...type, isGenerated: column.generated !== undefined })
  if (column.primaryKey === true) table.primaryKey = [name]
  if (column.references !== undefined) table.parents.add(tableName(column.references.table))
}

function addConstraint(table: GrowingTable, constraint: OperationNode): void {
  if (PrimaryKeyConstraintNode.is(constraint)) table.primaryKey = constraint.columns.map(columnName)
  if (ForeignKeyConstraintNode.is(constraint)) table.parents.add(tableName(constraint.references.table))
}

function renameColumn(table: GrowingTable, from: string, to: string): void {
  const rename = (name: string) => (name === from ? to : name)
  table.columns = new Map(
    [...table.columns.values()].map((column) => [rename(column.name), { ...column, name: rename(column.name) }]),
  )
  table.primaryKey = table.primaryKey.map(rename)
}
