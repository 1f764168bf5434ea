import { exactInteger } from '../contract.ts'
import type { Parameter } from './bound-parameters.ts'
import { assertStorable } from './column-limits.ts'
import { type Column, columnOf, type Table } from './row-table.ts'

/** A value that the database computes. */
export class SqlValue<T> {
  declare readonly '~value': T
  readonly textFor: (column: string) => string
  readonly parameters: readonly Parameter[]

  constructor(textFor: (column: string) => string, parameters: readonly Parameter[]) {
    this.textFor = textFor
    this.parameters = parameters
  }
}

/** Returns a value for `updateRows` that adds to the stored number. */
export const incrementBy = (by: number): SqlValue<number> => new SqlValue((column) => `${column} + ?`, [by])

/** Returns an SQL expression as a value, for example the time of the database. */
export const sqlValue = <T>(term: { readonly sql: string; readonly parameters: readonly Parameter[] }): SqlValue<T> =>
  new SqlValue(() => term.sql, term.parameters)

/** A row whose values may be SQL expressions. */
export type WithSqlValues<Row> = {
  readonly [Property in keyof Row]: Row[Property] | SqlValue<NonNullable<Row[Property]>>
}

/** Returns the SQL text of a value, and adds its parameters to `parameters`. */
export function expressionOf(parameters: Parameter[], column: Column, value: unknown): string {
  if (!(value instanceof SqlValue)) {
    parameters.push(parameterOf(column, value))
    return '?'
  }
  parameters.push(...value.parameters)
  return value.textFor(column.name)
}

/**
 * Returns columns and the SQL texts of their values.
 *
 * @throws TypeError for `undefined`, or for a property that the entity does not have
 */
export function assignments(table: Table, values: object, parameters: Parameter[]): [column: string, text: string][] {
  return Object.entries(values).map(([property, value]) => {
    if (value === undefined) throw new TypeError(`${table.name}: the value of ${property} is undefined.`)
    const column = columnOf(table, property)
    assertColumnStores(table, column, value)
    return [column.name, expressionOf(parameters, column, value)]
  })
}

/** @throws TypeError if a required column has no value */
export function parameterOf({ name, kind, isNullable, default: usual }: Column, value: unknown): Parameter {
  if (value === undefined) {
    if (usual !== undefined) return usual as Parameter
    if (!isNullable) throw new TypeError(`${name} has no value.`)
    return null
  }
  return kind === 'json' && value !== null ? JSON.stringify(value) : (value as Parameter)
}

/** @throws PlinthError `PLINTH_DATABASE_VALUE` if the column cannot store the value */
export const assertColumnStores = (table: Table, column: Column, value: unknown): void =>
  assertStorable(() => `${table.name}.${column.name}`, column, value)

/** @throws PlinthError `PLINTH_DATABASE_VALUE` if a column cannot store its value */
export function appendRow(parameters: Parameter[], table: Table, row: Readonly<Record<string, unknown>>): void {
  for (const column of table.columns) {
    const value = row[column.property]
    assertColumnStores(table, column, value)
    parameters.push(parameterOf(column, value))
  }
}

/**
 * Converts a value of the driver.
 *
 * @throws TypeError for a column that was not selected, or for null in a required column
 * @throws RangeError for an integer outside 2^53 - 1
 */
export function fromDriverValue({ name, kind, isNullable }: Column, value: unknown): unknown {
  if (value === null && isNullable) return null
  if (value == null) throw new TypeError(`${name} is ${value === null ? 'null' : 'not selected'}.`)
  switch (kind) {
    case 'id':
    case 'integer':
      return exactInteger(value)
    case 'boolean':
      return Number(value) === 1
    case 'timestamp':
      return timeOf(value)
    case 'json':
      // Some drivers return JSON as text.
      return typeof value === 'string' ? JSON.parse(value) : value
    default:
      return value
  }
}

/**
 * Converts a time of the driver. SQLite returns milliseconds, other drivers return text. MySQL and MariaDB omit the
 * time zone, which is UTC.
 */
function timeOf(value: unknown): Date {
  if (typeof value !== 'string') return new Date(Number(value))
  return new Date(/[zZ]$|[+-]\d\d(?::?\d\d)?$/.test(value) ? value : `${value}Z`)
}
