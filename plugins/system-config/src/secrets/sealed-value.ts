import { createHash, timingSafeEqual } from 'node:crypto'
import { type JsonValue, maskedValue } from '@plinth/kernel'
import type { BoundDestination } from '@plinth/kernel/host'
import type { Keyring } from './master-keys.ts'
import { decrypt, encrypt, type MasterKey } from './secret-box.ts'

/** A value as stored in a row: JSON text, encrypted if it has a master key id. */
export interface SealedValue {
  readonly text: string
  readonly masterKeyId: string | null
}

/** Prefix of a text that contains a secret with its destination. */
const boundMark = 'bound:'
/** Prevents reading a text with a destination as one without, and vice versa. */
const boundPurpose = (configKey: string) => `${configKey} with its destination`

/**
 * @param key master key for a secret, `undefined` for a plaintext value
 * @param destination the destination that the secret was entered for; it is encrypted with the secret
 */
export function seal(
  key: MasterKey | undefined,
  configKey: string,
  value: JsonValue,
  destination?: BoundDestination,
): SealedValue {
  if (key === undefined) return { text: JSON.stringify(value), masterKeyId: null }
  const text =
    destination === undefined
      ? encrypt(key, configKey, JSON.stringify(value))
      : boundMark + encrypt(key, boundPurpose(configKey), JSON.stringify({ value, destination }))
  return { text, masterKeyId: key.id }
}

type Opened =
  | { readonly value: JsonValue; readonly destination: BoundDestination | undefined }
  | { readonly problem: string }

/** Returns the value of a row, or why it is unreadable. The problem contains neither value nor ciphertext. */
export function unseal({ byId, problem }: Keyring, configKey: string, { text, masterKeyId }: SealedValue): Opened {
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

/** Compares in constant time, so that the time does not reveal how much of the secret was guessed. */
export function sameSecret(a: JsonValue, b: JsonValue): boolean {
  const digest = (value: JsonValue) => createHash('sha256').update(JSON.stringify(value)).digest()
  return timingSafeEqual(digest(a), digest(b))
}

/** Returns a value for display. The mask has a fixed length, and an empty text is not a secret (decision D24). */
export const shown = (value: JsonValue | undefined, isSensitive: boolean): JsonValue | undefined =>
  isSensitive && value !== undefined && value !== '' ? maskedValue : value
