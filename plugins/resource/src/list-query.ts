import { selectionOf } from '@plinth/database'
import { type ListOrder, line, listQuery, rangeQuery, sortQuery, Type } from '@plinth/http'
import { type Columns, type TableDescription, withTitle } from '@plinth/table'
import type { ListOf, Row } from './definition.ts'

/** Returns the schema of the query of a list, and functions that read its parameters. */
export function listReader({ columns, entity }: TableDescription, list: ListOf) {
  const { filters = [], search = [], range, sort = [], query: own = {}, where } = list
  const descriptions = filters.map((name) => [name, (columns[name] as Columns[string]).description] as const)
  const columnNames = new Map(selectionOf(entity).columns.map(({ property, name }) => [property, name]))
  const sortable = new Set([...sort, 'id'])
  const sorts = sortQuery(Object.fromEntries([...sortable].map((name) => [name, columnNames.get(name) ?? name])), '-id')
  // The id of a row was created together with its creation time, so no index on this time is needed.
  const isCreation = range !== undefined && columns[range]?.description.isCreation === true
  const times = range === undefined ? undefined : rangeQuery(range, isCreation ? 'id' : undefined)
  return {
    schema: Type.Object({
      ...listQuery.properties,
      ...times?.properties,
      ...(sort.length === 0 ? {} : sorts.properties),
      ...(search.length === 0 || 'keyword' in own ? {} : { keyword: Type.Optional(line(100)) }),
      ...own,
      ...Object.fromEntries(
        descriptions.flatMap(([name, { inputSchema, title }]) =>
          name in own ? [] : [[name, Type.Optional(withTitle(inputSchema, title))]],
        ),
      ),
    }),
    range: times,
    orderOf: ({ sort }: Row): ListOrder => sorts.parse(sort as readonly string[] | undefined),
    /** Returns the condition of the filters and of the resource. */
    whereOf(query: Row): object {
      const equal = descriptions.flatMap(([name, { kind }]) => {
        const value = query[name]
        return value === undefined ? [] : [[name, kind === 'time' ? new Date(String(value)) : value]]
      })
      const ownQuery = Object.fromEntries(Object.keys(own).map((name) => [name, query[name]]))
      return { $and: [Object.fromEntries(equal), where?.(ownQuery) ?? {}] }
    },
  }
}
