import { createHash, timingSafeEqual } from 'node:crypto'
import { type JsonValue, maskedValue } from '@plinth/kernel'
import type { Fingerprints } from '@plinth/kernel/host'
import type { Keyring } from './master-keys.ts'
import { decrypt, encrypt, type MasterKey } from './secret-box.ts'

/**
 * A value as stored: JSON text, which is encrypted if `masterKeyId` is set. `destination` is the encrypted destination
 * of a secret; earlier versions ignore it.
 */
export interface SealedValue {
  readonly text: string
  readonly masterKeyId: string | null
  readonly destination: string | null
}

/** A decrypted value. */
export interface OpenedValue {
  readonly value: JsonValue
  /** Destination for which a secret was entered; `undefined`: none is stored, or the stored one is not its own. */
  readonly destination?: Fingerprints | undefined
  /** True if the secret was sealed together with a destination. Then it must not be used without one. */
  readonly isBound?: boolean
}

/**
 * Ends the JSON text of a secret that was sealed with a destination. JSON ignores white space, so earlier versions read
 * this text too. The mark is encrypted, so nobody can remove it in the database to make the secret look like one of a
 * version without destinations, which is bound to the current destination.
 */
const boundMark = '\n'
/** Prefix of a text in which a development version encrypted the secret and its destination together. */
const combinedPrefix = 'bound:'
const combinedPurpose = (configKey: string) => `${configKey} with its destination`
/** A destination belongs to one ciphertext of one key. */
const destinationPurpose = (configKey: string, text: string) =>
  `${configKey} destination of ${createHash('sha256').update(text).digest('hex')}`

/**
 * Returns a value in its stored form. The text is a form that all versions read.
 *
 * @param key master key for a secret; `undefined`: the value is not encrypted
 */
export function sealValue(
  key: MasterKey | undefined,
  configKey: string,
  { value, destination, isBound = false }: OpenedValue,
): SealedValue {
  const json = JSON.stringify(value)
  if (key === undefined) return { text: json, masterKeyId: null, destination: null }
  const hasMark = isBound || destination !== undefined
  const text = encrypt(key, configKey, hasMark ? json + boundMark : json)
  return { text, masterKeyId: key.id, destination: sealDestination(key, configKey, text, destination) }
}

/** Returns the stored form of a destination. It can only be opened together with this key and ciphertext. */
export const sealDestination = (
  key: MasterKey,
  configKey: string,
  text: string,
  destination: Fingerprints | undefined,
): string | null =>
  destination === undefined ? null : encrypt(key, destinationPurpose(configKey, text), JSON.stringify(destination))

/** Returns the value of a row, or why it cannot be read. The reason contains neither the value nor the ciphertext. */
export function unsealValue(
  { byId, problem }: Keyring,
  configKey: string,
  sealed: SealedValue,
): OpenedValue | { readonly problem: string } {
  const { text, masterKeyId } = sealed
  const key = masterKeyId === null ? undefined : byId.get(masterKeyId)
  if (masterKeyId !== null && key === undefined) {
    const cause = problem ?? 'This instance does not have that key.'
    return {
      problem: `Encrypted with master key ${masterKeyId}, which is missing. ${cause} Restore it, or set the value again.`,
    }
  }
  try {
    if (key === undefined) return { value: JSON.parse(text) }
    const destination = unsealDestination(key, configKey, sealed)
    if (!text.startsWith(combinedPrefix)) {
      const json = decrypt(key, configKey, text)
      return { value: JSON.parse(json), destination, isBound: json.endsWith(boundMark) }
    }
    const combined = JSON.parse(decrypt(key, combinedPurpose(configKey), text.slice(combinedPrefix.length)))
    return { value: combined.value, destination: { ...destination, ...combined.destination }, isBound: true }
  } catch {
    const what = key === undefined ? 'is not valid JSON' : `was altered: master key ${masterKeyId} does not decrypt it`
    return { problem: `The stored value ${what}. Set it again.` }
  }
}

/** Like `unsealValue`, but rejects a secret that was sealed with a destination and has lost it. */
export function unsealForUse(keyring: Keyring, configKey: string, sealed: SealedValue): ReturnType<typeof unsealValue> {
  const opened = unsealValue(keyring, configKey, sealed)
  const isIncomplete = 'value' in opened && opened.isBound === true && opened.destination === undefined
  return isIncomplete ? { problem: 'The destination of the stored secret was altered. Set the secret again.' } : opened
}

function unsealDestination(
  key: MasterKey,
  configKey: string,
  { text, destination }: SealedValue,
): Fingerprints | undefined {
  if (destination === null) return undefined
  try {
    return JSON.parse(decrypt(key, destinationPurpose(configKey, text), destination))
  } catch {
    // An earlier version has replaced the secret and left the destination of its predecessor.
    return undefined
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
