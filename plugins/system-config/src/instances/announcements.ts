import { randomUUID } from 'node:crypto'
import { type Logger, reasonOf } from '@plinth/kernel'
import type { SharedStore } from '@plinth/shared-store'

const channel = 'system-config'

/** `values`: there is a new version. `secrets`: they are encrypted anew, so what could not be read may be readable now. */
export type Announcement = 'values' | 'secrets'

/**
 * Tells the other instances at once what was stored, and hears of it. Nothing depends on it: what gets lost, the next
 * poll finds. So nothing here throws.
 */
export class Announcements {
  readonly #store: SharedStore | undefined
  readonly #log: Logger
  readonly #own = randomUUID()
  readonly #underWay = new Set<Promise<void>>()

  constructor(store: SharedStore | undefined, log: Logger) {
    this.#store = store
    this.#log = log
  }

  /** Not inside a transaction. Does not wait: a store that is down must not hold up the save. */
  tell(what: Announcement): void {
    if (this.#store === undefined) return
    const telling = this.#store
      .publish(channel, `${this.#own} ${what}`)
      .catch((error: unknown) => {
        this.#log.warn({ reason: reasonOf(error) }, 'other instances notice the change at their next poll only')
      })
      .finally(() => this.#underWay.delete(telling))
    this.#underWay.add(telling)
  }

  /** Resolves when everything has been told. */
  async settled(): Promise<void> {
    await Promise.all(this.#underWay)
  }

  /** Calls the listener for what other instances announce, until the returned function is called. */
  async listen(listener: (what: Announcement) => void): Promise<() => Promise<void>> {
    try {
      const stop = await this.#store?.subscribe(channel, (message) => {
        const [sender, what] = message.split(' ')
        if (sender !== this.#own) listener(what === 'secrets' ? 'secrets' : 'values')
      })
      return async () => stop?.()
    } catch (error) {
      this.#log.warn({ reason: reasonOf(error) }, 'changes of other instances are noticed at the next poll only')
      return async () => undefined
    }
  }
}
