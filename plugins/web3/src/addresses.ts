import { keccak_256 } from '@noble/hashes/sha3.js'
import { LRUCache } from 'lru-cache'
import { businessError } from './declarations.ts'

/** Hexadecimal text with the prefix `0x`. */
export type Hex = `0x${string}`

export const toHex = (bytes: Uint8Array): Hex => `0x${viewOf(bytes).toString('hex')}`

/** True if the text is `0x` followed by whole bytes in hexadecimal, from `least` to `most` of them. */
export const isHexBytes = (text: string, least = 0, most = Number.POSITIVE_INFINITY): text is Hex =>
  text.length % 2 === 0 && text.length >= 2 + 2 * least && text.length <= 2 + 2 * most && /^0x[0-9a-fA-F]*$/.test(text)

/** @param text must start with `0x` */
export const lowerHex = (text: string): Hex => `0x${text.slice(2).toLowerCase()}`

/** Decodes hexadecimal text. The text must satisfy `isHexBytes`. */
export const fromHex = (text: Hex): Uint8Array => Buffer.from(text.slice(2), 'hex')

/** The hash of Ethereum. Its padding differs from SHA3-256. */
export const keccak256 = (bytes: Uint8Array): Uint8Array => keccak_256(bytes)

export const utf8 = (text: string): Uint8Array => Buffer.from(text, 'utf8')

const viewOf = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** `0x` and 40 hexadecimal digits in lower case. Equal addresses have equal texts. */
export type Address = Hex

/** The address with the value zero. Payments to it and logins with it are rejected. */
export const zeroAddress: Address = `0x${'0'.repeat(40)}`

const addressPattern = /^0x[0-9a-fA-F]{40}$/
const loosePattern = /^0x[0-9a-f]{40}$/i

/** Returns an address in upper case; its prefix `0x` stays in lower case. */
const upper = (text: string) => `0x${text.slice(2).toUpperCase()}`

/**
 * True for an EVM address: `0x` and 40 hexadecimal digits in lower case, in upper case, or in mixed case with a valid
 * checksum (EIP-55). A wrong checksum indicates a typing error. Other forms are rejected, such as ENS names.
 */
export function isAddress(text: string): boolean {
  return normalizeAddress(text) !== null
}

/** Returns the address in lower case; null if it is invalid. */
export function normalizeAddress(text: string): Address | null {
  if (typeof text !== 'string' || text.length !== 42 || !addressPattern.test(text)) return null
  const folded = lowerHex(text)
  return text === folded || text === upper(text) || text === checksumOf(folded) ? folded : null
}

/**
 * @param field request field of the text
 * @throws BusinessError "400" `web3.address-invalid`
 */
export function requireAddress(text: string, field = 'address'): Address {
  const address = normalizeAddress(text)
  if (address === null) throw businessError('address-invalid', { data: { field } })
  return address
}

/** Adds the checksum (EIP-55, not EIP-1191); null for an invalid address. */
export function toChecksumAddress(text: string): string | null {
  const address = normalizeAddress(text)
  return address === null ? null : checksumOf(address)
}

/**
 * True if a text looks like an address, even with a wrong checksum. Only for rules about names; payments need
 * `normalizeAddress`.
 */
export const isAddressShaped = (text: string): boolean => text.length === 42 && loosePattern.test(text)

/** Functions under the names that document 3 of the specification defines ("Helpers", rule 6). */
export const web3Addresses = Object.freeze({
  isAddress,
  normalize: normalizeAddress,
  require: requireAddress,
  toChecksumAddress,
})

const checksums = new LRUCache<Address, string>({ max: 5000 })

function checksumOf(address: Address): string {
  const known = checksums.get(address)
  if (known !== undefined) return known
  const digits = address.slice(2)
  const hash = toHex(keccak256(utf8(digits))).slice(2)
  const letters = [...digits].map((digit, at) =>
    Number.parseInt(hash.charAt(at), 16) >= 8 ? digit.toUpperCase() : digit,
  )
  const checksum = `0x${letters.join('')}`
  checksums.set(address, checksum)
  return checksum
}
