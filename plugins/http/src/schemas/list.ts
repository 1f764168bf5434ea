import { createHash } from 'node:crypto'
import { codeOf } from '@plinth/kernel'
import type { TSchema } from 'typebox'
import type { ListKey, ListOrder, ListPage, ListQuery, ListRows, ListWindow } from '../contract.ts'
import { InvalidInput } from './input-validation.ts'
import { pageQuery } from './paging.ts'
import { Type } from './schema-builders.ts'

/** Rows that `page` may skip: a database reads each of them. */
const deepestOffset = 100_000
const longestCursor = 4_096
const counts = ['exact', 'capped', 'none'] as const

/**
 * Query of a list that comes from a table (decision E14): `page` and `size`, or `cursor` and `size`, and what `total` may
 * cost. Spread its members: `Type.Object({ ...listQuery.properties, keyword: ... })`.
 */
export const listQuery = Type.Object({
  ...pageQuery.properties,
  page: Type.Integer({
    minimum: 1,
    default: 1,
    description: `Page, the first is 1. It reaches row ${deepestOffset}; the cursor reaches all.`,
  }),
  cursor: Type.Optional(
    Type.String({
      maxLength: longestCursor,
      description: 'Begins behind an earlier page: what it answered as `next`, with the same order and filters.',
    }),
  ),
  count: Type.Optional(
    Type.Enum(counts, {
      description:
        'What `total` counts: all, at most 10,000, or nothing. Without it: all, and nothing behind a cursor.',
    }),
  ),
})

/** Schema of one page of a list that answers `listQuery`. */
export function listPage<T extends TSchema>(item: T) {
  return Type.Object({
    items: Type.Array(item),
    page: Type.Integer({ minimum: 1 }),
    size: Type.Integer({ minimum: 1 }),
    total: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
      description: 'Items on all pages, as far as they were counted. Null comes with `cursor` or `count` alone.',
      'x-null-with': ['cursor', 'count'],
    }),
    counted: Type.Enum(counts, {
      description:
        '`exact`: `total` counts all. `capped`: there are more, or with a keyword may be. `none`: nothing was counted.',
    }),
    next: Type.Union([Type.String(), Type.Null()], {
      description: 'Cursor of the page that follows; null when none does.',
    }),
  })
}

/** Order of lists that nobody sorts: ids sort by time. */
export const newestFirst: ListOrder = [{ property: 'id', direction: 'desc' }]

/**
 * Answers a query of a list: reads the cursor, asks the source for the rows and writes the cursor of the page that follows.
 *
 * @param orderBy ties are the source's to break
 * @param find usually `(window) => findPage(db.fork(), Entity, where, window)` of `@plinth/database`
 * @throws InvalidInput for a page that lies too deep, and for a cursor that is none of this order
 */
export async function answerList<T>(
  query: ListQuery,
  orderBy: ListOrder,
  find: (window: ListWindow) => Promise<ListRows<T>>,
): Promise<Omit<ListPage<T>, 'items'> & { items: T[] }> {
  const { page, size, cursor } = query
  if (cursor !== undefined && page > 1) throw fault('page', 'cursorAlone')
  const offset = (page - 1) * size
  if (offset + size > deepestOffset) throw fault('page', 'depth', { limit: deepestOffset })
  const after = cursor === undefined ? undefined : positionOf(cursor, orderBy)
  const count = query.count ?? (after === undefined ? 'exact' : 'none')
  const rows = await find({ orderBy, size, offset, after, count }).catch((error: unknown) => {
    throw isForeignPosition(error) ? fault('cursor', 'cursor') : error
  })
  return {
    items: [...rows.items],
    page,
    size,
    total: rows.total,
    counted: rows.total === null ? 'none' : rows.isCapped ? 'capped' : 'exact',
    next: rows.next === null ? null : cursorOf(rows.next, orderBy),
  }
}

/** The rows of a list as they are shown. */
export const rowsAs = <T, V>(rows: ListRows<T>, view: (row: T) => V): ListRows<V> => ({
  ...rows,
  items: rows.items.map((row) => view(row)),
})

const fault = (field: string, rule: string, params: Readonly<Record<string, number>> = {}) =>
  new InvalidInput([{ field, rule, params: { field, rule, ...params } }])

/** By its code, because http knows no database. */
const isForeignPosition = (error: unknown) => error instanceof Error && codeOf(error) === 'PLINTH_DATABASE_POSITION'

/** A cursor opens nothing that a filter does not, so a check against accidents and other orders is enough. */
function checkOf(position: readonly ListKey[], orderBy: ListOrder): string {
  const order = orderBy.map(({ property, direction }) => [property, direction])
  return createHash('sha256')
    .update(JSON.stringify([order, position]))
    .digest('base64url')
    .slice(0, 10)
}

const cursorOf = (position: readonly ListKey[], orderBy: ListOrder) =>
  Buffer.from(JSON.stringify([checkOf(position, orderBy), ...position])).toString('base64url')

function positionOf(cursor: string, orderBy: ListOrder): readonly ListKey[] {
  try {
    const [check, ...position] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as [string, ...ListKey[]]
    if (check === checkOf(position, orderBy)) return position
  } catch {
    // Neither JSON nor a list: no cursor either.
  }
  throw fault('cursor', 'cursor')
}
