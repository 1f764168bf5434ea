import type { JsonValue } from '@plinth/kernel'
import type { ImportDocument } from '../contract.ts'
import { refusal } from '../failures.ts'

/** That a document cannot be imported. */
const notADocument = (why: string) => refusal('document-invalid', { params: { why } })

/** Reads an exported document. Throws BusinessError `400`, reason `system-config.document-invalid`. */
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
