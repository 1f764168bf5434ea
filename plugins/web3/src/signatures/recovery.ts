import { createRequire } from 'node:module'
import type { Address } from '../addresses.ts'
import { keccak256, toHex } from '../hex.ts'
import type { RecoverableSignature } from './signature-form.ts'

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
