import { hash } from 'node:crypto'
import { CompiledQuery } from 'kysely'
import type { StoredDatabase, StoredTable } from './stored-tables.ts'
import {
  assertStorable,
  bindValue,
  canonicalText,
  familyOf,
  type KnownColumn,
  quoted,
  readValue,
  type StoredValue,
  selectOf,
  ValueError,
  type ValueProblem,
} from './stored-values.ts'

/** Values of one row, in the order of the columns of its table. */
export type StoredRow = readonly StoredValue[]

/** Called for a value that cannot be read. Without it, reading fails. */
type OnProblem = (row: StoredRow, column: KnownColumn, problem: ValueProblem) => void

interface ReadOptions {
  /** Values of the primary key after which reading starts. Default: the first row. */
  readonly after?: StoredRow | undefined
  readonly signal: AbortSignal
  readonly onProblem?: OnProblem
}

/** Rows of one page. Large rows come in smaller pages, so that the memory of a page is limited. */
const pageRows = { small: 1_000, large: 100 } as const
const largeKinds: ReadonlySet<string> = new Set(['longText', 'json', 'binary'])

const placeholder = ({ dialect }: StoredDatabase, position: number, isText = false) => {
  if (dialect === 'postgresql') return `$${position}`
  // The position may be bytes that are not valid UTF-8.
  return dialect === 'sqlite' && isText ? 'cast(? as text)' : '?'
}

/**
 * Yields all rows in pages, in the order of the primary key. The order is that of the database: two databases may sort
 * texts in different orders.
 *
 * @throws ValueError if a value cannot be read and there is no `onProblem`
 */
export async function* readRows(
  database: StoredDatabase,
  table: StoredTable,
  { after, signal, onProblem }: ReadOptions,
): AsyncGenerator<readonly StoredRow[]> {
  const { dialect } = database
  const size = table.columns.some(({ kind }) => largeKinds.has(kind)) ? pageRows.large : pageRows.small
  const keyPlaces = table.primaryKey.map((key) => table.columns.indexOf(key))
  const statements = [pageQuery(database, table, size, false), pageQuery(database, table, size, true)] as const
  let position = after
  for (;;) {
    signal.throwIfAborted()
    const from =
      position?.map((value, place) => bindValue(value, table.primaryKey[place] as KnownColumn, dialect)) ?? []
    const sql = statements[position === undefined ? 0 : 1]
    // MySQL needs the values of a composite key several times.
    const values = familyOf(dialect) === 'mysql' ? from.flatMap((_, length) => from.slice(0, length + 1)) : from
    const { rows } = await database.db.executeQuery<RawRow>(CompiledQuery.raw(sql, values))
    if (rows.length === 0) return
    const page = rows.map((row) => rowOf(row, table, onProblem))
    yield page
    if (rows.length < size) return
    const last = page.at(-1) as StoredRow
    position = keyPlaces.map((place) => last[place] as StoredValue)
  }
}

type RawRow = Readonly<Record<string, unknown>>

function pageQuery(
  database: StoredDatabase,
  { table, columns, primaryKey }: StoredTable,
  size: number,
  isLater: boolean,
) {
  const { dialect } = database
  const fields = columns.map((column, place) => `${selectOf(column, dialect)} as c${place}`)
  const classes = columns.map(({ name }) => `typeof(${quoted(name, dialect)})`).join(` || ' ' || `)
  if (dialect === 'sqlite') fields.push(`${classes} as classes`)
  const keys = primaryKey.map(({ name }) => quoted(name, dialect))
  const where = isLater ? ` where ${laterThan(database, primaryKey, keys)}` : ''
  return `select ${fields.join(', ')} from ${quoted(table, dialect)}${where} order by ${keys.join(', ')} limit ${size}`
}

/** Condition for the rows after a position. MySQL and MariaDB use an index only for the form with `or`. */
function laterThan(database: StoredDatabase, primaryKey: readonly KnownColumn[], keys: readonly string[]): string {
  const isText = (place: number) => ['text', 'longText', 'uint256'].includes(primaryKey[place]?.kind ?? '')
  if (familyOf(database.dialect) !== 'mysql') {
    const values = keys.map((_, place) => placeholder(database, place + 1, isText(place)))
    return `(${keys.join(', ')}) > (${values.join(', ')})`
  }
  return keys
    .map((key, place) => [...keys.slice(0, place).map((equal) => `${equal} = ?`), `${key} > ?`].join(' and '))
    .map((condition) => `(${condition})`)
    .join(' or ')
}

function rowOf(raw: RawRow, { columns }: StoredTable, onProblem: OnProblem | undefined): StoredRow {
  const classes = typeof raw['classes'] === 'string' ? raw['classes'].split(' ') : []
  const problems: (readonly [KnownColumn, ValueProblem])[] = []
  const row = columns.map((column, place): StoredValue => {
    const value = raw[`c${place}`]
    try {
      return readValue(value, classes[place], column)
    } catch (error) {
      if (!(error instanceof ValueError) || onProblem === undefined) throw error
      problems.push([column, error.problem])
      return Buffer.isBuffer(value) ? value : String(value)
    }
  })
  for (const [column, problem] of problems) onProblem?.(row, column, problem)
  return row
}

