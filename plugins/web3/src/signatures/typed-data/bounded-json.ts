/** A problem of typed data. The message is for developers. Callers receive one stable reason. */
export class TypedDataError extends Error {
  override readonly name = 'TypedDataError'
}

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject
export interface JsonObject {
  readonly [name: string]: JsonValue
}

/** Maximum bytes of a document in UTF-8. */
const maxDocumentLength = 64 * 1024
/** Maximum depth of nested brackets. */
const deepest = 16

/**
 * Parses a JSON object within limits. Numbers must be safe integers (at most 2^53-1 in absolute value), because a
 * larger one would be rounded and another value would be verified. Larger integers are written as strings.
 *
 * @throws TypedDataError
 */
export function parseBoundedJson(text: string): JsonObject {
  if (typeof text !== 'string' || text.length > maxDocumentLength || Buffer.byteLength(text) > maxDocumentLength) {
    throw new TypedDataError('no text, or too long a one')
  }
  if (depthOf(text) > deepest) throw new TypedDataError('too deep')
  const parsed = parse(text)
  if (!isJsonObject(parsed)) throw new TypedDataError('no object')
  return parsed
}

export const isJsonObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function parse(text: string): JsonValue {
  try {
    return JSON.parse(text, (_name, value, context?: { readonly source?: string }) => {
      if (typeof value === 'number' && !/^-?\d{1,16}$/.test(context?.source ?? '')) throw new TypedDataError('a number')
      if (typeof value === 'number' && !Number.isSafeInteger(value)) throw new TypedDataError('an unsafe number')
      return value
    })
  } catch (error) {
    throw error instanceof TypedDataError ? error : new TypedDataError('no JSON')
  }
}

/** Returns the maximum depth of brackets outside strings. This check runs before the parser, which is recursive. */
function depthOf(text: string): number {
  let [depth, most, inText] = [0, 0, false]
  for (let at = 0; at < text.length; at++) {
    const one = text[at]
    if (inText) {
      if (one === '\\') at++
      else if (one === '"') inText = false
    } else if (one === '"') inText = true
    else if (one === '{' || one === '[') most = Math.max(most, ++depth)
    else if (one === '}' || one === ']') depth--
  }
  return most
}
