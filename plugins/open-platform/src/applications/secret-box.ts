import { type BusinessError, type Logger, reasonOf } from '@plinth/kernel'
import { type PluginKey, SealedBox } from '@plinth/system-config'
import { businessError } from '../failures.ts'

/** Seals the secrets of applications with a key that the database does not contain in plain text. */
export class SecretBox {
  readonly #box: SealedBox
  readonly #log: Logger

  constructor(key: Pick<PluginKey, 'find' | 'get'>, log: Logger) {
    this.#box = new SealedBox(key)
    this.#log = log
  }

  /**
   * @param appKey bound to the sealed text, so that secrets cannot be exchanged between applications
   * @throws BusinessError `503`, reason `open-platform.secret-key-unusable`
   */
  async seal(appKey: string, secret: string): Promise<string> {
    return this.#box.seal(appKey, secret).catch((error: unknown) => {
      throw this.#unusable(error)
    })
  }

  /** Throws like `seal`, also for a text that was altered. */
  async open(appKey: string, sealed: string): Promise<string> {
    return this.#box.open(appKey, sealed).catch((error: unknown) => {
      throw this.#unusable(error)
    })
  }

  #unusable(cause: unknown): BusinessError {
    this.#log.error({ reason: reasonOf(cause) }, 'the key of application secrets cannot be used')
    return businessError('secret-key-unusable', { cause })
  }
}
