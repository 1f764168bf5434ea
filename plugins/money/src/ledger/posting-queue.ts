import { AsyncLocalStorage } from 'node:async_hooks'
import { hash } from 'node:crypto'
import type { Database } from '@plinth/database'
import { isPlinthError } from '@plinth/kernel'
import { businessError } from '../failures.ts'
import type { Movement } from './journals.ts'
import type { PostingEngine, Verdict } from './posting-engine.ts'

/** Maximum number of postings per transaction. */
const largestGroup = 100
/** Maximum number of waiting postings per lane. */
const maxLaneLength = 5_000
/**
 * Concurrent groups on a database server. SQLite allows one writer. The number is small so that postings share the cost
 * of a transaction: with sixteen callers, four connections are faster than sixteen.
 */
const serverLanes = 4

interface Waiting {
  readonly movement: Movement
  readonly resolve: (result: Verdict) => void
  readonly reject: (error: unknown) => void
}

/**
 * Concurrent postings share a transaction. The cost of the transaction and, for a busy account, the wait for its row
 * then arise once for all of them. Each caller receives its result after the commit. A posting without competitors is
 * executed immediately.
 *
 * All postings of an account use the same lane, so that callers of one instance never wait for each other's row locks.
 */
export class PostingQueue {
  readonly #db: Database
  readonly #engine: PostingEngine
  readonly #lanes: Lane[]
  /** A group belongs to several callers. It runs outside the async context of the caller that started it. */
  readonly #outside = AsyncLocalStorage.snapshot()

  constructor(db: Database, engine: PostingEngine) {
    this.#db = db
    this.#engine = engine
    this.#lanes = Array.from({ length: db.dialect === 'sqlite' ? 1 : serverLanes }, () => ({
      waiting: [],
      running: false,
    }))
  }

  /** @throws BusinessError `503` `money.busy` */
  add(movement: Movement, lane: string): Promise<Verdict> {
    const own = this.#laneOf(lane)
    if (own.waiting.length >= maxLaneLength) throw businessError('busy')
    return new Promise((resolve, reject) => {
      own.waiting.push({ movement, resolve, reject })
      if (own.running) return
      own.running = true
      this.#outside(() => void this.#run(own))
    })
  }

  #laneOf(name: string): Lane {
    const { length } = this.#lanes
    const index = length === 1 ? 0 : Number.parseInt(hash('sha1', name).slice(0, 8), 16) % length
    return this.#lanes[index] as Lane
  }

  async #run(lane: Lane): Promise<void> {
    while (lane.waiting.length > 0) await this.#group(take(lane))
    lane.running = false
  }

  async #group(group: readonly Waiting[]): Promise<void> {
    try {
      const results = await this.#db.statements(() => this.#engine.post(group.map(({ movement }) => movement)))
      for (const [index, result] of results.entries()) group[index]?.resolve(result)
    } catch (error) {
      // The error belongs to a single posting or to the database: separate attempts would fail too.
      if (group.length === 1 || isPlinthError(error)) for (const { reject } of group) reject(error)
      else for (const one of group) await this.#group([one])
    }
  }
}

interface Lane {
  waiting: Waiting[]
  running: boolean
}

/**
 * Removes the next group in the order of arrival. A posting with a key that is already in the group stays in the queue.
 */
function take(lane: Lane): readonly Waiting[] {
  const keys = new Set<string>()
  const group: Waiting[] = []
  const later: Waiting[] = []
  const { waiting } = lane
  let seen = 0
  for (const one of waiting) {
    if (group.length === largestGroup) break
    const { idemHash } = one.movement.draft
    if (keys.has(idemHash)) later.push(one)
    else group.push(one)
    keys.add(idemHash)
    seen++
  }
  lane.waiting = [...later, ...waiting.slice(seen)]
  return group
}
