import { randomUUID } from 'node:crypto'
import type { Database } from '@plinth/database'
import { type Clock, errorReason, type Logger, type RateLimitDecision, type RateLimitRequest } from '@plinth/kernel'
import type { IncrementResult, Lease, QuotaAlgorithm, SharedQuota, SharedStore, WaitLimit } from './contract.ts'
import { DatabaseMessages } from './database-messages.ts'
import { decider, type Question, question } from './database-quota.ts'
import { deletedEntryRow, type Entry, type EntryId, entryKey, StoredEntries } from './entries.ts'
import { MicroBatch } from './micro-batch.ts'
import {
  checkAmount,
  checkContent,
  checkMs,
  entryNameOf,
  type Kind,
  type QuotaDecision,
  quotaKinds,
  toRateLimitDecision,
} from './quota-rules.ts'

interface LockedEntryQueuesOptions<Item, ApiResponse> {
  /** Maximum number of items in one transaction. */
  readonly size: number
  /** Maximum number of queues that use a database connection at the same time. */
  readonly concurrency: number
  /** Waits until the entry is unlocked, then decides the requests of the items. */
  run(key: string, items: readonly Item[]): Promise<readonly (ApiResponse | Error)[]>
}

/** Queues calls for an entry that another transaction has locked, so that calls for other entries need not wait. */
class LockedEntryQueues<Item, ApiResponse> {
  readonly #options: LockedEntryQueuesOptions<Item, ApiResponse>
  readonly #queues = new Map<string, MicroBatch<Item, ApiResponse>>()
  readonly #turns: (() => void)[] = []
  #underWay = 0

  constructor(options: LockedEntryQueuesOptions<Item, ApiResponse>) {
    this.#options = options
  }

  /** True if callers already wait for the entry. Then joining them is faster than trying to lock the entry. */
  has(key: string): boolean {
    return this.#queues.get(key)?.isIdle === false
  }

  /** @param key key of the locked entry */
  ask(key: string, item: Item, deadline: WaitLimit | undefined): Promise<ApiResponse> {
    return (this.#queues.get(key) ?? this.#open(key)).ask(item, deadline)
  }

  #open(key: string): MicroBatch<Item, ApiResponse> {
    for (const [other, queue] of this.#queues) if (queue.isIdle) this.#queues.delete(other)
    const { size } = this.#options
    const run = (items: readonly Item[]) => this.#inTurn(key, items)
    const queue = new MicroBatch<Item, ApiResponse>({ size, concurrency: 1, eager: false, run })
    this.#queues.set(key, queue)
    return queue
  }

  async #inTurn(key: string, items: readonly Item[]): Promise<readonly (ApiResponse | Error)[]> {
    if (this.#underWay >= this.#options.concurrency) await new Promise<void>((resolve) => this.#turns.push(resolve))
    else this.#underWay += 1
    try {
      return await this.#options.run(key, items)
    } finally {
      const next = this.#turns.shift()
      if (next === undefined) this.#underWay -= 1
      else next()
    }
  }
}

interface DatabaseStoreOptions {
  readonly db: Database
  readonly clock: Clock
  readonly log: Logger
  readonly pollIntervalMs: number
  readonly sweepIntervalMs: number
}

const batchSize = 128
/** Maximum number of locked entries for which callers wait at the same time. */
const maxLockedEntries = 4
/**
 * Time in milliseconds for which a fence is stored after its lease. Later fences are larger anyway, because they
 * contain the time.
 */
const fenceMs = 86_400_000

export class DatabaseStore implements SharedStore, SharedQuota {
  readonly driver = 'database'
  readonly redis = undefined
  readonly quota: SharedQuota = this
  readonly #options: DatabaseStoreOptions
  readonly #entries: StoredEntries
  readonly #messages: DatabaseMessages
  /** One item contains the request of one `decide` call or all requests of one `decideAll` call. */
  readonly #questions: MicroBatch<Question, RateLimitDecision[] | LockedEntry>
  readonly #lockedQueues: LockedEntryQueues<Question, RateLimitDecision[] | LockedEntry>

