import { createRequire } from 'node:module'
import type { Address } from '../addresses.ts'
import { fromHex, isHexBytes, keccak256, toHex, utf8 } from '../hex.ts'

/** A signature in the one form that is looked at further. */
interface RecoverableSignature {
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

/** How the text of a message stands for its bytes. Never guessed: `0x61` as text is another message than the byte. */
export type MessageEncoding = 'utf8' | 'hex'

/** Bytes of a message. What is hashed holds the event loop, so there is an end. */
const longestMessage = 16 * 1024

/**
 * The digest that `personal_sign` signs (EIP-191, version 0x45): the prefix holds the number of bytes, not of characters.
 * `undefined` for what is no such message: longer than `longestMessage`, half a surrogate pair, no hexadecimal bytes.
 */
export function personalDigest(message: string, encoding: MessageEncoding = 'utf8'): Uint8Array | undefined {
  const bytes = bytesOf(message, encoding)
  if (bytes === undefined || bytes.length > longestMessage) return undefined
  const prefix = utf8(`\x19Ethereum Signed Message:\n${bytes.length}`)
  return keccak256(Buffer.concat([prefix, bytes]))
}

function bytesOf(message: string, encoding: MessageEncoding): Uint8Array | undefined {
  if (typeof message !== 'string' || message.length > 2 + 2 * longestMessage) return undefined
  if (encoding === 'hex') return isHexBytes(message) ? fromHex(message) : undefined
  return message.isWellFormed() ? utf8(message) : undefined
}

/** What does the curve arithmetic: the same answers, some 20 times faster when native. */
export type RecoveryBackendName = 'native' | 'javascript'

export interface RecoveryBackend {
  readonly name: RecoveryBackendName
  /**
   * The uncompressed public key (65 bytes) that made the signature over the digest; `undefined` when there is none: r need
   * not be the x coordinate of a point.
   */
  recover(signature: RecoverableSignature, digest: Uint8Array): Uint8Array | undefined
}

interface NativeBindings {
  ecdsaRecover(signature: Uint8Array, recovery: number, digest: Uint8Array, compressed: boolean): Uint8Array
}

/** libsecp256k1 from a file that the package brings along; throws where there is none for this machine. */
export function nativeBackend(): RecoveryBackend {
  // The main entry of the package would silently take another library, which is slow and has a history of weaknesses.
  const bindings: NativeBindings = createRequire(import.meta.url)('secp256k1/bindings.js')
  return backend('native', ({ compact, parity }, digest) => bindings.ecdsaRecover(compact, parity, digest, false))
}

export async function javascriptBackend(): Promise<RecoveryBackend> {
  const { secp256k1 } = await import('@noble/curves/secp256k1.js')
  return backend('javascript', ({ compact, parity }, digest) => {
    const signature = secp256k1.Signature.fromBytes(compact, 'compact').addRecoveryBit(parity)
    return signature.recoverPublicKey(digest).toBytes(false)
  })
}

/** @param recover throws where there is no key */
const backend = (
  name: RecoveryBackendName,
  recover: (signature: RecoverableSignature, digest: Uint8Array) => Uint8Array,
): RecoveryBackend => ({
  name,
  recover(signature, digest) {
    try {
      return recover(signature, digest)
    } catch {
      return undefined
    }
  },
})

/** The native one where it loads. */
export async function bestBackend(): Promise<RecoveryBackend> {
  try {
    return nativeBackend()
  } catch {
    return await javascriptBackend()
  }
}

/** The address of an uncompressed public key: the last 20 bytes of the hash of its coordinates. */
export const addressOfKey = (key: Uint8Array): Address => toHex(keccak256(key.subarray(1)).subarray(12))
