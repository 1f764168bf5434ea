import { Type } from '@plinth/config-schema/typebox'
import type { Static, TArray, TObject, TOptional, TString } from 'typebox'
import type { ListCondition, ListConditionOperator, ListQuery } from '../contract.ts'
import { InvalidInput } from './input-validation.ts'

/** Maximum number of conditions in a request, of values in a condition, and of characters in a condition. */
const maxConditions = 20
const maxValues = 50
const maxLength = 4_000

export interface FilterQuery {
  /** Members for the query schema of the route. */
  readonly properties: { readonly filter: TOptional<TArray<TString>> }
  /**
   * Returns the requested conditions. A row must meet all of them.
   *
   * @throws InvalidInput for a column that cannot be filtered, for an operator that it does not have, and for an
   *   unsuitable value
   */
  parse(query: Pick<ListQuery, 'filter'>): readonly ListCondition[]
}

/** The parts of a schema that determine the operators of a column and its values. */
interface ColumnSchema {
  readonly type?: string
  readonly format?: string
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly ColumnSchema[]
}

type Value = ListCondition['values'][number]

/** A column with the functions that convert a value of the request; `undefined` for an unsuitable value. */
interface FilterColumn {
  readonly operators: readonly ListConditionOperator[]
  readonly value: (text: string) => Value | undefined
}

const equality = ['in'] as const
const order = ['in', 'gte', 'lte'] as const

const booleans: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
])

function numberOf(text: string): number | undefined {
  const value = Number(text)
  return /^-?\d{1,16}$/.test(text) && Number.isSafeInteger(value) ? value : undefined
}

const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/
function timeOf(text: string): number | undefined {
  const ms = time.test(text) ? Date.parse(text) : Number.NaN
  // `Date` reads the 31 of February as the 3 of March.
  const day = text.slice(0, 10)
  return Number.isNaN(ms) || !new Date(`${day}T00:00Z`).toISOString().startsWith(day) ? undefined : ms
}

/** Some databases cannot store control characters and lone surrogates. */
const textOf = (text: string): string | undefined => (/[\p{Cc}\p{Cs}]/u.test(text) ? undefined : text)

function columnOf(schema: ColumnSchema | undefined): FilterColumn | undefined {
  const choices = schema?.anyOf?.filter(({ type }) => type !== 'null') ?? []
  const isNullable = choices.length < (schema?.anyOf?.length ?? 0)
  const plain = schema?.anyOf === undefined ? schema : choices.length === 1 ? choices[0] : undefined
  const constants = choices.every((one) => one.const !== undefined) ? choices.map((one) => one.const) : []
  const values = plain?.enum ?? constants
  const operators = (own: readonly ListConditionOperator[]) => (isNullable ? [...own, 'empty' as const] : own)
  if (values.length > 0) {
    const known = new Map(values.map((value) => [String(value), value as Value]))
    return { operators: operators(equality), value: (text) => known.get(text) }
  }
  switch (plain?.type) {
    case 'boolean':
      return { operators: operators(equality), value: (text) => booleans.get(text) }
    case 'integer':
      return { operators: operators(order), value: numberOf }
    case 'string':
      return plain.format === 'date-time'
        ? { operators: operators(['gte', 'lte']), value: timeOf }
        : { operators: operators(equality), value: textOf }
    default:
      return undefined
  }
}

/** Returns whether `filterQuery` accepts a member with this schema. */
export const isFilterable = (schema: object | undefined): boolean => columnOf(schema) !== undefined

/**
 * Creates the query parameter `filter` for columns of a list: `filterQuery(orderView, ['status', 'amount', 'paidAt'])`.
 * Callers repeat the parameter: `filter=status:in:failed,unknown&filter=amount:gte:1000&filter=paidAt:empty:true`. A
 * backslash precedes a comma or a backslash within a value. Pass the result to `listResponse`.
 *
 * The schema of the member determines the operators: `in` for texts, choices, booleans and integers, `gte` and `lte` for
 * integers and times, and `empty` if the member may be null. Only members of the response can be filtered, so that a
 * filter reveals nothing that the response does not show. Do not list members that the response masks for some callers.
 *
 * @param item response schema of a row
 * @param names members that are also properties of the entity
 * @throws RangeError for a member that cannot be filtered
 */
export function filterQuery<T extends TObject>(item: T, names: readonly (keyof Static<T> & string)[]): FilterQuery {
  const members: Readonly<Record<string, object>> = item.properties
  const columns = new Map(
    names.map((name): [string, FilterColumn] => {
      const column = columnOf(members[name])
      if (column === undefined) throw new RangeError(`The member "${name}" cannot be filtered`)
      return [name, column]
    }),
  )
  const offered = Object.fromEntries([...columns].map(([name, { operators }]) => [name, operators]))
  const described = Object.entries(offered).map(([name, operators]) => `${name} (${operators.join(', ')})`)
  return {
    properties: {
      filter: Type.Optional(
        Type.Array(Type.String({ maxLength }), {
          maxItems: maxConditions,
          description: `Conditions \`column:operator:values\`; a row meets all of them. Values are separated by commas. Columns: ${described.join('; ')}.`,
          'x-filter': offered,
        }),
      ),
    },
    parse: ({ filter = [] }) => filter.map((text) => conditionOf(text, columns)),
  }
}

const parts = /^([^:]*):([^:]*):(.*)$/s

function conditionOf(text: string, columns: ReadonlyMap<string, FilterColumn>): ListCondition {
  const [, name = text, operator = '', list = ''] = parts.exec(text) ?? []
  const column = columns.get(name)
  if (column === undefined) throw problem('filter', 'filterColumn', { allowed: [...columns.keys()].join(', ') })
  const found = column.operators.find((one) => one === operator)
  if (found === undefined) throw problem(name, 'filterOperator', { allowed: column.operators.join(', ') })
  const values = splitValues(list)
  const limit = found === 'in' ? maxValues : 1
  if (values.length === 0 || values.length > limit) throw problem(name, 'filterValues', { limit })
  const read = found === 'empty' ? (one: string) => booleans.get(one) : column.value
  return {
    property: name,
    operator: found,
    values: values.map((one) => {
      const value = read(one)
      if (value === undefined) throw problem(name, 'filterValue')
      return value
    }),
  }
}

const splitValues = (list: string): readonly string[] =>
  (list.match(/(?:\\.|[^,])+/gsu) ?? []).map((one) => one.replace(/\\(.)/gsu, '$1'))

/** Returns a condition as callers write it. */
export const printCondition = (property: string, operator: ListConditionOperator, values: readonly string[]): string =>
  `${property}:${operator}:${values.map((value) => value.replace(/[\\,]/g, '\\$&')).join(',')}`

const problem = (field: string, rule: string, params: Readonly<Record<string, string | number>> = {}) =>
  new InvalidInput([{ field, rule, params: { field, rule, ...params } }])
