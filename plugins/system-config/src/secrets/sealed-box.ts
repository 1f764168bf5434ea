import type { PluginKey } from './plugin-key.ts'
import { decrypt, encrypt } from './secret-box.ts'

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
