import { type PageDeclaration, type TileDeclaration, tileSchema, translated } from '@plinth/admin'
import { withoutUndefined } from './column-and-field-views.ts'
import { itemOf, memberAt, type Operation, withoutNull } from './operations.ts'
import { builtInPages } from './own-pages.ts'

type Operations = ReadonlyMap<string, Operation>
type Pages = ReadonlyMap<string, PageDeclaration>

/** A link from a number to the page with the details. */
type PageLink = { readonly id: string; readonly filter?: Readonly<Record<string, string>> }

/** Returns a tile for the browser: its operation, and the member that is shown. */
export function tileView(
  declared: TileDeclaration,
  { method, path }: Operation,
  { locale, pageOf }: { readonly locale: string; readonly pageOf: (link: PageLink) => object | undefined },
) {
  const { query = {}, opens, page: _, order: __, ...tile } = translated(tileSchema, declared, locale)
  return {
    ...tile,
    operation: tile.source,
    method,
    path,
    query,
    ...withoutUndefined({ opens: opens && pageOf(opens) }),
  }
}

/** Returns true if the operation has a time range that a tile, a chart or a link can set. */
export const hasRange = (operation: Operation | undefined) =>
  operation !== undefined && 'from' in operation.query && 'to' in operation.query

/** Returns the problems of the declared tiles. Each problem is one sentence. */
export function tileProblems(
  declared: Iterable<TileDeclaration>,
  operations: Operations,
  pages: Pages,
): readonly string[] {
  return [...declared].flatMap((tile) => {
    const { source, query = {}, field, good, bad = [], currency, range = false, page, opens } = tile
    const operation = operations.get(source)
    const problems =
      operation === undefined
        ? [`no loaded plugin provides the operation "${source}"`]
        : [
            ...sourceProblems(operation, query, range),
            ...(good === undefined
              ? figureProblems(operation, [field], currency)
              : valueProblems(operation, field, [...good, ...bad])),
          ]
    return [
      ...problems,
      ...(page === undefined ? [] : placeProblems(page, operations, pages)),
      ...linkProblems(opens, operations, pages),
    ].map((problem) => `tile "${tile.id}": ${problem}`)
  })
}

/** Checks that an operation can be called with these parameters, and that it has a time range if one is needed. */
export function sourceProblems(operation: Operation, query: object, range: boolean): readonly string[] {
  const { id, method, params } = operation
  return [
    ...(method !== 'GET' || Object.keys(params).length > 0
      ? [`${id} is not a GET operation without path parameters`]
      : []),
    ...Object.keys(query).flatMap((name) => (name in operation.query ? [] : [`"${name}" is not a parameter of ${id}`])),
    ...(range && !hasRange(operation)
      ? [`it follows the time range, but ${id} has no parameters "from" and "to"`]
      : []),
  ]
}

/** Checks that the members of a tile or chart are numbers, or amounts as text with a unit. */
export function figureProblems(
  operation: Operation,
  fields: readonly string[],
  currency: string | undefined,
): readonly string[] {
  const item = itemOf(operation) ?? operation.data
  const allowed = currency === undefined ? ['integer', 'number'] : ['integer', 'string']
  const wrong = fields.filter((name) => !allowed.includes(String(withoutNull(memberAt(item, name))?.['type'])))
  return [
    ...wrong.map((name) => `"${name}" is not a number of the result`),
    ...(currency === undefined || memberAt(item, currency) !== undefined
      ? []
      : [`"${currency}" is not a member of the result`]),
  ]
}

/** Checks that a member exists, and that it can have these values. */
function valueProblems(operation: Operation, field: string, values: readonly unknown[]): readonly string[] {
  const member = withoutNull(memberAt(itemOf(operation) ?? operation.data, field))
  if (member === undefined) return [`"${field}" is not a member of the result`]
  const { enum: known } = member
  return known === undefined
    ? []
    : values.flatMap((value) => (known.includes(value as string) ? [] : [`"${value}" is not a value of "${field}"`]))
}

/**
 * Checks the page of a tile or chart. A page with a path parameter is a problem, because a tile has no value for the
 * parameter.
 */
export function placeProblems(id: string, operations: Operations, pages: Pages): readonly string[] {
  const page = pages.get(id)
  if (page === undefined) return [`there is no page "${id}"`]
  const isOfMany = Object.keys(operations.get(page.source)?.params ?? {}).length > 0
  return isOfMany ? [`the page "${id}" needs a path parameter`] : []
}

/** Checks that the page of a link exists and has the filters that the link sets. */
export function linkProblems(link: PageLink | undefined, operations: Operations, pages: Pages): readonly string[] {
  if (link === undefined || (link.filter === undefined && builtInPages.some(({ id }) => id === link.id))) return []
  const target = pages.get(link.id)
  if (target === undefined) return [`there is no page "${link.id}"`]
  const filters = target.kind === 'list' ? [...(target.filters ?? []).map(({ name }) => name), 'from', 'to'] : []
  return Object.keys(link.filter ?? {}).flatMap((name) =>
    filters.includes(name) && name in (operations.get(target.source)?.query ?? {})
      ? []
      : [`"${name}" is not a filter of "${link.id}"`],
  )
}
