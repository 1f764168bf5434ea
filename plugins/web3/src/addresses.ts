import { LRUCache } from 'lru-cache'
import { refusal } from './failures.ts'
import { type Hex, keccak256, toHex, utf8 } from './hex.ts'

/** An address that was checked: `0x` and 40 lower-case hexadecimal digits. Equal addresses are equal texts. */
export type Address = Hex

/** Nobody's address: well-formed, and refused where money or a login would go to it. */
export const zeroAddress: Address = `0x${'0'.repeat(40)}`

const form = /^0x[0-9a-fA-F]{40}$/
/** Also what differs from an address in the case of the `x` alone. */
const looseForm = /^0x[0-9a-f]{40}$/i

/** Letters alone tell: digits are the same in both cases. */
const lower = (text: string): Hex => `0x${text.slice(2).toLowerCase()}`
const upper = (text: string) => `0x${text.slice(2).toUpperCase()}`

/**
 * Whether the text is an EVM address: `0x` and 40 hexadecimal digits, in lower case, in upper case, or in mixed case with
 * the right checksum (EIP-55). A wrong checksum is a typing mistake in what somebody is about to be paid at (decision B53).
 * Nothing is trimmed; names (ENS), ICAP and longer values are none.
 */
export function isAddress(text: string): boolean {
  return normalize(text) !== null
}

/** The address in lower case, or null when the text is none. */
export function normalize(text: string): Address | null {
  if (typeof text !== 'string' || text.length !== 42 || !form.test(text)) return null
  const folded = lower(text)
  return text === folded || text === upper(text) || text === checksumOf(folded) ? folded : null
}

/**
 * The address in lower case.
 *
 * @param field of the request that held the text
 * @throws BusinessError "400" `web3.address-invalid`
 */
export function requireAddress(text: string, field = 'address'): Address {
  const address = normalize(text)
  if (address === null) throw refusal('address-invalid', { data: { field } })
  return address
}

/** The address with its checksum in the case of its letters (EIP-55, without EIP-1191), or null when the text is none. */
export function toChecksumAddress(text: string): string | null {
  const address = normalize(text)
  return address === null ? null : checksumOf(address)
}

/**
 * Whether a person may take the text for an address: any case of letters, also with a wrong checksum. For rules about names
 * alone; money is compared with `normalize`.
 */
export const isAddressShaped = (text: string): boolean => text.length === 42 && looseForm.test(text)

/** The helpers under the names that document 3 gives them ("Helpers", rule 6). Local: no request, no private key. */
export const web3Addresses = Object.freeze({ isAddress, normalize, require: requireAddress, toChecksumAddress })

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
