import { keccak_256 } from '@noble/hashes/sha3.js'

/** Hexadecimal text with the prefix `0x`. */
export type Hex = `0x${string}`

/** The bytes as lower-case hexadecimal text. */
export const toHex = (bytes: Uint8Array): Hex => `0x${viewOf(bytes).toString('hex')}`

/** Whether the text is `0x` and a whole number of bytes, at least as many as `least` and at most as many as `most`. */
export const isHexBytes = (text: string, least = 0, most = Number.POSITIVE_INFINITY): text is Hex =>
  text.length % 2 === 0 && text.length >= 2 + 2 * least && text.length <= 2 + 2 * most && /^0x[0-9a-fA-F]*$/.test(text)

/** The same text with lower-case digits. */
export const lowerHex = (text: Hex): Hex => `0x${text.slice(2).toLowerCase()}`

/** The bytes of a text for which `isHexBytes` holds. */
export const fromHex = (text: Hex): Uint8Array => Buffer.from(text.slice(2), 'hex')

/** Keccak-256 as Ethereum uses it: the padding of the submission, not that of SHA-3. */
export const keccak256 = (bytes: Uint8Array): Uint8Array => keccak_256(bytes)

/** The bytes of the text in UTF-8. */
export const utf8 = (text: string): Uint8Array => Buffer.from(text, 'utf8')

const viewOf = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
