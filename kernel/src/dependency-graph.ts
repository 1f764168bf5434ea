/**
 * Orders names so that everything a name needs comes before it. Among names that are free, the given order decides, so
 * the result is the same on every machine.
 *
 * @param names all names, in preferred order
 * @param needs for each name, the names that must come first; names outside `names` are ignored
 * @returns the order, and one path per circle, each starting and ending with the same name
 */
export function orderByDependency(
  names: readonly string[],
  needs: (name: string) => Iterable<string>,
): { readonly order: readonly string[]; readonly cycles: readonly (readonly string[])[] } {
  const known = new Set(names)
  const state = new Map<string, 'open' | 'done'>()
  const order: string[] = []
  const cycles: string[][] = []
  const path: string[] = []

  const visit = (name: string) => {
    const seen = state.get(name)
    if (seen === 'done') return
    if (seen === 'open') {
      cycles.push([...path.slice(path.indexOf(name)), name])
      return
    }
    state.set(name, 'open')
    path.push(name)
    for (const needed of needs(name)) if (known.has(needed)) visit(needed)
    path.pop()
    state.set(name, 'done')
    order.push(name)
  }
  for (const name of names) visit(name)
  return { order, cycles }
}
