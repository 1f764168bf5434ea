import { type Database, exactInteger } from '../contract.ts'
import type { Parameter } from './bound-parameters.ts'
import { type Column, columnOf, type Entity, type RowOf, type Table, tableOf } from './row-table.ts'
import { fromDriverValue } from './row-values.ts'

/**
 * Returns true if a capped count must sort the rows. Without an order, PostgreSQL may scan the whole table. With an
 * order, MariaDB may sort all matching rows.
 */
export const mustSortCappedCount = (dialect: string) => dialect === 'postgresql'

/** Default limit of counts. Users do not need larger exact numbers. */
export const maxCounted = 10_000

export interface CountedRowsQuery {
  /** Name of the table in snake_case. */
  readonly table: string
  /** SQL condition with a `?` for each parameter. */
  readonly where: string
  readonly parameters: readonly Parameter[]
  /** Columns of the index that supports the condition, in the order of the index. */
  readonly orderBy: string
}

export interface RowCount {
  /** Counted number of rows, at most the limit of the count. */
  readonly total: number
  /** True if there are more rows than `total`. */
  readonly isCapped: boolean
}

/**
 * Counts rows up to `most`, so that the cost does not grow with the table.
 *
 * @param most at least 1
 * @throws the errors of `Database.query`
 */
export async function countRows(db: Database, rows: CountedRowsQuery, most = maxCounted): Promise<RowCount> {
  const { table, where, parameters, orderBy } = rows
  const order = mustSortCappedCount(db.dialect) ? ` order by ${orderBy}` : ''
  const [row] = await db.query<{ total: unknown }>(
    `select count(*) as total from (select 1 as one from ${table} where ${where}${order} limit ?) as counted`,
    [...parameters, most + 1],
  )
  const total = exactInteger(row?.total)
  return { total: Math.min(total, most), isCapped: total > most }
}

export type Selected<S> = S extends Selection<infer Row> ? Row : never

/** A row as MikroORM types it. Nullable columns may be undefined. */
type MaybeAbsent<Row> = {
  readonly [Property in keyof Row as null extends Row[Property] ? never : Property]: Row[Property]
} & { readonly [Property in keyof Row as null extends Row[Property] ? Property : never]?: Row[Property] | undefined }

/**
 * Selects columns of an entity and converts the rows.
 *
 * @example
 * const orders = selectionOf(PaymentOrderRow).omit('fingerprint')
 * type PaymentOrder = Selected<typeof orders>
 * const paid = await orders.select(db, `where status = 'success' order by id limit ?`, [limit])
 */
export class Selection<Row extends object> {
  readonly #table: Table
  readonly columns: readonly Column[]
  /** Column list for `select`, such as `id, out_trade_no, ...`. */
  readonly list: string
  readonly #statement: string

  constructor(table: Table, columns: readonly Column[]) {
    this.#table = table
    this.columns = columns
    this.list = columns.map(({ name }) => name).join(', ')
    this.#statement = `select ${this.list} from ${table.name} `
  }

  /**
   * Returns a selection of these columns, in this order.
   *
   * @throws TypeError for a property that the entity does not have
   */
  pick<Property extends keyof Row & string>(...properties: readonly Property[]): Selection<Pick<Row, Property>> {
    return new Selection(
      this.#table,
      properties.map((property) => columnOf(this.#table, property)),
    )
  }

  /** Returns a selection without these columns. */
  omit<Property extends keyof Row & string>(...properties: readonly Property[]): Selection<Omit<Row, Property>> {
    const omitted: ReadonlySet<string> = new Set(properties)
    return new Selection(
      this.#table,
      this.columns.filter(({ property }) => !omitted.has(property)),
    )
  }

  /** Returns the column list with a table alias, such as `o.id, o.out_trade_no, ...`. */
  listOf(alias: string): string {
    return this.columns.map(({ name }) => `${alias}.${name}`).join(', ')
  }

  /**
   * Converts a row of a statement that selected these columns.
   *
   * @throws TypeError for a missing column, or for null in a required column
   * @throws RangeError for an integer outside 2^53 - 1
   */
  read(row: object): Row {
    const values = row as Readonly<Record<string, unknown>>
    const read: Record<string, unknown> = {}
    for (const column of this.columns) read[column.property] = fromDriverValue(column, values[column.name])
    return read as Row
  }

  /** Returns the selected columns of a row that MikroORM has read. */
  of(entity: MaybeAbsent<Row>): Row {
    const values = entity as Readonly<Record<string, unknown>>
    const row: Record<string, unknown> = {}
    for (const { property } of this.columns) row[property] = values[property] ?? null
    return row as Row
  }

  /**
   * Reads rows without an identity map, which is much faster for many rows.
   *
   * @param rest text after `select ... from table`
   * @throws the errors of `Database.query` and `read`
   */
  async select(db: Pick<Database, 'query'>, rest: string, parameters: readonly Parameter[] = []): Promise<Row[]> {
    const rows = await db.query<object>(this.#statement + rest, parameters)
    return rows.map((row) => this.read(row))
  }
}

/**
 * Returns a selection of all stored columns of an entity.
 *
 * @throws TypeError for a property that `column` did not create
 */
export function selectionOf<E extends Entity>(entity: E): Selection<RowOf<E>> {
  const table = tableOf(entity)
  return new Selection(table, table.columns)
}