/** Reports all values that the target cannot store. */
export function checkStorable(
  row: StoredRow,
  { columns }: StoredTable,
  target: StoredDatabase['dialect'],
  onProblem: OnProblem,
): void {
  for (const [place, column] of columns.entries()) {
    try {
      assertStorable(row[place] ?? null, column, target)
    } catch (error) {
      if (!(error instanceof ValueError)) throw error
      onProblem(row, column, error.problem)
    }
  }
}

/** Returns the values of the primary key of a row. */
export const keyOf = (row: StoredRow, { columns, primaryKey }: StoredTable): StoredRow =>
  primaryKey.map((key) => row[columns.indexOf(key)] ?? null)

/** Returns a key as text for operators: `id=5` or `name="a", version=2`. */
export const keyText = (key: StoredRow, { primaryKey }: StoredTable): string =>
  primaryKey
    .map(
      ({ name, kind }, place) => `${name}=${kind === 'text' ? JSON.stringify(String(key[place])) : String(key[place])}`,
    )
    .join(', ')

/**
 * Returns the SHA-256 of a row. It is computed from the canonical text of each value, so it does not depend on the
 * database, its driver or its settings.
 */
export const rowHash = (row: StoredRow, { columns }: StoredTable): bigint =>
  hashNumber(JSON.stringify(columns.map((column, place) => canonicalText(row[place] ?? null, column))))

const hashNumber = (text: string) => BigInt(`0x${hash('sha256', text, 'hex')}`)

/** Hashes of a table. Sums are modulo 2^256, so that they do not depend on the order of the rows. */
export interface TableDigest {
  readonly rows: number
  /** Sum of the hashes of all rows. */
  readonly sum: bigint
  /** Sums of the rows of each part. The key of a row selects its part; see `partOf`. */
  readonly parts: readonly bigint[]
}

const modulus = 2n ** 256n

/** Returns the part of a table to which a row belongs. */
export const partOf = (row: StoredRow, table: StoredTable, parts: number): number =>
  Number(rowHash(keyOf(row, table), { ...table, columns: table.primaryKey }) % BigInt(parts))

/** Reads a table and returns its hashes. */
export async function digestOf(
  database: StoredDatabase,
  table: StoredTable,
  { parts, signal, onRows }: { readonly parts: number; readonly signal: AbortSignal; onRows(count: number): void },
): Promise<TableDigest> {
  const sums = new Array<bigint>(parts).fill(0n)
  let rows = 0
  for await (const page of readRows(database, table, { signal })) {
    for (const row of page) {
      const part = parts === 1 ? 0 : partOf(row, table, parts)
      sums[part] = ((sums[part] ?? 0n) + rowHash(row, table)) % modulus
    }
    rows += page.length
    onRows(page.length)
  }
  return { rows, sum: sums.reduce((total, sum) => (total + sum) % modulus, 0n), parts: sums }
}

/** Maximum number of parameters of one insert; SQLite allows 32,766. */
const maxParameters = 30_000
/** Maximum characters and bytes of one insert; MariaDB rejects statements above its `max_allowed_packet`. */
const maxInsertBytes = 2 * 1024 * 1024

/** Returns the approximate size of a row in an insert. The text of a statement may be twice as long as its values. */
export const rowBytes = (row: StoredRow): number =>
  row.reduce((total, value) => total + (value === null ? 4 : 2 * Buffer.byteLength(value) + 2), 0)

/** Inserts rows with as few statements as possible. Call it in a transaction. */
export async function insertStoredRows(
  database: StoredDatabase,
  table: StoredTable,
  rows: readonly StoredRow[],
): Promise<void> {
  const { dialect } = database
  const { columns } = table
  const names = columns.map(({ name }) => quoted(name, dialect)).join(', ')
  const most = Math.max(1, Math.floor(maxParameters / columns.length))
  for (let from = 0; from < rows.length; ) {
    let bytes = 0
    let until = from
    while (until < rows.length && until - from < most && (until === from || bytes < maxInsertBytes)) {
      bytes += rowBytes(rows[until++] ?? [])
    }
    const batch = rows.slice(from, until)
    const tuples = batch.map(
      (_, row) =>
        `(${columns.map((_column, place) => placeholder(database, row * columns.length + place + 1)).join(', ')})`,
    )
    const sql = `insert into ${quoted(table.table, dialect)} (${names}) values ${tuples.join(', ')}`
    const values = batch.flatMap((row) =>
      columns.map((column, place) => bindValue(row[place] ?? null, column, dialect)),
    )
    await database.db.executeQuery(CompiledQuery.raw(sql, values))
    from = until
  }
}
