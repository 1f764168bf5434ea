import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { errorReason, type Logger } from '@plinth/kernel'
import type { SharedStore } from '@plinth/shared-store'
import type { PluginEncryptionKey } from '@plinth/system-config'
import { businessError } from './declarations.ts'

/**
 * Stores sent codes in the shared store, for all instances. Only an HMAC-SHA256 of each code is stored, because six
 * digits are easy to guess. Neither the shared store nor the database contains the HMAC key in plain text.
 *
 * @throws BusinessError `503` if the store or the key is not available
 */
export class CodeStore {
  readonly #store: SharedStore
  readonly #key: Pick<PluginEncryptionKey, 'find' | 'get'>
  readonly #log: Logger

  constructor(store: SharedStore, key: Pick<PluginEncryptionKey, 'find' | 'get'>, log: Logger) {
    this.#store = store
    this.#key = key
    this.#log = log
  }

  /**
   * Stores a code and replaces an earlier code of the key. The returned function deletes the code, unless a later code
   * has replaced it.
   */
  async put(key: string, code: string, ttlMs: number): Promise<() => Promise<void>> {
    const secret = await this.#reach(() => this.#key.get())
    const salt = randomBytes(16).toString('hex')
    const stored = `${salt}.${mac(secret, salt, key, code).toString('hex')}`
    await this.#reach(() => this.#store.set(key, stored, ttlMs))
    return async () => void (await this.#reach(() => this.#store.deleteIf(key, stored)))
  }

  /** Checks a code and deletes it. Among concurrent callers with the correct code, only one gets true. */
  async use(key: string, code: string): Promise<boolean> {
    const stored = await this.#reach(() => this.#store.get(key))
    if (stored === undefined) return false
    const secret = await this.#reach(() => this.#key.find())
    if (secret === undefined || !isMacOf(stored, secret, key, code)) return false
    // Deletes only the checked code, because a newer code may have been stored since.
    return this.#reach(() => this.#store.deleteIf(key, stored))
  }

  async #reach<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call()
    } catch (cause) {
      this.#log.error({ reason: errorReason(cause) }, 'the store of verification codes cannot be used')
      throw businessError('store-unavailable', { cause })
    }
  }
}

/** JSON keeps the boundaries between the parts, so that different parts never give the same text. */
const mac = (secret: Buffer, salt: string, key: string, code: string) =>
  createHmac('sha256', secret)
    .update(JSON.stringify(['plinth-verification-code-v1', salt, key, code]))
    .digest()

function isMacOf(stored: string, secret: Buffer, key: string, code: string): boolean {
  const [salt = '', expected = ''] = stored.split('.')
  const given = Buffer.from(expected, 'hex')
  const found = mac(secret, salt, key, code)
  return found.length === given.length && timingSafeEqual(found, given)
}
