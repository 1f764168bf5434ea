import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import {
  type DataCheck,
  errorReason,
  isBusinessError,
  type KeyDeclaration,
  key,
  type LocalizedText,
} from '@plinth/kernel'
import type { ConfigCentre } from '../contract.ts'

/**
 * Encrypts texts with the key of a plugin: AES-256-GCM with a random nonce. The key is not stored as plain text in the
 * database.
 */
export class PluginEncryption {
  readonly #key: Pick<PluginEncryptionKey, 'find' | 'get'>

  constructor(key: Pick<PluginEncryptionKey, 'find' | 'get'>) {
    this.#key = key
  }

  /**
   * @param purpose must be the same for decryption, so that encrypted texts cannot be swapped
   * @throws the errors of `PluginEncryptionKey.get`
   */
  async seal(purpose: string, text: string): Promise<string> {
    return encrypt({ bytes: await this.#key.get() }, purpose, text)
  }

  /** @throws Error for operators if the key does not exist, the text was altered, or the key or purpose differs */
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

/** A text that a plugin has sealed in one of its rows. */
export interface SealedText {
  /** Row for the error message, for example `application app_1`. */
  readonly row: string
  readonly purpose: string
  readonly sealed: string
}

/** Maximum number of rows that an error message lists. */
const maxListed = 5

/**
 * Returns a data check that opens all sealed texts of a plugin.
 *
 * @param read yields the sealed texts
 */
export const createSealedTextCheck =
  (box: Pick<PluginEncryption, 'open'>, read: () => AsyncIterable<SealedText>): DataCheck =>
  async ({ signal }) => {
    const unreadable: string[] = []
    for await (const { row, purpose, sealed } of read()) {
      signal.throwIfAborted()
      await box.open(purpose, sealed).catch(() => unreadable.push(row))
    }
    if (unreadable.length === 0) return
    const more = unreadable.length > maxListed ? ` and ${unreadable.length - maxListed} more` : ''
    throw new Error(`The secrets of ${unreadable.slice(0, maxListed).join(', ')}${more} cannot be decrypted.`)
  }

const pluginKeyLength = 32

export interface PluginKeyOptions {
  readonly plugin: string
  /** Configuration key that stores the plugin key, declared with `declarePluginKey`. */
  readonly name: string
  readonly centre: Pick<ConfigCentre, 'saveState' | 'refresh'>
  /** Returns the stored text, as known to this instance. */
  readonly stored: () => string
}

/** Declares the configuration key for a `PluginEncryptionKey`. It is encrypted, and operators cannot edit it. */
export const declarePluginKey = (texts: {
  readonly title: LocalizedText
  readonly description: LocalizedText
}): KeyDeclaration<string> => key.string({ ...texts, default: '', sensitive: true, state: true, reload: 'live' })

/**
 * A random secret of 256 bits with which a plugin encrypts or signs. It is created on first use and shared by all
 * instances. The config centre stores it encrypted with the master key, so a copy of the database does not reveal it.
 * `plinth secrets rotate` encrypts it again.
 */
export class PluginEncryptionKey {
  readonly #parts: PluginKeyOptions
  #key: { readonly text: string; readonly bytes: Buffer } | undefined

  constructor(parts: PluginKeyOptions) {
    this.#parts = parts
  }

  /**
   * Returns `undefined` if the key does not exist.
   *
   * @throws Error for operators if it cannot be read
   */
  async find(): Promise<Buffer | undefined> {
    return this.#now() ?? (await this.#ofOthers())
  }

  /**
   * Returns the key, and creates it if it does not exist. If several instances create it, all use the same one.
   *
   * @throws the errors of `find`
   */
  async get(): Promise<Buffer> {
    const known = await this.find()
    if (known !== undefined) return known
    const { plugin, name, centre } = this.#parts
    const value = randomBytes(pluginKeyLength).toString('base64')
    try {
      // Only stores the key if no value exists. Otherwise a key that is temporarily unreadable would be lost.
      const change = { key: name, action: 'set', value, expectedVersion: 0 } as const
      await centre.saveState(plugin, [change], { actor: { name: plugin } })
    } catch (error) {
      if (!isBusinessError(error) || error.code !== '409') throw new Error(errorReason(error), { cause: error })
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

  /** Reads the stored values again, because another instance may have just created the key. */
  async #ofOthers(): Promise<Buffer | undefined> {
    await this.#parts.centre.refresh()
    return this.#now()
  }
}

export interface MasterKey {
  /** 16 hexadecimal digits that identify the key without revealing it. */
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

/** Parses 32 bytes in base64 or hexadecimal. Returns `undefined` for other text. */
export function parseMasterKey(text: string): MasterKey | undefined {
  if (/^[0-9a-f]{64}$/i.test(text)) return masterKeyOf(Buffer.from(text, 'hex'))
  if (!/^[A-Za-z0-9+/_-]{43}=?$/.test(text)) return undefined
  return masterKeyOf(Buffer.from(text, 'base64'))
}

export const formatMasterKey = ({ bytes }: MasterKey) => bytes.toString('base64')

/**
 * Encrypts with AES-256-GCM and a random nonce. Returns nonce, tag and ciphertext in base64.
 *
 * @param purpose must be the same for decryption, so that encrypted values cannot be swapped
 */
export function encrypt(key: Pick<MasterKey, 'bytes'>, purpose: string, text: string): string {
  const nonce = randomBytes(nonceLength)
  const cipher = createCipheriv('aes-256-gcm', key.bytes, nonce).setAAD(Buffer.from(purpose))
  const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64')
}

/** @throws Error if the text was altered, or if the key or purpose differs */
export function decrypt(key: Pick<MasterKey, 'bytes'>, purpose: string, sealed: string): string {
  const bytes = Buffer.from(sealed, 'base64')
  const decipher = createDecipheriv('aes-256-gcm', key.bytes, bytes.subarray(0, nonceLength), {
    authTagLength: tagLength,
  })
  decipher.setAAD(Buffer.from(purpose)).setAuthTag(bytes.subarray(nonceLength, nonceLength + tagLength))
  return Buffer.concat([decipher.update(bytes.subarray(nonceLength + tagLength)), decipher.final()]).toString('utf8')
}
