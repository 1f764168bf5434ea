import { randomBytes } from 'node:crypto'
import { isBusinessError, type KeyDeclaration, key, type LocalizedText, reasonOf } from '@plinth/kernel'
import type { ConfigCentre } from '../contract.ts'

/** Bytes of a key. */
const keyLength = 32

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
    const value = randomBytes(keyLength).toString('base64')
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
    return this.#key.bytes.length === keyLength ? this.#key.bytes : undefined
  }

  /** Another instance may have made the key a moment ago. */
  async #ofOthers(): Promise<Buffer | undefined> {
    await this.#parts.centre.refresh()
    return this.#now()
  }
}
