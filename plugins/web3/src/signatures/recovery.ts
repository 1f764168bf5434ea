import { createRequire } from 'node:module'
import { type Address, fromHex, isHexBytes, keccak256, toHex, utf8 } from '../addresses.ts'

interface RecoverableSignature {
  /** r and s, 32 bytes each. */
  readonly compact: Uint8Array
  /** Parity of the y coordinate of the point with x coordinate r. */
  readonly parity: 0 | 1
}

type SignatureProblem = 'signature-malformed' | 'signature-high-s'

/** Order of the group of secp256k1 (SEC 2, section 2.4.1). */
const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const half = order / 2n

const wordBytes = 32
/** r, s and v; or r and s with the parity in the highest bit of s (EIP-2098). */
const longBytes = 65
const shortBytes = 64

/**
 * Reads `0x` and exactly 65 or 64 bytes; v is 0, 1, 27 or 28; 0 < r < n; 0 < s <= n/2. Libraries also accept an odd
 * number of digits and a high s, which recovers the same address (EIP-2).
 */
export function readSignature(text: string): RecoverableSignature | SignatureProblem {
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

/** Encoding of a message. The caller must specify it, because the text `0x61` can be four characters or one byte. */
export type MessageEncoding = 'utf8' | 'hex'

/** Maximum number of bytes, because hashing blocks the event loop. */
const maxMessageLength = 16 * 1024

/**
 * Returns the digest of `personal_sign` (EIP-191, version 0x45). Its prefix counts bytes, not characters. Undefined for
 * a message that is too long, has an unpaired surrogate or invalid hexadecimal text.
 */
export function personalMessageDigest(message: string, encoding: MessageEncoding = 'utf8'): Uint8Array | undefined {
  const bytes = messageBytes(message, encoding)
  if (bytes === undefined || bytes.length > maxMessageLength) return undefined
  const prefix = utf8(`\x19Ethereum Signed Message:\n${bytes.length}`)
  return keccak256(Buffer.concat([prefix, bytes]))
}

function messageBytes(message: string, encoding: MessageEncoding): Uint8Array | undefined {
  if (typeof message !== 'string' || message.length > 2 + 2 * maxMessageLength) return undefined
  if (encoding === 'hex') return isHexBytes(message) ? fromHex(message) : undefined
  return message.isWellFormed() ? utf8(message) : undefined
}

/** The backends return the same results; `native` is about 20 times faster. */
export type RecoveryBackendName = 'native' | 'javascript'

export interface RecoveryBackend {
  readonly name: RecoveryBackendName
  /**
   * Returns the uncompressed public key (65 bytes) that signed. Undefined if no key exists, because not every r is the
   * x coordinate of a point.
   */
  recover(signature: RecoverableSignature, digest: Uint8Array): Uint8Array | undefined
}

interface NativeBindings {
  ecdsaRecover(signature: Uint8Array, recovery: number, digest: Uint8Array, compressed: boolean): Uint8Array
}

/** @throws if the package has no binary of libsecp256k1 for this machine */
export function nativeBackend(): RecoveryBackend {
  // Loads the bindings directly, because the main entry of the package falls back to a slow library that had
  // vulnerabilities.
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

/** @param recover throws if no key exists */
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

export async function bestBackend(): Promise<RecoveryBackend> {
  try {
    return nativeBackend()
  } catch {
    return await javascriptBackend()
  }
}

/** Returns the address of a public key: the last 20 bytes of the hash of its coordinates. */
export const addressOfKey = (key: Uint8Array): Address => toHex(keccak256(key.subarray(1)).subarray(12))
