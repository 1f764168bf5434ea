import { type FoundPage, maxCounted, type PageWindow } from '@plinth/database'

interface Row {
  readonly id: number
}

type Find<T> = (window: PageWindow) => Promise<FoundPage<T>>

/**
 * Returns a page of two lists in descending order of their ids. Reads at most the rows of the page from the first list,
 * and the rows up to its end from the second one, which therefore should be the shorter list.
 *
 * @param window sorted by `id` only
 */
export async function mergedPage<A extends Row, B extends Row>(
  window: PageWindow,
  findLong: Find<A>,
  findShort: Find<B>,
): Promise<FoundPage<A | B>> {
  const { size, offset, count } = window
  const short = await findShort({ ...window, offset: 0, size: offset + size })
  // Rows of the short list may be before the page. Then fewer rows of the long list are.
  const before = Math.min(short.items.length, offset)
  const long = await findLong({ ...window, offset: offset - before, size: size + before })
  // The rows of a list are known down to its last row, unless the list has ended.
  const known = Math.max(...[short, long].map(({ next }) => (next === null ? 0 : Number(next[0]))))
  const merged = [...long.items, ...short.items].filter(({ id }) => id >= known).sort((a, b) => b.id - a.id)
  const items = merged.slice(before, before + size)
  const isMore = known > 0 || merged.length > before + size
  const last = items.length === size ? items.at(-1)?.id : known
  const next = isMore && last !== undefined ? [last] : null
  if (long.total === null || short.total === null) return { items, total: null, isCapped: false, next }
  const total = long.total + short.total
  const isOverCap = count === 'capped' && total > maxCounted
  const isCapped = long.isCapped || short.isCapped || isOverCap
  return { items, total: isOverCap ? maxCounted : total, isCapped, next }
}
