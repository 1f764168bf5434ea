import { AlterTableNode, type Compilable, type CompiledQuery, type SchemaModule } from 'kysely'
import { compilerFor, type Dialect } from './dialect.ts'

/** The statements that undo a change set, or the reason why there are none. */
export type WayBack = { readonly statements: readonly string[] } | { readonly obstacle: string }

const tableStatement = /^\s*(?:create|alter|drop)\s+table\s+(?:if\s+(?:not\s+)?exists\s+)?["`]?(\w+)/i
const indexStatement = /^\s*(?:create|drop)\s+(?:unique\s+)?index\s+["`]?(\w+)["`]?\s+on\s+["`]?(\w+)/i
const createsTable = /^\s*create\s+table\s+(?!if\b)/i

/** Returns the table that a statement creates or changes. Undefined if the statement does not contain its name. */
export const changedTable = (sql: string): string | undefined =>
  tableStatement.exec(sql)?.[1] ?? indexStatement.exec(sql)?.[2]

/** Returns the table that a statement drops. */
export const droppedTable = (sql: string): string | undefined =>
  /^\s*drop\s/i.test(sql) ? tableStatement.exec(sql)?.[1] : undefined

/**
 * Returns the statements that undo a change set, in the order in which they run. Tables and indexes are dropped, columns
 * are dropped or get their former name. Everything else has no way back, because it would need the former state.
 */
export function wayBackOf(queries: readonly CompiledQuery[], dialect: Dialect): WayBack {
  const { schema } = compilerFor(dialect)
  if (queries.length === 0) return { obstacle: 'it only changes rows' }
  const created = new Set<string>()
  const statements: string[] = []
  for (const query of queries) {
    const table = changedTable(query.sql)
    // Dropping the table also drops everything that the change set adds to it.
    if (table !== undefined && created.has(table)) continue
    const inverse = inverseOf(query, schema)
    if (inverse === undefined) return { obstacle: `no statement undoes "${query.sql.trim().slice(0, 60)}"` }
    if (table !== undefined && createsTable.test(query.sql)) created.add(table)
    statements.unshift(...inverse.map((statement) => statement.compile().sql))
  }
  return { statements }
}

function inverseOf({ query, sql }: CompiledQuery, schema: SchemaModule): readonly Compilable[] | undefined {
  const table = changedTable(sql)
  if (table === undefined) return undefined
  if (createsTable.test(sql)) return [schema.dropTable(table).ifExists()]
  const index = /^\s*create\b/i.test(sql) ? indexStatement.exec(sql)?.[1] : undefined
  if (index !== undefined) return [schema.dropIndex(index).on(table)]
  if (!AlterTableNode.is(query)) return undefined
  const { kind: _, table: __, columnAlterations = [], ...others } = query
  if (Object.keys(others).length > 0) return undefined
  const inverses = columnAlterations.map((alteration) => {
    if (alteration.kind === 'AddColumnNode') {
      return schema.alterTable(table).dropColumn(alteration.column.column.column.name)
    }
    if (alteration.kind !== 'RenameColumnNode') return undefined
    return schema.alterTable(table).renameColumn(alteration.renameTo.column.name, alteration.column.column.name)
  })
  return inverses.every((inverse) => inverse !== undefined) ? inverses.toReversed() : undefined
}
