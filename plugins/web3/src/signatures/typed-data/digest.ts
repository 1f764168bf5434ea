import { LRUCache } from 'lru-cache'
import { fromHex, type Hex, isHexBytes, keccak256, normalizeAddress, utf8 } from '../../addresses.ts'
import {
  arrayElementOf,
  domainType,
  integerBitsOf,
  isJsonObject,
  type JsonValue,
  type StructTypes,
  type TypedDataDocument,
  TypedDataError,
} from './document.ts'

const wordBytes = 32
/** Hashes of types, cached because all users of an application sign the same types. */
const typeHashes = new LRUCache<string, Uint8Array>({ max: 1000 })
const maxKeptLength = 1024
/** Maximum number of hashed words. Without it, many small values or nested types could block the event loop. */
const maxWords = 4096
/** Maximum length of a number in a text. It allows 2^256 in decimal digits, with a sign and some zeros. */
const maxNumberLength = 80

/**
 * Returns the digest of `eth_signTypedData_v4` (EIP-712). Every value must match its type, and a struct must have
 * exactly the members of its type. Otherwise data that was not signed could look signed.
 *
 * @throws TypedDataError
 */
export function typedDataDigest({ types, primaryType, domain, message }: TypedDataDocument): Uint8Array {
  const encoder = new Encoder(types)
  const separator = encoder.struct(domainType, domain)
  const content = encoder.struct(primaryType, message)
  return keccak256(Buffer.concat([Buffer.from([0x19, 0x01]), separator, content]))
}

/** Reads a JSON number, decimal text or `0x` text; undefined for other values. */
export function parseWholeNumber(value: JsonValue | undefined): bigint | undefined {
  if (typeof value === 'number') return BigInt(value)
  if (typeof value !== 'string' || value.length > maxNumberLength) return undefined
  return /^(?:-?\d+|0x[0-9a-fA-F]+)$/.test(value) ? BigInt(value) : undefined
}

class Encoder {
  readonly #types: StructTypes
  /** Hashes of the types in this document by name. The text of a type depends on the other types of the document. */
  readonly #typeHashes = new Map<string, Uint8Array>()
  #words = 0

  constructor(types: StructTypes) {
    this.#types = types
  }

  struct(type: string, value: JsonValue | undefined): Uint8Array {
    if (!isJsonObject(value)) throw new TypedDataError('no struct')
    const fields = this.#types.get(type) ?? []
    if (Object.keys(value).length !== fields.length) throw new TypedDataError('a struct with other members')
    const words = [this.#typeHash(type)]
    for (const field of fields) {
      if (!Object.hasOwn(value, field.name)) throw new TypedDataError('a struct without a member')
      words.push(this.#word(field.type, value[field.name]))
    }
    return this.#hash(words)
  }

  #word(type: string, value: JsonValue | undefined): Uint8Array {
    const array = arrayElementOf(type)
    if (array !== undefined) return this.#array(array, value)
    if (this.#types.has(type)) return this.struct(type, value)
    if (type === 'string') return hashOf(typeof value === 'string' && value.isWellFormed() ? utf8(value) : undefined)
    if (type === 'bytes') return hashOf(typeof value === 'string' && isHexBytes(value) ? fromHex(value) : undefined)
    if (type === 'bool') return flag(value)
    if (type === 'address') return padded('left', typeof value === 'string' ? normalizeAddress(value) : null)
    const bits = integerBitsOf(type)
    return bits === undefined ? fixedBytes(Number(type.slice('bytes'.length)), value) : integer(type, bits, value)
  }

  #array(
    { element, length }: NonNullable<ReturnType<typeof arrayElementOf>>,
    value: JsonValue | undefined,
  ): Uint8Array {
    if (!Array.isArray(value)) throw new TypedDataError('no array')
    if (length !== undefined && value.length !== length) throw new TypedDataError('an array of another length')
    if (value.length > maxWords) throw new TypedDataError('too long an array')
    return this.#hash(value.map((one: JsonValue) => this.#word(element, one)))
  }

  #hash(words: readonly Uint8Array[]): Uint8Array {
    this.#spend(words.length)
    return keccak256(Buffer.concat(words))
  }

  #spend(words: number): void {
    this.#words += words
    if (this.#words > maxWords) throw new TypedDataError('too many values')
  }

  #typeHash(type: string): Uint8Array {
    const known = this.#typeHashes.get(type)
    if (known !== undefined) return known
    const others = [...this.#referenced(type, new Set())].filter((name) => name !== type).sort()
    const text = [type, ...others].map((name) => `${name}(${this.#fieldList(name)})`).join('')
    this.#spend(text.length / wordBytes)
    const made = typeHashes.get(text) ?? keccak256(utf8(text))
    if (text.length <= maxKeptLength) typeHashes.set(text, made)
    this.#typeHashes.set(type, made)
    return made
  }

  #fieldList(type: string): string {
    return (this.#types.get(type) ?? []).map((field) => `${field.type} ${field.name}`).join(',')
  }

  #referenced(type: string, found: Set<string>): Set<string> {
    let base = type
    for (let array = arrayElementOf(base); array !== undefined; array = arrayElementOf(base)) base = array.element
    if (found.has(base) || !this.#types.has(base)) return found
    found.add(base)
    for (const field of this.#types.get(base) ?? []) this.#referenced(field.type, found)
    return found
  }
}

function hashOf(bytes: Uint8Array | undefined): Uint8Array {
  if (bytes === undefined) throw new TypedDataError('no such text')
  return keccak256(bytes)
}

function flag(value: JsonValue | undefined): Uint8Array {
  if (typeof value !== 'boolean') throw new TypedDataError('no truth value')
  return wordOf(value ? 1n : 0n)
}

function fixedBytes(size: number, value: JsonValue | undefined): Uint8Array {
  return padded('right', typeof value === 'string' && isHexBytes(value, size, size) ? value : null)
}

function padded(side: 'left' | 'right', text: Hex | null): Uint8Array {
  if (text === null) throw new TypedDataError('no such bytes')
  const word = new Uint8Array(wordBytes)
  const bytes = fromHex(text)
  word.set(bytes, side === 'left' ? wordBytes - bytes.length : 0)
  return word
}

function integer(type: string, bits: number, value: JsonValue | undefined): Uint8Array {
  const number = parseWholeNumber(value)
  const fits = (one: bigint) => (type.startsWith('u') ? BigInt.asUintN(bits, one) : BigInt.asIntN(bits, one)) === one
  if (number === undefined || !fits(number)) throw new TypedDataError('no number of the type')
  return wordOf(number)
}

/** Encodes an integer in 32 bytes: two's complement, most significant byte first. */
const wordOf = (number: bigint): Uint8Array =>
  Buffer.from(
    BigInt.asUintN(256, number)
      .toString(16)
      .padStart(2 * wordBytes, '0'),
    'hex',
  )
