import { type JsonValue, maskedValue } from '@plinth/kernel'
import { type CatalogueEntry, maxValueLength, valueLength } from '@plinth/kernel/host'
import type { ConfigChange, ConfigDocument, ImportDocument, ImportMode } from '../contract.ts'
import { businessError } from '../declarations.ts'
import type { StoredConfig } from '../storage/config-store.ts'
import { isState } from './change-check.ts'

/** Returns the error for a document that cannot be imported. */
const notADocument = (why: string) => businessError('document-invalid', { params: { why } })

/**
 * Reads an exported document.
 *
 * @throws BusinessError `400`, reason `system-config.document-invalid`
 */
export function readDocument(text: string): ImportDocument {
  let document: unknown
  try {
    document = JSON.parse(text)
  } catch {
    throw notADocument('it is not JSON')
  }
  const { format, values } = (document ?? {}) as Partial<ImportDocument>
  if (format !== 'plinth-config/1') throw notADocument('its format is not "plinth-config/1"')
  if (!isObject(values)) throw notADocument('it has no values')
  return document as ImportDocument
}

const isObject = (value: JsonValue | undefined): value is { readonly [key: string]: JsonValue } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns the stored values of a version as a document. Values that cannot be decrypted are treated as secrets. */
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

/**
 * Returns the changes that turn the stored values into those of a document of any size. The cost of each value does not
 * depend on the others.
 */
export function importChanges(
  document: ImportDocument,
  mode: ImportMode,
  stored: StoredConfig,
  catalogue: ReadonlyMap<string, CatalogueEntry>,
): readonly ConfigChange[] {
  const expected = (key: string) => stored.values.get(key)?.version ?? 0
  const set = Object.entries(document.values).flatMap(([key, value]): ConfigChange[] => {
    // A document may be written manually, with the mask in place of a secret.
    if (value === maskedValue && catalogue.get(key)?.sensitive === true) return []
    const isSecret = catalogue.get(key)?.sensitive === true || stored.values.get(key)?.sensitive === true
    const isStored = !isSecret && isSame(stored.values.get(key)?.value, value)
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

/** Values that are too long or too deep are not compared. Their errors are reported when they are checked. */
const isSame = (stored: JsonValue | undefined, given: JsonValue): boolean =>
  stored !== undefined && valueLength(given) <= maxValueLength && JSON.stringify(stored) === JSON.stringify(given)
