import type { Clock } from '@plinth/kernel'
import type { NotificationRule } from './contract.ts'

/** Codes that are remembered, with a rule or without one. */
const most = 1000
/** Milliseconds for which another instance may go by what a rule was before. */
const freshMs = 1000

interface Entry {
  readonly rule: NotificationRule | undefined
  readonly readAt: number
}

/**
 * The rules that events ask for. A change by this instance counts at once, one by another within a second: what is older is
 * read anew.
 */
export class RuleCache {
  readonly #read: (code: string) => Promise<NotificationRule | undefined>
  readonly #clock: Pick<Clock, 'monotonic'>
  #entries = new Map<string, Entry>()

  constructor(read: (code: string) => Promise<NotificationRule | undefined>, clock: Pick<Clock, 'monotonic'>) {
    this.#read = read
    this.#clock = clock
  }

  async find(code: string): Promise<NotificationRule | undefined> {
    const readAt = this.#clock.monotonic()
    const known = this.#entries.get(code)
    if (known !== undefined && readAt - known.readAt < freshMs) return known.rule
    const entries = this.#entries
    const rule = await this.#read(code)
    // Behind the others: the first of them was read longest ago. What was read before `clear` goes with it.
    entries.delete(code)
    entries.set(code, { rule, readAt })
    for (const [oldest] of entries) {
      if (entries.size <= most) break
      entries.delete(oldest)
    }
    return rule
  }

  clear(): void {
    this.#entries = new Map()
  }
}
