/** Numbers in one list of a statement. Few sizes keep the number of prepared texts small. */
const listSizes = [500, 50, 5, 1] as const

/** Lists of few sizes; what is left over fills the last one by repeating itself. */
export function listsOf(ids: readonly number[]): readonly (readonly number[])[] {
  const lists: number[][] = []
  for (let from = 0; from < ids.length; ) {
    const left = ids.length - from
    const size = left >= listSizes[0] ? listSizes[0] : (listSizes.findLast((size) => size >= left) ?? 1)
    const part = ids.slice(from, from + size)
    from += part.length
    lists.push([...part, ...Array<number>(size - part.length).fill(part.at(-1) as number)])
  }
  return lists
}
