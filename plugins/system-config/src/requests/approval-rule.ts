import type { CatalogueEntry } from '@plinth/kernel/host'
import type { SettledChange } from '../changes/destinations.ts'
import { isStoredValueChanged } from '../changes/protected-keys.ts'
import type { StoredConfig } from '../storage/config-store.ts'

/** Lists the keys whose changes another operator must approve. */
export const approvalKeysKey = 'platform.system-config.approval.keys'

/** Forms of an entry: all keys with a permission, all secrets, a group, the keys below a prefix, or one key. */
export const approvalEntryPattern = '^(@guards|@secrets|@group:[a-z0-9][a-z0-9-]*|[a-z0-9][a-z0-9.-]*(\\.\\*)?)$'

type Covers = (entry: CatalogueEntry) => boolean

function covers(entry: string): Covers {
  if (entry === '@guards') return ({ permission }) => permission !== undefined
  if (entry === '@secrets') return ({ sensitive }) => sensitive
  if (entry.startsWith('@group:')) return ({ group }) => group === entry.slice('@group:'.length)
  if (entry.endsWith('.*')) return ({ key }) => key.startsWith(entry.slice(0, -1))
  return ({ key }) => key === entry
}

/**
 * Returns whether another operator must approve the changes. Compares the stored values before and after all changes,
 * including secrets that the changes remove. A deprecated key also counts as its replacement, because its value applies
 * to it. While the list is not empty, it belongs to these keys itself: otherwise an operator could shorten it first.
 *
 * @param entries effective value of `approvalKeysKey` before the changes
 */
export function needsApproval(
  changes: readonly SettledChange[],
  stored: StoredConfig,
  catalogue: ReadonlyMap<string, CatalogueEntry>,
  entries: readonly string[],
): boolean {
  if (entries.length === 0) return false
  const rules = [approvalKeysKey, ...entries].map(covers)
  return changes.some((change) => {
    const entry = catalogue.get(change.key)
    if (entry === undefined || !isStoredValueChanged(change, entry, stored)) return false
    const replacement = catalogue.get(entry.deprecated?.replacement ?? '')
    const concerned = replacement === undefined ? [entry] : [entry, replacement]
    return concerned.some((one) => rules.some((isCovered) => isCovered(one)))
  })
}
