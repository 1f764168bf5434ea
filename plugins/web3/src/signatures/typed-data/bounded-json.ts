/** What is wrong with typed data. For tests and logs of developers; callers get one stable reason. */
export class TypedDataFault extends Error {
  override readonly name = 'TypedDataFault'
}

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject
export interface JsonObject {
  readonly [name: string]: JsonValue
}

/** Bytes of a document in UTF-8. */
const longestDocument = 64 * 1024
/** Brackets that are open at the same time. */
const deepest = 16

/**
 * Parses a JSON object within bounds. Numbers are whole and safe (at most 2^53-1 either way): a larger one would be rounded,
 * and the signature would be checked over another value than the text says. Larger ones are written as texts.
 *
 * @throws TypedDataFault
 */
export function parseBoundedJson(text: string): JsonObject {
  if (typeof text !== 'string' || text.length > longestDocument || Buffer.byteLength(text) > longestDocument) {
    throw new TypedDataFault('no text, or too long a one')
  }
  if (depthOf(text) > deepest) throw new TypedDataFault('too deep')
  const parsed = parse(text)
  if (!isJsonObject(parsed)) throw new TypedDataFault('no object')
  return parsed
}

export const isJsonObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function parse(text: string): JsonValue {
  try {
    return JSON.parse(text, (_name, value, context?: { readonly source?: string }) => {
      if (typeof value === 'number' && !/^-?\d{1,16}$/.test(context?.source ?? '')) throw new TypedDataFault('a number')
      if (typeof value === 'number' && !Number.isSafeInteger(value)) throw new TypedDataFault('an unsafe number')
      return value
    })
  } catch (error) {
    throw error instanceof TypedDataFault ? error : new TypedDataFault('no JSON')
  }
}

/** Of brackets outside texts. Before the parser, whose own descent is recursive. */
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
