import { AsyncLocalStorage } from 'node:async_hooks'
import { hash } from 'node:crypto'
import type { Database } from '@plinth/database'
import { isPlinthError } from '@plinth/kernel'
import { refusal } from '../failures.ts'
import type { Movement } from './journals.ts'
import type { PostingEngine, Verdict } from './posting-engine.ts'

/** Postings of one transaction. */
const largestGroup = 100
/** Postings that may wait in one lane. */
const longestLane = 5_000
/**
 * Groups that a server works on at once; SQLite takes one writer. Few, so that postings that come together share the cost of a
 * transaction: sixteen callers are served faster by four connections than by sixteen.
 */
const serverLanes = 4

interface Waiting {
  readonly movement: Movement
  readonly resolve: (verdict: Verdict) => void
  readonly reject: (error: unknown) => void
}

/**
 * Postings that wait at the same time share a transaction, so that its cost and, for a busy account, the wait for its row are
 * paid once. Each caller is answered after the commit. A posting that nobody else competes with is carried out at once.
 *
 * Postings of one account stay in one lane: callers of one process never wait for each other's row locks.
 */
export class PostingQueue {
  readonly #db: Database
  readonly #engine: PostingEngine
  readonly #lanes: Lane[]
  /** Groups belong to no caller: they run outside of the context of whoever came first. */
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
    if (own.waiting.length >= longestLane) throw refusal('busy')
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
      const verdicts = await this.#db.statements(() => this.#engine.post(group.map(({ movement }) => movement)))
      for (const [index, verdict] of verdicts.entries()) group[index]?.resolve(verdict)
    } catch (error) {
      // Of one alone, or of the database: it would not go better one by one.
      if (group.length === 1 || isPlinthError(error)) for (const { reject } of group) reject(error)
      else for (const one of group) await this.#group([one])
    }
  }
}

interface Lane {
  waiting: Waiting[]
  running: boolean
}

/** The next group, in the order in which they came. A key that comes again waits until the first one is decided. */
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
