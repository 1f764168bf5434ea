import type { JsonObject } from './bounded-json.ts'
import { TypedDataFault } from './fault.ts'

export interface StructField {
  readonly name: string
  readonly type: string
}

/** The structs of a document by name, each with its fields in the order in which they are hashed. */
export type StructTypes = ReadonlyMap<string, readonly StructField[]>

const mostTypes = 64
/** Of all types together. */
const mostFields = 512
const longestName = 128

/** What a type name may be: an identifier that is none of the types of Solidity, nor looks like one (`uint7`). */
const structName = /^[A-Za-z_$][A-Za-z0-9_$:]*$/
const atomicLooking = /^(?:address|bool|string|(?:u?int|bytes)[0-9]*)$/
const fieldName = /^[A-Za-z_$][A-Za-z0-9_$]*$/
const arraySuffix = /\[(?:[1-9][0-9]{0,4})?\]$/
const atomic = /^(?:address|bool|string|bytes(?:[1-9]|[12][0-9]|3[0-2])?|u?int(\d{1,3}))$/

/**
 * Reads the member `types`. A name that holds a comma or a bracket could make the text that is hashed mean another type.
 *
 * @throws TypedDataFault
 */
export function readTypes(declared: JsonObject): StructTypes {
  const entries = Object.entries(declared)
  if (entries.length > mostTypes) throw new TypedDataFault('too many types')
  const types = new Map(entries.map(([name, fields]) => [checkedName(name), readFields(fields)]))
  let total = 0
  for (const fields of types.values()) {
    total += fields.length
    for (const { type } of fields) assertKnown(type, types)
  }
  if (total > mostFields) throw new TypedDataFault('too many fields')
  return types
}

/** The type of the elements when it is an array; the number of elements when that is fixed. */
export function elementOf(type: string): { readonly element: string; readonly length: number | undefined } | undefined {
  const [suffix] = arraySuffix.exec(type) ?? []
  if (suffix === undefined) return undefined
  return { element: type.slice(0, -suffix.length), length: suffix === '[]' ? undefined : Number(suffix.slice(1, -1)) }
}

/** Bits of an integer type, `undefined` for every other type. */
export function bitsOf(type: string): number | undefined {
  const [, bits] = atomic.exec(type) ?? []
  return bits === undefined ? undefined : Number(bits)
}

function checkedName(name: string): string {
  if (name.length > longestName || !structName.test(name) || atomicLooking.test(name)) {
    throw new TypedDataFault('a type has no name of a struct')
  }
  return name
}

function readFields(fields: unknown): readonly StructField[] {
  if (!Array.isArray(fields)) throw new TypedDataFault('a type has no list of fields')
  const read = fields.map(readField)
  if (new Set(read.map(({ name }) => name)).size !== read.length) throw new TypedDataFault('two fields of one name')
  return read
}

function readField(field: unknown): StructField {
  const { name, type, ...rest } = Object(field) as JsonObject
  const isRead = typeof name === 'string' && name.length <= longestName && fieldName.test(name)
  if (!isRead || typeof type !== 'string' || type.length > longestName || Object.keys(rest).length > 0) {
    throw new TypedDataFault('a field without name or type')
  }
  return { name, type }
}

function assertKnown(type: string, types: StructTypes): void {
  let base = type
  for (let array = elementOf(base); array !== undefined; array = elementOf(base)) base = array.element
  if (types.has(base)) return
  const bits = bitsOf(base)
  const isSound = atomic.test(base) && (bits === undefined || (bits >= 8 && bits <= 256 && bits % 8 === 0))
  // Not `uint0128`: another text for a type that there is.
  if (!isSound || (bits !== undefined && !base.endsWith(`t${bits}`))) throw new TypedDataFault('an unknown type')
}
