import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { type Logger, reasonOf } from '@plinth/kernel'
import type { SharedStore } from '@plinth/shared-store'
import { refusal } from './failures.ts'

/** Codes that were sent, as salted SHA-256, shared by all instances. Throws `503` when the store does not answer. */
export class CodeStore {
  readonly #store: SharedStore
  readonly #log: Logger

  constructor(store: SharedStore, log: Logger) {
    this.#store = store
    this.#log = log
  }

  /** Replaces the code under the key. The answer makes this code void, not one that came later. */
  async put(key: string, code: string, ttlMs: number): Promise<() => Promise<void>> {
    const salt = randomBytes(16).toString('hex')
    const stored = `${salt}.${digest(salt, key, code)}`
    await this.#reach(() => this.#store.set(key, stored, ttlMs))
    return () =>
      this.#reach(async () => {
        if ((await this.#store.get(key)) === stored) await this.#store.delete(key)
      })
  }

  /** True for the one caller that uses up the code. */
  async use(key: string, code: string, ttlMs: number): Promise<boolean> {
    const stored = await this.#reach(() => this.#store.get(key))
    if (stored === undefined || !isHashOf(stored, key, code)) return false
    const taken = await this.#reach(() => this.#store.take(key))
    if (taken === stored) return true
    // A fresh code came in between: it was not meant.
    if (taken !== undefined) await this.#reach(() => this.#store.setIfAbsent(key, taken, ttlMs))
    return false
  }

  async #reach<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call()
    } catch (cause) {
      this.#log.error({ reason: reasonOf(cause) }, 'verification codes cannot be reached')
      throw refusal('store-unavailable', { cause })
    }
  }
}

const digest = (salt: string, key: string, code: string) => hash('sha256', `${salt} ${key} ${code}`)

function isHashOf(stored: string, key: string, code: string): boolean {
  const [salt = '', expected = ''] = stored.split('.')
  const found = Buffer.from(digest(salt, key, code))
  return found.length === expected.length && timingSafeEqual(found, Buffer.from(expected))
}
