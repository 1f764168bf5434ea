import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { type BusinessError, type Logger, reasonOf } from '@plinth/kernel'
import type { PluginKey } from '@plinth/system-config'
import { refusal } from './failures.ts'

const cipherName = 'aes-256-gcm'
const nonceLength = 12
const tagLength = 16

/** Seals the secrets of applications under a key that the database does not hold. */
export class SecretBox {
  readonly #key: Pick<PluginKey, 'find' | 'get'>
  readonly #log: Logger

  constructor(key: Pick<PluginKey, 'find' | 'get'>, log: Logger) {
    this.#key = key
    this.#log = log
  }

  /**
   * @param appKey bound to the sealed text, so that secrets cannot be swapped between applications
   * @throws BusinessError `503`, reason `open-platform.secret-key-unusable`
   */
  async seal(appKey: string, secret: string): Promise<string> {
    const key = await this.#key.get().catch((error: unknown) => {
      throw this.#unusable(reasonOf(error), error)
    })
    const nonce = randomBytes(nonceLength)
    const cipher = createCipheriv(cipherName, key, nonce).setAAD(Buffer.from(appKey))
    const body = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()])
    return Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64')
  }

  /** Throws as `seal` does, also for a text that was altered. */
  async open(appKey: string, sealed: string): Promise<string> {
    const key = await this.#key.find()
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

  #unusable(reason: string, cause?: unknown): BusinessError {
    this.#log.error({ reason }, 'the key of application secrets cannot be used')
    return refusal('secret-key-unusable', { cause })
  }
}
