/** Error with a text for developers. Callers of the service receive only a stable code. */
export class TypedDataError extends Error {
  override readonly name = 'TypedDataError'
}

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject
export interface JsonObject {
  readonly [name: string]: JsonValue
}

/** Maximum length of a document in bytes of UTF-8. */
const maxDocumentLength = 64 * 1024
const deepest = 16

/**
 * Parses JSON in which numbers must be safe integers. A larger one would be rounded, so a value that nobody signed
 * would be verified.
 *
 * @throws TypedDataError
 */
function parseBoundedJson(text: string): JsonObject {
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

/** Counts nested brackets before parsing, because the parser is recursive. */
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

interface StructField {
  readonly name: string
  readonly type: string
}

/** Structs by name, with their fields in hashing order. */
export type StructTypes = ReadonlyMap<string, readonly StructField[]>

const maxTypes = 64
/** Maximum number of fields in all types together. */
const maxFields = 512
const maxNameLength = 128

/** Form of the name of a struct. It must not look like a Solidity type such as `uint7`. */
const structName = /^[A-Za-z_$][A-Za-z0-9_$:]*$/
const atomicLooking = /^(?:address|bool|string|(?:u?int|bytes)[0-9]*)$/
const fieldName = /^[A-Za-z_$][A-Za-z0-9_$]*$/
const arraySuffix = /\[(?:[1-9][0-9]{0,4})?\]$/
const atomic = /^(?:address|bool|string|bytes(?:[1-9]|[12][0-9]|3[0-2])?|u?int(\d{1,3}))$/

/**
 * Checks names strictly, because a comma or bracket could change the meaning of the hashed text.
 *
 * @throws TypedDataError
 */
function readTypes(declared: JsonObject): StructTypes {
  const entries = Object.entries(declared)
  if (entries.length > maxTypes) throw new TypedDataError('too many types')
  const types = new Map(entries.map(([name, fields]) => [checkedName(name), readFields(fields)]))
  let total = 0
  for (const fields of types.values()) {
    total += fields.length
    for (const { type } of fields) assertKnown(type, types)
  }
  if (total > maxFields) throw new TypedDataError('too many fields')
  return types
}

/** Returns the element type of an array type, and its length if fixed. */
export function arrayElementOf(
  type: string,
): { readonly element: string; readonly length: number | undefined } | undefined {
  const [suffix] = arraySuffix.exec(type) ?? []
  if (suffix === undefined) return undefined
  return { element: type.slice(0, -suffix.length), length: suffix === '[]' ? undefined : Number(suffix.slice(1, -1)) }
}

/** Returns the bits of an integer type; undefined for other types. */
export function integerBitsOf(type: string): number | undefined {
  const [, bits] = atomic.exec(type) ?? []
  return bits === undefined ? undefined : Number(bits)
}

function checkedName(name: string): string {
  if (name.length > maxNameLength || !structName.test(name) || atomicLooking.test(name)) {
    throw new TypedDataError('a type has no name of a struct')
  }
  return name
}

function readFields(fields: unknown): readonly StructField[] {
  if (!Array.isArray(fields)) throw new TypedDataError('a type has no list of fields')
  const read = fields.map(readField)
  if (new Set(read.map(({ name }) => name)).size !== read.length) throw new TypedDataError('two fields of one name')
  return read
}

function readField(field: unknown): StructField {
  const { name, type, ...rest }: JsonObject = Object(field)
  const isRead = typeof name === 'string' && name.length <= maxNameLength && fieldName.test(name)
  if (!isRead || typeof type !== 'string' || type.length > maxNameLength || Object.keys(rest).length > 0) {
    throw new TypedDataError('a field without name or type')
  }
  return { name, type }
}

function assertKnown(type: string, types: StructTypes): void {
  let base = type
  for (let array = arrayElementOf(base); array !== undefined; array = arrayElementOf(base)) base = array.element
  if (types.has(base)) return
  const bits = integerBitsOf(base)
  const isSound = atomic.test(base) && (bits === undefined || (bits >= 8 && bits <= 256 && bits % 8 === 0))
  // `uint0128` would be another spelling of `uint128`, so it is rejected.
  if (!isSound || (bits !== undefined && !base.endsWith(`t${bits}`))) throw new TypedDataError('an unknown type')
}

/** A document with a valid structure. Its values are not checked yet. */
export interface TypedDataDocument {
  readonly types: StructTypes
  readonly primaryType: string
  readonly domain: JsonObject
  readonly message: JsonObject
}

/** Domain of signed data. The caller must check it, because a signature for another contract approves nothing. */
export interface TypedDataDomain {
  readonly name?: string
  readonly version?: string
  /** Decimal string. */
  readonly chainId?: string
  readonly verifyingContract?: string
  readonly salt?: string
}

export const domainType = 'EIP712Domain'
/** Possible fields of a domain in hashing order (EIP-712, "Definition of domainSeparator"). */
const domainFields = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
  { name: 'chainId', type: 'uint256' },
  { name: 'verifyingContract', type: 'address' },
  { name: 'salt', type: 'bytes32' },
] as const

const members = new Set(['types', 'primaryType', 'domain', 'message'])

/**
 * Reads typed data. If the types do not define `EIP712Domain`, this type gets the members of the domain in standard
 * order, as in wallets. Otherwise the type must list exactly these members.
 *
 * @throws TypedDataError
 */
export function parseTypedDataDocument(text: string): TypedDataDocument {
  const root = parseBoundedJson(text)
  const unknownMember = Object.keys(root).find((name) => !members.has(name))
  if (unknownMember !== undefined) throw new TypedDataError('a member that no signature covers')
  const { primaryType } = root
  const domain = objectIn(root, 'domain')
  const message = objectIn(root, 'message')
  const declared = readTypes(objectIn(root, 'types'))
  if (typeof primaryType !== 'string' || primaryType === domainType || !declared.has(primaryType)) {
    throw new TypedDataError('the primary type is none of the types')
  }
  const types = new Map(declared).set(domainType, domainFieldsOf(domain, declared.get(domainType)))
  return { types, primaryType, domain, message }
}

function domainFieldsOf(domain: JsonObject, declared: readonly StructField[] | undefined) {
  const present = domainFields.filter(({ name }) => Object.hasOwn(domain, name))
  if (present.length !== Object.keys(domain).length) throw new TypedDataError('the domain has an unknown member')
  if (declared === undefined) return present
  const agrees =
    declared.length === present.length &&
    declared.every(({ name, type }) => present.some((field) => field.name === name && field.type === type))
  if (!agrees) throw new TypedDataError('the domain is not what its type says')
  return declared
}

function objectIn(root: JsonObject, name: string): JsonObject {
  const value = Object.hasOwn(root, name) ? root[name] : undefined
  if (!isJsonObject(value)) throw new TypedDataError(`no object: ${name}`)
  return value
}
