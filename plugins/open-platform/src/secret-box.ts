import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { BusinessError, type Logger, reasonOf } from '@plinth/kernel'
import type { ConfigCentre } from '@plinth/system-config'
import { secretKeyName } from './config.ts'
import { refusal } from './failures.ts'

const cipherName = 'aes-256-gcm'
const keyLength = 32
const nonceLength = 12
const tagLength = 16

export interface SecretBoxParts {
  /** Id of this plugin. */
  readonly plugin: string
  readonly centre: Pick<ConfigCentre, 'saveState' | 'refresh'>
  /** The key in base64 as this instance knows it; empty as long as there is none. */
  readonly storedKey: () => string
  readonly log: Logger
}

/**
 * Seals the secrets of applications. They are encrypted under a key of their own, which is state in the configuration
 * centre: stored encrypted under the master key, shared by all instances, and covered by `plinth config rotate-secrets`.
 */
export class SecretBox {
  readonly #parts: SecretBoxParts
  #key: { readonly text: string; readonly bytes: Buffer } | undefined

  constructor(parts: SecretBoxParts) {
    this.#parts = parts
  }

  /**
   * @param appKey bound to the sealed text, so that secrets cannot be swapped between applications
   * @throws BusinessError `503`, reason `open-platform.secret-key-unusable`
   */
  async seal(appKey: string, secret: string): Promise<string> {
    const key = await this.#keyOrNew()
    const nonce = randomBytes(nonceLength)
    const cipher = createCipheriv(cipherName, key, nonce).setAAD(Buffer.from(appKey))
    const body = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()])
    return Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64')
  }

  /** Throws as `seal` does, also for a text that was altered. */
  async open(appKey: string, sealed: string): Promise<string> {
    const key = this.#keyNow() ?? (await this.#keyOfOthers())
    if (key === undefined) throw this.#unusable('there is none, or it cannot be decrypted')
    const bytes = Buffer.from(sealed, 'base64')
    try {
      const nonce = bytes.subarray(0, nonceLength)
      const decipher = createDecipheriv(cipherName, key, nonce, { authTagLength: tagLength })
      decipher.setAAD(Buffer.from(appKey)).setAuthTag(bytes.subarray(nonceLength, nonceLength + tagLength))
      const text = [decipher.update(bytes.subarray(nonceLength + tagLength)), decipher.final()]
      return Buffer.concat(text).toString('utf8')
    } catch {
      throw this.#unusable(`the sealed secret of application ${appKey} was altered or is of another key`)
    }
  }

  #keyNow(): Buffer | undefined {
    const text = this.#parts.storedKey()
    if (text === '') return undefined
    if (this.#key?.text !== text) this.#key = { text, bytes: Buffer.from(text, 'base64') }
    return this.#key.bytes.length === keyLength ? this.#key.bytes : undefined
  }

  /** Another instance may have made the key a moment ago. */
  async #keyOfOthers(): Promise<Buffer | undefined> {
    await this.#parts.centre.refresh()
    return this.#keyNow()
  }

  async #keyOrNew(): Promise<Buffer> {
    const known = this.#keyNow() ?? (await this.#keyOfOthers())
    if (known !== undefined) return known
    const { plugin, centre } = this.#parts
    const value = randomBytes(keyLength).toString('base64')
    try {
      // Only where nothing is stored: a key that cannot be read right now must not be replaced.
      const change = { key: secretKeyName, action: 'set', value, expectedVersion: 0 } as const
      await centre.saveState(plugin, [change], { actor: { name: plugin }, reason: 'first secret of an application' })
    } catch (error) {
      if (!(error instanceof BusinessError) || error.code !== '409') throw this.#unusable(reasonOf(error), error)
    }
    const key = this.#keyNow() ?? (await this.#keyOfOthers())
    if (key === undefined) throw this.#unusable('the stored key is no 32 bytes in base64, or it cannot be decrypted')
    return key
  }

  #unusable(reason: string, cause?: unknown): BusinessError {
    this.#parts.log.error({ reason }, 'the key of application secrets cannot be used')
    return refusal('secret-key-unusable', { cause })
  }
}
