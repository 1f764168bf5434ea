import { type Database, exactInteger } from '../contract.ts'
import type { Parameter } from './bound-parameters.ts'
import { type Column, columnOf, type Entity, type RowOf, type Table, tableOf } from './row-table.ts'
import { valueFrom } from './row-values.ts'

/**
 * Whether rows that are counted up to a cap are asked for in the order of their index. Without one PostgreSQL may read the
 * table itself until it has met as many; with one MariaDB may sort all that another index finds.
 */
export const countsInOrder = (dialect: string) => dialect === 'postgresql'

/** Rows that are counted where nothing else is said: of more the exact number tells nobody anything. */
export const mostCounted = 10_000

/** Rows of a table. */
export interface WantedRows {
  /** In snake_case. */
  readonly table: string
  /** Condition with `?` for its parameters. */
  readonly where: string
  readonly parameters: readonly Parameter[]
  /** Columns, in the order of an index that answers the condition. */
  readonly orderBy: string
}

export interface RowCount {
  /** At most as many as were to be counted. */
  readonly total: number
  /** True when there are more. */
  readonly isCapped: boolean
}

/**
 * Counts rows, but no further than `most`: what it costs does not grow with the table.
 *
 * @param most 1 or more; 10,000 when absent
 * @throws what `Database.query` throws
 */
export async function countRows(db: Database, rows: WantedRows, most = mostCounted): Promise<RowCount> {
  const { table, where, parameters, orderBy } = rows
  const order = countsInOrder(db.dialect) ? ` order by ${orderBy}` : ''
  const [row] = await db.query<{ total: unknown }>(
    `select count(*) as total from (select 1 as one from ${table} where ${where}${order} limit ?) as counted`,
    [...parameters, most + 1],
  )
  const total = exactInteger(row?.total)
  return { total: Math.min(total, most), isCapped: total > most }
}

/** The row that a selection reads. */
export type Selected<S> = S extends Selection<infer Row> ? Row : never

/** As an entity manager types a row: columns that may be null may be absent. */
type MaybeAbsent<Row> = {
  readonly [Property in keyof Row as null extends Row[Property] ? never : Property]: Row[Property]
} & { readonly [Property in keyof Row as null extends Row[Property] ? Property : never]?: Row[Property] | undefined }

/**
 * Columns of an entity in a statement, and the rows that they become.
 *
 * @example
 * const orders = selectionOf(PaymentOrderRow).omit('fingerprint')
 * type PaymentOrder = Selected<typeof orders>
 * const paid = await orders.select(db, `where status = 'success' order by id limit ?`, [limit])
 */
export class Selection<Row extends object> {
  readonly #table: Table
  readonly columns: readonly Column[]
  /** The list for `select`: `id, out_trade_no, ...`. */
  readonly list: string
  readonly #statement: string

  constructor(table: Table, columns: readonly Column[]) {
    this.#table = table
    this.columns = columns
    this.list = columns.map(({ name }) => name).join(', ')
    this.#statement = `select ${this.list} from ${table.name} `
  }

  /** The same with some of the columns, in this order. @throws TypeError for a property that the entity does not have */
  pick<Property extends keyof Row & string>(...properties: readonly Property[]): Selection<Pick<Row, Property>> {
    return new Selection(
      this.#table,
      properties.map((property) => columnOf(this.#table, property)),
    )
  }

  /** The same without some of the columns. */
  omit<Property extends keyof Row & string>(...properties: readonly Property[]): Selection<Omit<Row, Property>> {
    const omitted: ReadonlySet<string> = new Set(properties)
    return new Selection(
      this.#table,
      this.columns.filter(({ property }) => !omitted.has(property)),
    )
  }

  /** The list for `select` of a statement that gives the table another name: `o.id, o.out_trade_no, ...`. */
  listOf(alias: string): string {
    return this.columns.map(({ name }) => `${alias}.${name}`).join(', ')
  }

  /**
   * @param row of a statement that selected these columns, as the driver returned it
   * @throws TypeError for a column that is missing, or null although it must not be; RangeError for an integer outside 2^53 - 1
   */
  read(row: object): Row {
    const values = row as Readonly<Record<string, unknown>>
    const read: Record<string, unknown> = {}
    for (const column of this.columns) read[column.property] = valueFrom(column, values[column.name])
    return read as Row
  }

  /** The same columns of a row that an entity manager read. */
  of(entity: MaybeAbsent<Row>): Row {
    const values = entity as Readonly<Record<string, unknown>>
    const row: Record<string, unknown> = {}
    for (const { property } of this.columns) row[property] = values[property] ?? null
    return row as Row
  }

  /**
   * Reads rows without an identity map: of many rows that is most of the work.
   *
   * @param rest of the statement after `select ... from table`
   * @throws as `Database.query` and `read` do
   */
  async select(db: Pick<Database, 'query'>, rest: string, parameters: readonly Parameter[] = []): Promise<Row[]> {
    const rows = await db.query<object>(this.#statement + rest, parameters)
    return rows.map((row) => this.read(row))
  }
}

/** All stored columns of an entity. @throws TypeError for an entity with a property that `column` did not make */
export function selectionOf<E extends Entity>(entity: E): Selection<RowOf<E>> {
  const table = tableOf(entity)
  return new Selection(table, table.columns)
}
