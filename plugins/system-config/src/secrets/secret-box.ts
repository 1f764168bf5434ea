import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { isBusinessError, type KeyDeclaration, key, type LocalizedText, reasonOf } from '@plinth/kernel'
import type { ConfigCentre } from '../contract.ts'

/** Seals texts under the key of a plugin, which the database does not hold: AES-256-GCM under a fresh nonce. */
export class SealedBox {
  readonly #key: Pick<PluginKey, 'find' | 'get'>

  constructor(key: Pick<PluginKey, 'find' | 'get'>) {
    this.#key = key
  }

  /**
   * @param purpose bound to the sealed text, which opens for the same purpose only: texts cannot be swapped
   * @throws as `PluginKey.get` does
   */
  async seal(purpose: string, text: string): Promise<string> {
    return encrypt({ bytes: await this.#key.get() }, purpose, text)
  }

  /** Throws with a reason for operators when there is no key, or when the text was altered or sealed otherwise. */
  async open(purpose: string, sealed: string): Promise<string> {
    const bytes = await this.#key.find()
    if (bytes === undefined) throw new Error('there is no key, or it cannot be decrypted')
    try {
      return decrypt({ bytes }, purpose, sealed)
    } catch {
      throw new Error(`the sealed text of ${purpose} was altered or is of another key`)
    }
  }
}

/** Bytes of a key. */
const pluginKeyLength = 32

export interface PluginKeyParts {
  /** Id of the plugin whose key it is. */
  readonly plugin: string
  /** A key of the plugin declared with `pluginKeySetting`. */
  readonly name: string
  readonly centre: Pick<ConfigCentre, 'saveState' | 'refresh'>
  /** Its value as this instance knows it. */
  readonly stored: () => string
}

/** Declares the key in which a `PluginKey` is kept: empty at first, encrypted, and nobody's to set. */
export const pluginKeySetting = (texts: {
  readonly title: LocalizedText
  readonly description: LocalizedText
}): KeyDeclaration<string> => key.string({ ...texts, default: '', sensitive: true, state: true, reload: 'live' })

/**
 * A random secret of 256 bits that a plugin encrypts or signs with. It is state in the configuration centre: stored
 * encrypted under the master key, so that a copy of the database does not hold it, shared by all instances, and covered by
 * `plinth secrets rotate`. It is made when first needed.
 */
export class PluginKey {
  readonly #parts: PluginKeyParts
  #key: { readonly text: string; readonly bytes: Buffer } | undefined

  constructor(parts: PluginKeyParts) {
    this.#parts = parts
  }

  /** `undefined` as long as there is none. Throws when it cannot be read, with a reason for operators. */
  async find(): Promise<Buffer | undefined> {
    return this.#now() ?? (await this.#ofOthers())
  }

  /** Makes it where there is none; of several instances that do so one succeeds. Throws as `find` does. */
  async get(): Promise<Buffer> {
    const known = await this.find()
    if (known !== undefined) return known
    const { plugin, name, centre } = this.#parts
    const value = randomBytes(pluginKeyLength).toString('base64')
    try {
      // Only where nothing is stored: a key that cannot be read right now must not be replaced.
      const change = { key: name, action: 'set', value, expectedVersion: 0 } as const
      await centre.saveState(plugin, [change], { actor: { name: plugin }, reason: 'first use' })
    } catch (error) {
      if (!isBusinessError(error) || error.code !== '409') throw new Error(reasonOf(error), { cause: error })
    }
    const key = await this.find()
    if (key === undefined) throw new Error('the stored key is no 32 bytes in base64, or it cannot be decrypted')
    return key
  }

  #now(): Buffer | undefined {
    const text = this.#parts.stored()
    if (text === '') return undefined
    if (this.#key?.text !== text) this.#key = { text, bytes: Buffer.from(text, 'base64') }
    return this.#key.bytes.length === pluginKeyLength ? this.#key.bytes : undefined
  }

  /** Another instance may have made the key a moment ago. */
  async #ofOthers(): Promise<Buffer | undefined> {
    await this.#parts.centre.refresh()
    return this.#now()
  }
}

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
