import { AsyncLocalStorage } from 'node:async_hooks'
import { hash } from 'node:crypto'
import type { Database } from '@plinth/database'
import { isPlinthError } from '@plinth/kernel'
import type { AccountRef } from '../contract.ts'
import { businessError } from '../declarations.ts'
import { nameOf } from './accounts.ts'
import type { PendingJournal } from './journals.ts'
import type { PostingDecision, PostingEngine } from './posting-engine.ts'

/** Maximum number of postings in one transaction. */
const largestGroup = 100
/** Maximum number of postings and turns that wait in a lane. */
const maxLaneLength = 5_000
/**
 * Maximum number of parallel transactions on a database server. SQLite allows only one. Few lanes make large groups of
 * postings, which is faster if 16 callers post at the same time. The other connections of the pool remain free,
 * however many callers post to one account.
 */
const serverLanes = 4

interface WaitingPosting {
  readonly movement: PendingJournal
  readonly resolve: (result: PostingDecision) => void
  readonly reject: (error: unknown) => void
}

/** Work with a transaction of its own. */
interface WaitingTurn {
  /** Starts the work. @returns a promise that resolves when the next one may start */
  readonly begin: () => Promise<void>
}

type Waiting = WaitingPosting | WaitingTurn

/**
 * Lets the writers of an account wait before they use a connection. Postings that wait at the same time share a
 * transaction, so that they pay once for the commit and for the lock of a busy account. A turn has its own transaction.
 * A caller without competitors starts immediately.
 *
 * All writers of an account use the same lane. A transfer waits in the lane of its sender. Callers that are already in a
 * transaction must not wait here, because they would use a connection meanwhile.
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
  add(movement: PendingJournal, account: AccountRef): Promise<PostingDecision> {
    return new Promise((resolve, reject) => this.#enter(account, { movement, resolve, reject }))
  }

  /**
   * Runs the work in a transaction of its own, in the async context of the caller.
   *
   * @throws BusinessError `503` `money.busy`, and the errors of the work
   */
  async turn<T>(account: AccountRef, work: () => Promise<T>): Promise<T> {
    const started = Promise.withResolvers<void>()
    const ended = Promise.withResolvers<void>()
    this.#enter(account, {
      begin: () => {
        started.resolve()
        return ended.promise
      },
    })
    await started.promise
    try {
      return await this.#db.statements(() => {
        // Hooks of the work may post, too, so they run after the turn.
        this.#db.afterCommit(() => ended.resolve())
        return work()
      })
    } finally {
      ended.resolve()
    }
  }

  #enter(account: AccountRef, one: Waiting): void {
    const lane = this.#laneOf(account)
    if (lane.waiting.length >= maxLaneLength) throw businessError('busy')
    lane.waiting.push(one)
    if (lane.running) return
    lane.running = true
    this.#outside(() => void this.#run(lane))
  }

  #laneOf(account: AccountRef): Lane {
    const { length } = this.#lanes
    const name = nameOf(account)
    const index = length === 1 ? 0 : Number.parseInt(hash('sha1', name).slice(0, 8), 16) % length
    return this.#lanes[index] as Lane
  }

  async #run(lane: Lane): Promise<void> {
    for (let [first] = lane.waiting; first !== undefined; [first] = lane.waiting) {
      if ('movement' in first) {
        await this.#group(take(lane))
      } else {
        lane.waiting.shift()
        await first.begin()
      }
    }
    lane.running = false
  }

  async #group(group: readonly WaitingPosting[]): Promise<void> {
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

/**
 * Removes the next group in the order of arrival, up to the next turn. A posting whose key is already in the group
 * remains in the queue.
 */
function take(lane: Lane): readonly WaitingPosting[] {
  const keys = new Set<string>()
  const group: WaitingPosting[] = []
  const later: WaitingPosting[] = []
  const { waiting } = lane
  let seen = 0
  for (const one of waiting) {
    if (group.length === largestGroup || !('movement' in one)) break
    const { idemHash } = one.movement.draft
    if (keys.has(idemHash)) later.push(one)
    else group.push(one)
    keys.add(idemHash)
    seen++
  }
  lane.waiting = [...later, ...waiting.slice(seen)]
  return group
}
