import { type JsonObject, parseBoundedJson } from './bounded-json.ts'
import { TypedDataFault } from './fault.ts'
import { readTypes, type StructField, type StructTypes } from './types.ts'

/** A typed-data document whose form was checked; its values were not. */
export interface TypedDataDocument {
  readonly types: StructTypes
  readonly primaryType: string
  readonly domain: JsonObject
  readonly message: JsonObject
}

/** What of the domain a caller has to compare with what it expects: a signature for another contract is no consent. */
export interface TypedDataDomain {
  readonly name?: string
  readonly version?: string
  /** Decimal. */
  readonly chainId?: string
  readonly verifyingContract?: string
  readonly salt?: string
}

export const domainType = 'EIP712Domain'
/** The members of a domain in the order in which they are hashed (EIP-712, "Definition of domainSeparator"). */
const domainFields = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
  { name: 'chainId', type: 'uint256' },
  { name: 'verifyingContract', type: 'address' },
  { name: 'salt', type: 'bytes32' },
] as const

const members = new Set(['types', 'primaryType', 'domain', 'message'])

/**
 * Reads the JSON text of EIP-712 typed data.
 *
 * `EIP712Domain` may be missing among the types; it is made of the members of the domain then, in their standard order, as
 * wallets do. Where it is there, it names exactly those members.
 *
 * @throws TypedDataFault
 */
export function readDocument(text: string): TypedDataDocument {
  const root = parseBoundedJson(text)
  const strange = Object.keys(root).find((name) => !members.has(name))
  if (strange !== undefined) throw new TypedDataFault('a member that no signature covers')
  const { primaryType } = root
  const domain = objectIn(root, 'domain')
  const message = objectIn(root, 'message')
  const declared = readTypes(objectIn(root, 'types'))
  if (typeof primaryType !== 'string' || primaryType === domainType || !declared.has(primaryType)) {
    throw new TypedDataFault('the primary type is none of the types')
  }
  const types = new Map(declared).set(domainType, domainFieldsOf(domain, declared.get(domainType)))
  return { types, primaryType, domain, message }
}

function domainFieldsOf(domain: JsonObject, declared: readonly StructField[] | undefined) {
  const present = domainFields.filter(({ name }) => Object.hasOwn(domain, name))
  if (present.length !== Object.keys(domain).length) throw new TypedDataFault('the domain has an unknown member')
  if (declared === undefined) return present
  const agrees =
    declared.length === present.length &&
    declared.every(({ name, type }) => present.some((field) => field.name === name && field.type === type))
  if (!agrees) throw new TypedDataFault('the domain is not what its type says')
  return declared
}

function objectIn(root: JsonObject, name: string): JsonObject {
  const value = Object.hasOwn(root, name) ? root[name] : undefined
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new TypedDataFault(`no object: ${name}`)
  return value as JsonObject
}
