import type { AmountUnit, Field } from '../api/page-types.ts'
import { labelOf } from '../api/row-values.ts'
import { boundsOf } from './time-range.ts'

export type Operator = 'in' | 'gte' | 'lte' | 'empty'

/** A condition for one column of a list, as in the parameter `filter` of its operation. */
export interface Condition {
  readonly name: string
  readonly operator: Operator
  readonly values: readonly string[]
}

/** A filter of a column. Other filters are parameters with one value. */
export type ColumnFilter = Field & {
  readonly operators: readonly Operator[]
  /** True for a filter with at most one value. */
  readonly isSingle?: boolean
}
export const isColumnFilter = (filter: Field): filter is ColumnFilter => filter.operators !== undefined

/** Value of a filter by user that means the current user. The address contains it, so each user sees their own rows. */
export const me = 'me'
export const isOfUsers = ({ options, isSingle = false }: Pick<ColumnFilter, 'options' | 'isSingle'>): boolean =>
  !isSingle && options?.labels === 'iam.user'

export const printCondition = ({ name, operator, values }: Condition): string =>
  `${name}:${operator}:${values.map((value) => value.replace(/[\\,]/g, '\\$&')).join(',')}`

/** Reads a condition of an address. The server rejects the values that it does not accept. */
export function parseCondition(text: string): Condition {
  const [, name = text, operator = '', list = ''] = /^([^:]*):([^:]*):(.*)$/s.exec(text) ?? []
  const values = (list.match(/(?:\\.|[^,])+/gsu) ?? []).map((value) => value.replace(/\\(.)/gsu, '$1'))
  return { name, operator: operator as Operator, values }
}

/** Returns the conditions of one column. */
export const conditionsOn = (conditions: readonly string[], name: string): readonly Condition[] =>
  conditions.map(parseCondition).filter((one) => one.name === name)

/** Returns the values of an operator of one column. */
export const valuesOf = (conditions: readonly Condition[], operator: Operator): readonly string[] =>
  conditions.find((one) => one.operator === operator)?.values ?? []

/** Replaces the conditions of one column. An operator without values is removed. */
export function withConditions(
  conditions: readonly string[],
  name: string,
  changed: Readonly<Partial<Record<Operator, readonly string[]>>>,
): readonly string[] {
  const others = conditions.filter((text) => parseCondition(text).name !== name)
  const own = (Object.entries(changed) as [Operator, readonly string[]][])
    .filter(([, values]) => values.length > 0 && values[0] !== '')
    .map(([operator, values]) => printCondition({ name, operator, values }))
  return [...others, ...own]
}

interface Reader {
  readonly userId: number | undefined
  readonly now: number
  readonly zone: string
}

/** Returns the conditions to send: the current user instead of `me`, and moments instead of presets such as `7d`. */
export function sentConditions(
  conditions: readonly string[],
  filters: readonly Field[],
  { userId, now, zone }: Reader,
): readonly string[] {
  return conditions.map((text) => {
    const { name, operator, values } = parseCondition(text)
    const filter = filters.find((one) => one.name === name)
    if (filter !== undefined && isOfUsers(filter) && userId !== undefined)
      return printCondition({ name, operator, values: values.map((one) => (one === me ? String(userId) : one)) })
    if (operator !== 'gte') return text
    return printCondition({
      name,
      operator,
      values: values.map((from) => boundsOf({ from, to: '' }, now, zone)['from'] ?? from),
    })
  })
}

/** Changes of the conditions of one column. */
export type ConditionChange = Parameters<typeof withConditions>[2]

/** Properties of a control that changes the conditions of one column. */
export interface EditorProps {
  readonly filter: ColumnFilter
  readonly unit: AmountUnit | undefined
  readonly conditions: readonly Condition[]
  onChange(changed: ConditionChange): void
  onDone(): void
}

/** Returns the words for a value of a filter. */
export const wordOf = (filter: Field, value: string, yes: string, no: string): string =>
  labelOf(filter, value) ?? (value === 'true' ? yes : value === 'false' ? no : value)
