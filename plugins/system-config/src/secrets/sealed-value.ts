import { createHash, timingSafeEqual } from 'node:crypto'
import { type JsonValue, maskedValue } from '@plinth/kernel'
import type { Fingerprints } from '@plinth/kernel/host'
import type { Keyring } from './master-keys.ts'
import { decrypt, encrypt, type MasterKey } from './secret-box.ts'

/** A value as stored: JSON text, which is encrypted if `masterKeyId` is set. */
export interface SealedValue {
  readonly text: string
  readonly masterKeyId: string | null
}

/** Prefix of a decrypted text that contains a secret with its destination. */
const boundMark = 'bound:'
/**
 * Purpose for the encryption of a secret with a destination. It differs from other purposes, so that texts with and
 * without a destination cannot be confused.
 */
const boundPurpose = (configKey: string) => `${configKey} with its destination`

/**
 * Returns a value in its stored form.
 *
 * @param key master key for a secret; `undefined`: the value is not encrypted
 * @param destination destination for which the secret was entered; it is encrypted together with the secret
 */
export function sealValue(
  key: MasterKey | undefined,
  configKey: string,
  value: JsonValue,
  destination?: Fingerprints,
): SealedValue {
  if (key === undefined) return { text: JSON.stringify(value), masterKeyId: null }
  const text =
    destination === undefined
      ? encrypt(key, configKey, JSON.stringify(value))
      : boundMark + encrypt(key, boundPurpose(configKey), JSON.stringify({ value, destination }))
  return { text, masterKeyId: key.id }
}

type Opened =
  | { readonly value: JsonValue; readonly destination: Fingerprints | undefined }
  | { readonly problem: string }

/** Returns the value of a row, or why it cannot be read. The reason contains neither the value nor the ciphertext. */
export function unsealValue({ byId, problem }: Keyring, configKey: string, { text, masterKeyId }: SealedValue): Opened {
  const key = masterKeyId === null ? undefined : byId.get(masterKeyId)
  if (masterKeyId !== null && key === undefined) {
    const cause = problem ?? 'This instance does not have that key.'
    return {
      problem: `Encrypted with master key ${masterKeyId}, which is missing. ${cause} Restore it, or set the value again.`,
    }
  }
  try {
    if (key === undefined) return { value: JSON.parse(text), destination: undefined }
    if (!text.startsWith(boundMark)) return { value: JSON.parse(decrypt(key, configKey, text)), destination: undefined }
    return JSON.parse(decrypt(key, boundPurpose(configKey), text.slice(boundMark.length)))
  } catch {
    const what = key === undefined ? 'is not valid JSON' : `was altered: master key ${masterKeyId} does not decrypt it`
    return { problem: `The stored value ${what}. Set it again.` }
  }
}

/** Compares in constant time, so that the duration does not reveal how much of a guess is correct. */
export function isSameSecret(a: JsonValue, b: JsonValue): boolean {
  const digest = (value: JsonValue) => createHash('sha256').update(JSON.stringify(value)).digest()
  return timingSafeEqual(digest(a), digest(b))
}

/** Returns a value for display. The mask has a fixed length. An empty text is not masked (decision D24). */
export const maskedForDisplay = (value: JsonValue | undefined, isSensitive: boolean): JsonValue | undefined =>
  isSensitive && value !== undefined && value !== '' ? maskedValue : value
