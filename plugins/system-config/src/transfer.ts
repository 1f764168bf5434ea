import { type CatalogueEntry, maskedValue } from '@plinth/kernel'
import { isState } from './change-check.ts'
import type { StoredConfig } from './config-store.ts'
import type { ConfigChange, ConfigDocument, ImportDocument, ImportMode } from './contract.ts'

/** Stored values of a version as a document. Values that cannot be decrypted are secrets too. */
export function exportDocument(
  stored: StoredConfig,
  isSecret: (key: string) => boolean,
  about: {
    readonly product: string
    readonly exportedAt: Date
  },
): ConfigDocument {
  const values = [...stored.values.values()]
  const isOmitted = (key: string, sensitive: boolean) => sensitive || isSecret(key)
  return {
    format: 'plinth-config/1',
    product: about.product,
    version: stored.version,
    exportedAt: about.exportedAt.toISOString(),
    values: Object.fromEntries(
      values.flatMap(({ key, value, sensitive }) =>
        value === undefined || isOmitted(key, sensitive) ? [] : [[key, value]],
      ),
    ),
    omittedSecrets: values.filter(({ key, sensitive }) => isOmitted(key, sensitive)).map(({ key }) => key),
  }
}

/** The changes that bring the stored values to those of a document. */
export function importChanges(
  document: ImportDocument,
  mode: ImportMode,
  stored: StoredConfig,
  catalogue: ReadonlyMap<string, CatalogueEntry>,
): readonly ConfigChange[] {
  const expected = (key: string) => stored.values.get(key)?.version ?? 0
  const set = Object.entries(document.values).flatMap(([key, value]): ConfigChange[] => {
    // A document may be written by hand, with the mask where a secret was.
    if (value === maskedValue && catalogue.get(key)?.sensitive === true) return []
    const isSecret = catalogue.get(key)?.sensitive === true || stored.values.get(key)?.sensitive === true
    const isStored = !isSecret && JSON.stringify(stored.values.get(key)?.value) === JSON.stringify(value)
    return isStored ? [] : [{ key, action: 'set', value, expectedVersion: expected(key) }]
  })
  if (mode === 'merge') return set
  const removed = [...stored.values.values()].filter(({ key, sensitive }) => {
    const isKept =
      sensitive ||
      isState(key, catalogue, stored) ||
      catalogue.get(key)?.sensitive === true ||
      catalogue.get(key) === undefined
    return !isKept && !Object.hasOwn(document.values, key)
  })
  return [
    ...set,
    ...removed.map(({ key, version }): ConfigChange => ({ key, action: 'reset', expectedVersion: version })),
  ]
}
