import { selectionOf } from '@plinth/database'
import { type ListOrder, line, listQuery, type RangeQuery, rangeQuery, sortQuery, Type } from '@plinth/http'
import { type TableDescription, withTitle } from '@plinth/table'
import type { TObject } from 'typebox'
import type { ListOf, Row } from './definition.ts'

/** The query of a list: its schema, and what its parameters mean. */
interface ListReader {
  readonly schema: TObject
  readonly range: RangeQuery | undefined
  orderOf(query: Row): ListOrder
  /** Returns the condition of the filters. */
  whereOf(query: Row): object
}

export function listReader({ columns, entity }: TableDescription, list: ListOf): ListReader {
  const { filters = [], search = [], range, sort = [] } = list
  const descriptions = filters.flatMap((name) => {
    const description = columns[name]?.description
    return description === undefined ? [] : [[name, description] as const]
  })
  const columnNames = new Map(selectionOf(entity).columns.map(({ property, name }) => [property, name]))
  const sortable = new Set([...sort, 'id'])
  const sorts = sortQuery(Object.fromEntries([...sortable].map((name) => [name, columnNames.get(name) ?? name])), '-id')
  // The id of a row was created together with its creation time, so no index on this time is needed.
  const isCreation = range !== undefined && columns[range]?.description.isCreation === true
  const times = range === undefined ? undefined : rangeQuery(range, isCreation ? 'id' : undefined)
  return {
    schema: Type.Object({
      ...listQuery.properties,
      ...(sort.length === 0 ? {} : sorts.properties),
      ...(search.length === 0 ? {} : { keyword: Type.Optional(line(100)) }),
      ...Object.fromEntries(
        descriptions.map(([name, { inputSchema, title }]) => [name, Type.Optional(withTitle(inputSchema, title))]),
      ),
      ...times?.properties,
    }),
    range: times,
    orderOf: ({ sort }) => sorts.parse(sort as readonly string[] | undefined),
    whereOf: (query) =>
      Object.fromEntries(
        descriptions.flatMap(([name, { kind }]) => {
          const value = query[name]
          return value === undefined ? [] : [[name, kind === 'time' ? new Date(String(value)) : value]]
        }),
      ),
  }
}
