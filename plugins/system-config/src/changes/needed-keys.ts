import { bilingual, type CatalogueEntry, type ConfigAdmin, type JsonValue } from '@plinth/kernel'
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
  locale: string,
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
    const stays = bilingual(
      `must stay true while ${other} is "${is}"; change that key first`,
      `在 ${other} 为“${is}”时必须保持 true；请先修改该配置项`,
    )
    const isNot = bilingual(
      `must not be "${is}" while ${key} is false; the product would not start`,
      `在 ${key} 为 false 时不能为“${is}”；否则产品无法启动`,
    )
    return part.map((one) => fault(one, 'needed', one === key ? stays : isNot, locale))
  })
}