  constructor(options: DatabaseStoreOptions) {
    this.#options = options
    this.#entries = new StoredEntries(options.db, options.clock)
    this.#messages = new DatabaseMessages({ ...options, entries: this.#entries })
    this.#questions = new MicroBatch({
      size: batchSize,
      // Concurrent transactions of one process would only wait for each other's rows.
      concurrency: 1,
      eager: false,
      run: (items) => this.#decideFree(items),
    })
    this.#lockedQueues = new LockedEntryQueues({
      size: batchSize,
      concurrency: maxLockedEntries,
      run: (key, items) => this.#decideHeld(key, items),
    })
  }

  async get(key: string): Promise<string | undefined> {
    return (await this.#entries.read(id('value', key)))?.content ?? undefined
  }

  async set(key: string, value: string, ttlMs?: number): Promise<void> {
    const entry = valueEntry(key, value, ttlMs)
    await this.#entries.write([expiring(entry, await this.#entries.now(), ttlMs)])
  }

  async setIfAbsent(key: string, value: string, ttlMs?: number): Promise<boolean> {
    const entry = valueEntry(key, value, ttlMs)
    return this.#entries.change([entry], (live, now) =>
      live.has(entryKey(entry)) ? { answer: false } : { answer: true, changed: [expiring(entry, now, ttlMs)] },
    )
  }

  async take(key: string): Promise<string | undefined> {
    const value = id('value', key)
    return this.#entries.change([value], (live) => {
      const held = live.get(entryKey(value))
      return held === undefined
        ? { answer: undefined }
        : { answer: held.content ?? '', changed: [deletedEntryRow(value)] }
    })
  }

  async delete(key: string): Promise<boolean> {
    return (await this.take(key)) !== undefined
  }

  async deleteIf(key: string, value: string): Promise<boolean> {
    checkContent(value)
    const entry = id('value', key)
    return this.#entries.change([entry], (live) => {
      const isIt = live.get(entryKey(entry))?.content === value
      return isIt ? { answer: true, changed: [deletedEntryRow(entry)] } : { answer: false }
    })
  }

  async increment(key: string, ttlMs: number, by = 1): Promise<IncrementResult> {
    checkMs('ttlMs', ttlMs)
    checkAmount(by)
    const counter = id('counter', key)
    return this.#entries.change([counter], (live, now) => {
      const held = live.get(entryKey(counter))
      const value = (held?.amount ?? 0) + by
      if (!Number.isSafeInteger(value)) throw new RangeError(`Counter "${key}" would exceed 2^53 - 1`)
      // A counter without an expiry time gets one, so that it does not stay forever.
      const expiresAt = held?.expiresAt ?? now + ttlMs
      const changed = { ...counter, content: null, amount: value, since: 0, expiresAt }
      return { answer: { value, ttlMs: expiresAt - now }, changed: [changed] }
    })
  }

  async acquire(key: string, leaseMs: number): Promise<Lease | undefined> {
    checkMs('leaseMs', leaseMs)
    const lock = id('lock', key)
    const owner = randomUUID()
    const fence = await this.#entries.change([lock], (live, now) => {
      const held = live.get(entryKey(lock))
      // `since` is the end of the lease. The row is stored longer, because it contains the last fence.
      if (held?.content != null && held.since > now) return { answer: undefined }
      const fence = Math.max((held?.amount ?? 0) + 1, now * 1000)
      return { answer: fence, changed: [leased(lock, owner, fence, now + leaseMs)] }
    })
    if (fence === undefined) return undefined
    const hold = (next: string | null, ms: number) => this.#entries.changeHeld(lock, owner, next, ms, ms + fenceMs)
    return {
      key,
      fence,
      renew: async (ms) => {
        checkMs('leaseMs', ms)
        return hold(owner, ms)
      },
      release: () => hold(null, 0),
    }
  }

  async publish(channel: string, message: string): Promise<void> {
    checkContent(message)
    await this.#messages.publish(entryNameOf('channel', channel), message)
  }

  async subscribe(
    channel: string,
    listener: (message: string) => void,
    onGap?: () => void,
  ): Promise<() => Promise<void>> {
    return this.#messages.subscribe(entryNameOf('channel', channel), { listener, onGap })
  }

  async decide(
    algorithm: QuotaAlgorithm,
    request: RateLimitRequest,
    take: boolean,
    deadline?: WaitLimit,
  ): Promise<RateLimitDecision> {
    const [decision] = await this.#ask([question(algorithm, request, take)], deadline)
    return decision as RateLimitDecision
  }

  async decideAll(
    algorithm: QuotaAlgorithm,
    requests: readonly RateLimitRequest[],
    deadline?: WaitLimit,
  ): Promise<RateLimitDecision[]> {
    if (requests.length === 0) return []
    return this.#ask(
      requests.map((request) => question(algorithm, request, true)),
      deadline,
    )
  }

  async refund(request: RateLimitRequest): Promise<void> {
    const { id } = question('window', request, true)
    await this.#entries.change([id], (live) => {
      const window = live.get(entryKey(id))
      const changed = window && { ...window, amount: Math.max(0, window.amount - request.cost) }
      return { answer: undefined, changed: changed === undefined ? [] : [changed] }
    })
  }

  async reset(algorithm: QuotaAlgorithm, key: string): Promise<void> {
    await this.#entries.deleteAll(entryNameOf(quotaKinds[algorithm], key))
  }

  async keepSwept(signal: AbortSignal): Promise<void> {
    const { clock, log, sweepIntervalMs } = this.#options
    while (!signal.aborted) {
      await clock.sleep(sweepIntervalMs, signal)
      if (signal.aborted) return
      try {
        await this.#entries.sweep(signal)
        await this.#messages.sweep()
      } catch (error) {
        log.error({ err: error }, `expired entries could not be removed: ${errorReason(error)}`)
      }
    }
  }

  async close(): Promise<void> {
    await this.#messages.stop()
  }

  async #ask(item: Question, deadline: WaitLimit | undefined): Promise<RateLimitDecision[]> {
    let lockedKey = item.map((requested) => entryKey(requested.id)).find((key) => this.#lockedQueues.has(key))
    for (;;) {
      const reported = await (lockedKey === undefined
        ? this.#questions.ask(item, deadline)
        : this.#lockedQueues.ask(lockedKey, item, deadline))
      if (!(reported instanceof LockedEntry)) return reported
      lockedKey = reported.isFree ? undefined : reported.key
    }
  }

  /** Decides the items with unlocked entries in one transaction. */
  async #decideFree(items: readonly Question[]): Promise<(RateLimitDecision[] | LockedEntry)[]> {
    const decided = await this.#entries.changeFree(idsOf(items), (live, now, held) => {
      const decide = decider(live, now)
      const answer = items.map((item) => {
        const key = item.map((requested) => entryKey(requested.id)).find((id) => held.has(id))
        return key === undefined ? decide.item(item) : new LockedEntry(key)
      })
      return { answer, changed: decide.changed() }
    })
    return decided.map((reported) => (reported instanceof LockedEntry ? reported : this.#shown(reported)))
  }

  /**
   * Decides the items that need only this locked entry, in a transaction that waits until the entry is unlocked. Items
   * that need several entries are not decided, because their other entries would be locked during the wait.
   */
  async #decideHeld(key: string, items: readonly Question[]): Promise<(RateLimitDecision[] | LockedEntry)[]> {
    const ids = idsOf(items).filter((id) => entryKey(id) === key)
    const decided = await this.#entries.change(ids, (live, now) => {
      const decide = decider(live, now)
      const answer = items.map((item) => (item.length === 1 ? decide.item(item) : new LockedEntry(key, true)))
      return { answer, changed: decide.changed() }
    })
    return decided.map((reported) => (reported instanceof LockedEntry ? reported : this.#shown(reported)))
  }

  #shown(decisions: readonly QuotaDecision[]): RateLimitDecision[] {
    const now = this.#options.clock.now()
    return decisions.map((decision) => toRateLimitDecision(decision, now))
  }
}

/** Result of an item that was not decided, because another transaction has locked one of its entries. */
class LockedEntry {
  readonly key: string
  readonly isFree: boolean

  /**
   * @param key key of the entry
   * @param isFree true if the entry is no longer locked
   */
  constructor(key: string, isFree = false) {
    this.key = key
    this.isFree = isFree
  }
}

const idsOf = (items: readonly Question[]) => items.flatMap((item) => item.map((requested) => requested.id))

const id = (kind: Kind, key: string): EntryId => ({ name: entryNameOf(kind, key), variant: '' })

const leased = (lock: EntryId, owner: string | null, fence: number, endsAt: number): Entry => ({
  ...lock,
  content: owner,
  amount: fence,
  since: endsAt,
  expiresAt: endsAt + fenceMs,
})

function valueEntry(key: string, value: string, ttlMs: number | undefined): Entry {
  checkContent(value)
  if (ttlMs !== undefined) checkMs('ttlMs', ttlMs)
  return { ...id('value', key), content: value, amount: 0, since: 0, expiresAt: null }
}

const expiring = (entry: Entry, now: number, ttlMs: number | undefined): Entry =>
  ttlMs === undefined ? entry : { ...entry, expiresAt: now + ttlMs }
