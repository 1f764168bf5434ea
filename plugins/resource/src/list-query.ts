import { selectionOf } from '@plinth/database'
import { filterQuery, isFilterable, type ListOrder, line, listQuery, rangeQuery, sortQuery, Type } from '@plinth/http'
import { omitUndefined } from '@plinth/kernel'
import { type Columns, withTitle } from '@plinth/table'
import type { Definition, ListOf, Row } from './definition.ts'

/** Kinds of columns that callers can filter. */
const filterable: ReadonlySet<string> = new Set(['id', 'text', 'number', 'flag', 'choice', 'amount', 'time'])

/**
 * Returns the columns that the parameter `filter` accepts: plain columns whose stored value the response shows, and
 * that are not parameters with a meaning of their own. The last editor is not one of them, because callers see only operators in their data scope.
 */
function filterableColumns({ shape, table }: Definition, { range, query = {} }: ListOf): readonly string[] {
  return Object.entries(shape.schemas.view.properties).flatMap(([name, schema]) => {
    const description = table.columns[name]?.description
    const isPlain = description?.isShown && filterable.has(description.kind) && !(name in shape.members)
    const isOffered = name !== range && !(name in query) && name !== 'version' && name !== 'updatedBy'
    return isPlain && isOffered && isFilterable(schema) ? [name] : []
  })
}

/** Returns the schema of the query of a list, and functions that read its parameters. */
export function listReader(definition: Definition, list: ListOf) {
  const { columns, entity } = definition.table
  const { filters = [], search = [], range, sort = [], query: own = {}, where } = list
  const descriptions = filters.map((name) => [name, (columns[name] as Columns[string]).description] as const)
  const columnNames = new Map(selectionOf(entity).columns.map(({ property, name }) => [property, name]))
  const sortable = new Set([...sort, 'id'])
  const sorts = sortQuery(Object.fromEntries([...sortable].map((name) => [name, columnNames.get(name) ?? name])), '-id')
  // The id of a row was created together with its creation time, so no index on this time is needed.
  const isCreation = range !== undefined && columns[range]?.description.isCreation === true
  const times = range === undefined ? undefined : rangeQuery(range, isCreation ? 'id' : undefined)
  const filter = filterQuery(definition.shape.schemas.view, filterableColumns(definition, list))
  return {
    schema: Type.Object({
      ...listQuery.properties,
      ...times?.properties,
      ...filter.properties,
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
    filter,
    orderOf: ({ sort }: Row): ListOrder => sorts.parse(sort as readonly string[] | undefined),
    /** Returns the condition of the filters and of the resource. */
    async whereOf(query: Row, parts: unknown): Promise<object> {
      const equal = descriptions.flatMap(([name, { kind }]) => {
        const value = query[name]
        return value === undefined ? [] : [[name, kind === 'time' ? new Date(String(value)) : value]]
      })
      const ownQuery = Object.fromEntries(Object.keys(own).map((name) => [name, query[name]]))
      return omitUndefined<Row>({ ...Object.fromEntries(equal), ...(await where?.(ownQuery, parts)) })
    },
  }
}
