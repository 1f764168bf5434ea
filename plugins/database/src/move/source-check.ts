import { CompiledQuery } from 'kysely'
import { checkStorable, keyOf, keyText, readRows, rowBytes, type StoredRow } from './stored-rows.ts'
import type { StoredDatabase, StoredTable, TableProblem } from './stored-tables.ts'
import type { KnownColumn, ValueProblem } from './stored-values.ts'

/** A value that cannot be moved, or a problem of a whole table. */
export interface SourceProblem {
  readonly table: string
  readonly column?: string
  /** Primary key of the row. Absent for a problem of a table. */
  readonly key?: string
  readonly rule: TableProblem['rule'] | ValueProblem['rule'] | 'foreign-key' | 'encoding'
  readonly message: string
}

/** Limits of the target database for the values that are copied. */
export interface TargetLimits {
  readonly dialect: StoredDatabase['dialect']
  /** Maximum bytes of a statement; undefined without a limit. */
  readonly maxStatementBytes?: number | undefined
}

/** Bytes that a statement needs in addition to the values of one row. */
const statementOverhead = 64 * 1024

/** Reads all rows of a table and returns the problems of their values. */
export async function checkTable(
  source: StoredDatabase,
  table: StoredTable,
  { dialect, maxStatementBytes = Number.POSITIVE_INFINITY }: TargetLimits,
  { signal, onRows }: { readonly signal: AbortSignal; onRows(count: number): void },
): Promise<readonly SourceProblem[]> {
  const problems: SourceProblem[] = []
  const unreadable = new Set<StoredRow>()
  const report = (row: StoredRow, column: KnownColumn | undefined, { rule, message }: ValueProblem) => {
    const key = keyText(keyOf(row, table), table)
    problems.push({ table: table.table, ...(column === undefined ? {} : { column: column.name }), key, rule, message })
  }
  const onProblem = (row: StoredRow, column: KnownColumn, problem: ValueProblem) => {
    unreadable.add(row)
    report(row, column, problem)
  }
  for await (const page of readRows(source, table, { signal, onProblem })) {
    for (const row of page) {
      if (unreadable.has(row)) continue
      checkStorable(row, table, dialect, report)
      if (rowBytes(row) + statementOverhead > maxStatementBytes) {
        report(row, undefined, { rule: 'row-too-large', message: `is larger than max_allowed_packet of the target` })
      }
    }
    unreadable.clear()
    onRows(page.length)
  }
  return problems
}

/** Checks what SQLite does not enforce itself: foreign keys of rows from other programs, and the encoding. */
export async function checkSqlite({ db, dialect }: StoredDatabase): Promise<readonly SourceProblem[]> {
  if (dialect !== 'sqlite') return []
  const read = async <Row>(sql: string) => (await db.executeQuery<Row>(CompiledQuery.raw(sql))).rows
  const [encoding] = await read<{ encoding: string }>('pragma encoding')
  const orphans = await read<{ table: string; rowid: unknown; parent: string }>('pragma foreign_key_check')
  return [
    ...(encoding?.encoding === 'UTF-8'
      ? []
      : [
          {
            table: '',
            rule: 'encoding',
            message: `the encoding of the file is ${encoding?.encoding}, not UTF-8`,
          } as const,
        ]),
    ...orphans.map(({ table, rowid, parent }) => ({
      table,
      key: `rowid=${String(rowid)}`,
      rule: 'foreign-key' as const,
      message: `refers to a row of ${parent} that does not exist`,
    })),
  ]
}

/** Returns a problem as text for operators. */
export const problemText = ({ table, column, key, rule, message }: SourceProblem): string =>
  `${column === undefined ? table : `${table}.${column}`}${key === undefined ? '' : ` (${key})`}: ${message} [${rule}]`
