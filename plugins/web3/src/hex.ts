import { keccak_256 } from '@noble/hashes/sha3.js'

/** Hexadecimal text with the prefix `0x`. */
export type Hex = `0x${string}`

/** Converts bytes to lower-case hexadecimal text. */
export const toHex = (bytes: Uint8Array): Hex => `0x${viewOf(bytes).toString('hex')}`

/** True for `0x` followed by complete bytes, from `least` to `most` of them. */
export const isHexBytes = (text: string, least = 0, most = Number.POSITIVE_INFINITY): text is Hex =>
  text.length % 2 === 0 && text.length >= 2 + 2 * least && text.length <= 2 + 2 * most && /^0x[0-9a-fA-F]*$/.test(text)

/** Returns the text with lower-case digits. */
export const lowerHex = (text: Hex): Hex => `0x${text.slice(2).toLowerCase()}`

/** Converts a text that satisfies `isHexBytes` to bytes. */
export const fromHex = (text: Hex): Uint8Array => Buffer.from(text.slice(2), 'hex')

/** Returns the Keccak-256 hash of Ethereum, whose padding differs from SHA-3. */
export const keccak256 = (bytes: Uint8Array): Uint8Array => keccak_256(bytes)

/** Encodes text as UTF-8. */
export const utf8 = (text: string): Uint8Array => Buffer.from(text, 'utf8')

const viewOf = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
