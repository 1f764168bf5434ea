import type { Parameter } from './bound-parameters.ts'
import { type Column, columnOf, type Table } from './row-table.ts'
import { parameterOf } from './row-values.ts'

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

/** As a change of `updateRows`: the stored number plus this. */
export const plus = (by: number): SqlValue<number> => new SqlValue((column) => `${column} + ?`, [by])

/** An expression with its bound parameters, such as the time of the database. */
export const sqlValue = <T>(term: { readonly sql: string; readonly parameters: readonly Parameter[] }): SqlValue<T> =>
  new SqlValue(() => term.sql, term.parameters)

/** A row whose values the database may compute. */
export type WithSqlValues<Row> = {
  readonly [Property in keyof Row]: Row[Property] | SqlValue<NonNullable<Row[Property]>>
}

/** An expression of a statement, with its bound parameters appended to `parameters`. */
export function expressionOf(parameters: Parameter[], column: Column, value: unknown): string {
  if (!(value instanceof SqlValue)) {
    parameters.push(parameterOf(column, value))
    return '?'
  }
  parameters.push(...value.parameters)
  return value.textFor(column.name)
}

/** Columns with expressions for their values. @throws TypeError for `undefined`, or a property that the entity does not have */
export function assignments(table: Table, values: object, parameters: Parameter[]): [column: string, text: string][] {
  return Object.entries(values).map(([property, value]) => {
    if (value === undefined) throw new TypeError(`${table.name}: the value of ${property} is undefined.`)
    const column = columnOf(table, property)
    return [column.name, expressionOf(parameters, column, value)]
  })
}
