import { createCipheriv, createECDH, hkdfSync, randomBytes } from 'node:crypto'

export const curve = 'prime256v1'

/** Size of a body that each push service must accept (RFC 8030, section 7.2). */
const maxBodyBytes = 4_096
/** Salt, record size, length of the key, and the public key of the sender (RFC 8291, section 4). */
const headerBytes = 16 + 4 + 1 + 65
/** Delimiter and authentication tag of a record (RFC 8188, section 2). */
const recordOverheadBytes = 1 + 16
/** Maximum size of a message: 3,993 bytes. */
export const maxPlaintextBytes: number = maxBodyBytes - headerBytes - recordOverheadBytes

/** Keys of a subscription, decoded. */
export interface ReceiverKeys {
  /** Public key: a point of P-256, 65 bytes, not compressed. */
  readonly p256dh: Uint8Array
  /** Authentication secret, 16 bytes. */
  readonly auth: Uint8Array
}

interface RecordKeys {
  /** Input keying material. */
  readonly ikm: Uint8Array
  /** 16 bytes. */
  readonly salt: Uint8Array
  /** At most 255 bytes. */
  readonly keyId: Uint8Array
}

const derive = (ikm: Uint8Array, salt: Uint8Array, info: string | Uint8Array, length: number) =>
  Buffer.from(hkdfSync('sha256', ikm, salt, info, length))

/** Returns the content coding `aes128gcm` with one record (RFC 8188, section 2). */
export function encodeRecord(plaintext: Uint8Array, { ikm, salt, keyId }: RecordKeys): Buffer {
  const key = derive(ikm, salt, 'Content-Encoding: aes128gcm\0', 16)
  const cipher = createCipheriv('aes-128-gcm', key, derive(ikm, salt, 'Content-Encoding: nonce\0', 12))
  const recordSize = Buffer.alloc(4)
  recordSize.writeUInt32BE(maxBodyBytes)
  // The delimiter 2 marks the last record.
  const content = [cipher.update(plaintext), cipher.update(Uint8Array.of(2)), cipher.final(), cipher.getAuthTag()]
  return Buffer.concat([salt, recordSize, Uint8Array.of(keyId.length), keyId, ...content])
}

/**
 * Encrypts a message for a browser (RFC 8291, section 3.4).
 *
 * @param once values that must be used for one message only; default: new ones
 * @throws RangeError for a message above 3,993 bytes, Error for a public key that is not on the curve
 */
export function encryptMessage(
  plaintext: Uint8Array,
  { p256dh, auth }: ReceiverKeys,
  once: { readonly salt: Uint8Array; readonly privateKey?: Uint8Array } = { salt: randomBytes(16) },
): Buffer {
  if (plaintext.length > maxPlaintextBytes)
    throw new RangeError(`A push message has at most ${maxPlaintextBytes} bytes, not ${plaintext.length}`)
  const sender = createECDH(curve)
  if (once.privateKey === undefined) sender.generateKeys()
  else sender.setPrivateKey(once.privateKey)
  const keyId = sender.getPublicKey()
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), p256dh, keyId])
  const ikm = derive(sender.computeSecret(p256dh), auth, info, 32)
  return encodeRecord(plaintext, { ikm, salt: once.salt, keyId })
}
