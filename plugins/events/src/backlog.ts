import { type Database, exactInteger } from '@plinth/database'
import type { Clock } from '@plinth/kernel'
import { OutboxEvent, type OutboxState, outboxStates } from './entities.ts'

/** Events of one state that are counted; a list with a filter counts all of them. */
export const mostCounted = 10_000

/** Milliseconds for which counts are good enough for metrics, however often they are read. */
const keptMs = 15_000

/** How much lies in the outbox, at a cost that does not grow with it. */
export class Backlog {
  readonly #db: Database
  readonly #clock: Clock
  #kept: { readonly until: number; readonly counts: Promise<ReadonlyMap<OutboxState, number>> } | undefined

  constructor(db: Database, clock: Clock) {
    this.#db = db
    this.#clock = clock
  }

  /** Events that wait, for their time too, or are given up, at most `mostCounted` of each; read again after 15 seconds. */
  open(): Promise<ReadonlyMap<OutboxState, number>> {
    const now = this.#clock.monotonic()
    if (this.#kept === undefined || now >= this.#kept.until) {
      const counts = this.#count(['scheduled', 'pending', 'failed'])
      this.#kept = { until: now + keptMs, counts }
      counts.catch(() => {
        this.#kept = undefined
      })
    }
    return this.#kept.counts
  }

  async read() {
    const counts = await this.#count(outboxStates)
    const oldest = await this.#db.fork().findOne(OutboxEvent, { status: 'pending' }, { orderBy: { id: 'asc' } })
    // A key has at most one failed event: what comes after it is never tried.
    const blockedKeys = await this.#rows(`status = 'failed' and stream_key is not null`, [])
    const largest = Math.max(...counts.values(), blockedKeys)
    return {
      counts: Object.fromEntries([...counts].map(([state, n]) => [state, Math.min(n, mostCounted)])) as Record<
        OutboxState,
        number
      >,
      oldestPendingAt: oldest?.createdAt ?? null,
      blockedKeys: Math.min(blockedKeys, mostCounted),
      counted: largest > mostCounted ? ('capped' as const) : ('exact' as const),
    }
  }

  /** One more than `mostCounted` where there are more. */
  async #count(states: readonly OutboxState[]): Promise<ReadonlyMap<OutboxState, number>> {
    const counts = new Map<OutboxState, number>()
    for (const state of states) counts.set(state, await this.#rows('status = ?', [state]))
    return counts
  }

  async #rows(where: string, parameters: readonly string[]): Promise<number> {
    const [row] = await this.#db.query<{ total: unknown }>(
      `select count(*) as total from (select 1 as one from outbox_event where ${where} limit ${mostCounted + 1}) counted`,
      parameters,
    )
    return exactInteger(row?.total)
  }
}
