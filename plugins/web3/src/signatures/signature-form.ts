import { fromHex, isHexBytes } from '../hex.ts'

/** A signature in the one form that is looked at further. */
export interface RecoverableSignature {
  /** r and s, 32 bytes each. */
  readonly compact: Uint8Array
  /** Parity of the y coordinate of the point whose x coordinate is r. */
  readonly parity: 0 | 1
}

type SignatureFault = 'signature-malformed' | 'signature-high-s'

/** Order of the group of secp256k1 (SEC 2, section 2.4.1). */
const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const half = order / 2n

const wordBytes = 32
/** r, s and v; or r and s with the parity in the highest bit of s (EIP-2098). */
const longBytes = 65
const shortBytes = 64

/**
 * Reads a signature by strict rules: `0x` and exactly 65 or 64 bytes; v is 0, 1, 27 or 28; 0 < r < n and 0 < s <= n/2.
 * Libraries accept more, such as an odd number of digits, and the twin of each signature with the high s, which recovers
 * the same address (EIP-2, reference "Signatures", rules 1 and 2).
 */
export function readSignature(text: string): RecoverableSignature | SignatureFault {
  if (typeof text !== 'string' || !isHexBytes(text, shortBytes, longBytes)) return 'signature-malformed'
  const bytes = fromHex(text)
  const expanded = bytes.length === longBytes ? readLong(bytes) : readShort(bytes)
  if (expanded === undefined) return 'signature-malformed'
  const r = numberOf(expanded.compact.subarray(0, wordBytes))
  const s = numberOf(expanded.compact.subarray(wordBytes))
  if (r === 0n || r >= order || s === 0n || s >= order) return 'signature-malformed'
  return s > half ? 'signature-high-s' : expanded
}

function readLong(bytes: Uint8Array): RecoverableSignature | undefined {
  const v = bytes[longBytes - 1] ?? 0
  const parity = v >= 27 ? v - 27 : v
  return parity === 0 || parity === 1 ? { compact: bytes.subarray(0, shortBytes), parity } : undefined
}

function readShort(bytes: Uint8Array): RecoverableSignature {
  const highest = bytes[wordBytes] ?? 0
  const compact = Uint8Array.from(bytes)
  compact[wordBytes] = highest & 0x7f
  return { compact, parity: highest >= 0x80 ? 1 : 0 }
}

const numberOf = (bytes: Uint8Array) => BigInt(`0x${Buffer.from(bytes).toString('hex')}`)
