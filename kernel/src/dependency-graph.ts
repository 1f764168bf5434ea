/** A unique name, and the names of the items that must come before it. Unknown names are ignored. */
interface Dependencies {
  readonly name: string
  readonly needs: readonly string[]
}

/**
 * Orders items so that each item comes after all items that it needs. Items without dependencies keep the given order,
 * so the result is the same on every machine.
 *
 * @param items all items, in preferred order
 * @returns the order, and the path of each cycle, which starts and ends with the same item
 */
export function orderByDependency<T>(
  items: readonly T[],
  dependenciesOf: (item: T) => Dependencies,
): { readonly order: readonly T[]; readonly cycles: readonly (readonly T[])[] } {
  const nodes = items.map((item) => ({ item, ...dependenciesOf(item) }))
  const byName = new Map(nodes.map((node) => [node.name, node]))
  const order: T[] = []
  const cycles: T[][] = []
  const path: T[] = []
  const done = new Set<T>()

  const visit = ({ item, needs }: (typeof nodes)[number]) => {
    if (done.has(item)) return
    if (path.includes(item)) {
      cycles.push([...path.slice(path.indexOf(item)), item])
      return
    }
    path.push(item)
    for (const name of needs) {
      const needed = byName.get(name)
      if (needed !== undefined) visit(needed)
    }
    path.pop()
    done.add(item)
    order.push(item)
  }
  for (const node of byName.values()) visit(node)
  return { order, cycles }
}
