import type { CatalogueEntry, ConfigAdmin, JsonValue } from '@plinth/kernel'
import type { ConfigChange, KeyFault } from '../contract.ts'
import { fault } from './change-check.ts'

/**
 * What changes would switch off although the value of another key needs it, once all of them are made: each changed key
 * that has a part in it. Judged by what all sources say together, so it also holds for what waits for a restart.
 */
export function neededFaults(
  changes: readonly ConfigChange[],
  catalogue: ReadonlyMap<string, CatalogueEntry>,
  explain: ConfigAdmin['explain'],
): readonly KeyFault[] {
  const changed = new Map(changes.map((change) => [change.key, change]))
  const afterwards = (key: string): JsonValue | undefined => {
    const sources = explain(key)?.sources ?? []
    const from = (wanted: string) => sources.find(({ source }) => source === wanted)?.value
    const change = changed.get(key)
    const set = change?.action === 'set' ? change.value : undefined
    const stored = change === undefined ? from('database') : set
    const weaker = sources.findLast(({ source }) => source !== 'database' && source !== 'command-line')
    return from('command-line') ?? stored ?? weaker?.value
  }
  return [...catalogue.values()].flatMap(({ key, neededWhile }) => {
    if (neededWhile === undefined) return []
    const { key: other, is } = neededWhile
    const part = [key, other].filter((one) => changed.has(one))
    // Files and variables hold text.
    if (part.length === 0 || String(afterwards(key)) !== 'false' || afterwards(other) !== is) return []
    return part.map((one) =>
      one === key
        ? fault(one, 'needed', `must stay true while ${other} is "${is}"; change that key first`)
        : fault(one, 'needed', `must not be "${is}" while ${key} is false; the product would not start`),
    )
  })
}
