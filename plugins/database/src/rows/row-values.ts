import { exactInteger } from '../contract.ts'
import type { Parameter } from './bound-parameters.ts'
import type { Column, Table } from './row-table.ts'

/**
 * The value of a column as a bound parameter.
 *
 * @throws TypeError for an absent value of a column that must have one
 */
export function parameterOf({ name, kind, isNullable, default: usual }: Column, value: unknown): Parameter {
  if (value === undefined) {
    if (usual !== undefined) return usual as Parameter
    if (!isNullable) throw new TypeError(`${name} has no value.`)
    return null
  }
  return kind === 'json' && value !== null ? JSON.stringify(value) : (value as Parameter)
}

/** The values of a row in the order of the columns, appended to `parameters`. */
export function appendRow(parameters: Parameter[], { columns }: Table, row: Readonly<Record<string, unknown>>): void {
  for (const column of columns) parameters.push(parameterOf(column, row[column.property]))
}

/**
 * The value of a column, from the value of a driver.
 *
 * @throws TypeError for a column that the statement did not select, or that is null and must not be; RangeError for an integer
 *   outside 2^53 - 1
 */
export function valueFrom({ name, kind, isNullable }: Column, value: unknown): unknown {
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

/** SQLite returns milliseconds, the drivers of servers text; MySQL and MariaDB omit the zone, which is UTC. */
function timeOf(value: unknown): Date {
  if (typeof value !== 'string') return new Date(value as number | Date)
  return new Date(/[zZ]$|[+-]\d\d(?::?\d\d)?$/.test(value) ? value : `${value}Z`)
}
