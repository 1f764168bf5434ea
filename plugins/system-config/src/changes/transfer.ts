import { type JsonValue, maskedValue } from '@plinth/kernel'
import { type CatalogueEntry, countValueCharacters, maxValueLength } from '@plinth/kernel/host'
import type { ConfigChange, ConfigDocument, ImportDocument, ImportMode } from '../contract.ts'
import { businessError } from '../declarations.ts'
import type { StoredConfig } from '../storage/config-store.ts'
import { isState } from './change-check.ts'

const notADocument = (why: string) => businessError('document-invalid', { params: { why } })

/**
 * Parses an exported document.
 *
 * @throws BusinessError `400`, reason `system-config.document-invalid`
 */
export function parseImportDocument(text: string): ImportDocument {
  let document: JsonValue
  try {
    document = JSON.parse(text)
  } catch {
    throw notADocument('it is not JSON')
  }
  if (!isObject(document) || document['format'] !== 'plinth-config/1') {
    throw notADocument('its format is not "plinth-config/1"')
  }
  const { values } = document
  if (!isObject(values)) throw notADocument('it has no values')
  return { format: 'plinth-config/1', values }
}

const isObject = (value: JsonValue | undefined): value is { readonly [key: string]: JsonValue } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns stored values as a document. A value that cannot be decrypted is treated as a secret. */
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

/** Returns the changes that make the stored values equal to a document of any size. */
export function importChanges(
  document: ImportDocument,
  mode: ImportMode,
  stored: StoredConfig,
  catalogue: ReadonlyMap<string, CatalogueEntry>,
): readonly ConfigChange[] {
  const expected = (key: string) => stored.values.get(key)?.version ?? 0
  const set = Object.entries(document.values).flatMap(([key, value]): ConfigChange[] => {
    // A document that a person wrote may contain the mask instead of a secret.
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

/** Does not compare values that are too long. The later checks report them. */
const isSame = (stored: JsonValue | undefined, given: JsonValue): boolean =>
  stored !== undefined &&
  countValueCharacters(given) <= maxValueLength &&
  JSON.stringify(stored) === JSON.stringify(given)
