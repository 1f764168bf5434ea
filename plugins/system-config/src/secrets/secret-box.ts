import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'

/** One master key with the id that encrypted values carry. */
export interface MasterKey {
  /** 16 hex digits that tell keys apart and give nothing of the key away. */
  readonly id: string
  readonly bytes: Buffer
}

const keyLength = 32
const nonceLength = 12
const tagLength = 16

export const newMasterKey = () => masterKeyOf(randomBytes(keyLength))

function masterKeyOf(bytes: Buffer): MasterKey {
  const id = createHash('sha256').update('plinth master key id\0').update(bytes).digest('hex').slice(0, 16)
  return { id, bytes }
}

/** Reads 32 bytes in base64 or hex; `undefined` for anything else. */
export function parseMasterKey(text: string): MasterKey | undefined {
  if (/^[0-9a-f]{64}$/i.test(text)) return masterKeyOf(Buffer.from(text, 'hex'))
  if (!/^[A-Za-z0-9+/_-]{43}=?$/.test(text)) return undefined
  return masterKeyOf(Buffer.from(text, 'base64'))
}

export const formatMasterKey = ({ bytes }: MasterKey) => bytes.toString('base64')

/**
 * Encrypts with AES-256-GCM under a fresh nonce; the answer is base64 of nonce, tag and cipher text.
 *
 * @param purpose bound to the cipher text: it decrypts for the same purpose only, so values cannot be swapped
 */
export function encrypt(key: Pick<MasterKey, 'bytes'>, purpose: string, text: string): string {
  const nonce = randomBytes(nonceLength)
  const cipher = createCipheriv('aes-256-gcm', key.bytes, nonce).setAAD(Buffer.from(purpose))
  const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64')
}

/** Throws when the text was altered, or encrypted with another key or for another purpose. */
export function decrypt(key: Pick<MasterKey, 'bytes'>, purpose: string, sealed: string): string {
  const bytes = Buffer.from(sealed, 'base64')
  const decipher = createDecipheriv('aes-256-gcm', key.bytes, bytes.subarray(0, nonceLength), {
    authTagLength: tagLength,
  })
  decipher.setAAD(Buffer.from(purpose)).setAuthTag(bytes.subarray(nonceLength, nonceLength + tagLength))
  return Buffer.concat([decipher.update(bytes.subarray(nonceLength + tagLength)), decipher.final()]).toString('utf8')
}
