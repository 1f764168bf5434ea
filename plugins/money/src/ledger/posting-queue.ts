import { AsyncLocalStorage } from 'node:async_hooks'
import { hash } from 'node:crypto'
import type { Database } from '@plinth/database'
import { isPlinthError } from '@plinth/kernel'
import { businessError } from '../declarations.ts'
import type { PendingJournal } from './journals.ts'
import type { PostingDecision, PostingEngine } from './posting-engine.ts'

/** Maximum number of postings in one transaction. */
const largestGroup = 100
/** Maximum number of postings that wait in a lane. */
const maxLaneLength = 5_000
/**
 * Maximum number of parallel transactions on a database server. SQLite allows only one. Few lanes make large groups of
 * postings, which is faster if 16 callers post at the same time.
 */
const serverLanes = 4

interface Waiting {
  readonly movement: PendingJournal
  readonly resolve: (result: PostingDecision) => void
  readonly reject: (error: unknown) => void
}

/**
 * Writes concurrent postings in shared transactions, so that they pay once for the commit and for the lock of a busy
 * account. A posting without competitors starts immediately.
 *
 * All postings of an account use the same lane, so callers of one instance never wait for each other's row locks.
 */
export class PostingQueue {
  readonly #db: Database
  readonly #engine: PostingEngine
  readonly #lanes: Lane[]
  /** A group contains postings of several callers, so it must not run in the async context of one of them. */
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
  add(movement: PendingJournal, lane: string): Promise<PostingDecision> {
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
      // A separate attempt for each posting would fail too, because the group has only one posting or because the
      // database has a problem.
      if (group.length === 1 || isPlinthError(error)) for (const { reject } of group) reject(error)
      else for (const one of group) await this.#group([one])
    }
  }
}

interface Lane {
  waiting: Waiting[]
  running: boolean
}

/** Removes the next group in the order of arrival. A posting whose key is already in the group remains in the queue. */
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
