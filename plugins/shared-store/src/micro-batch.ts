import { AsyncLocalStorage } from 'node:async_hooks'
import type { WaitLimit } from './contract.ts'

interface MicroBatchOptions<Item, ApiResponse> {
  readonly size: number
  readonly concurrency: number
  /**
   * If true and nothing is in progress, a batch is sent before the event loop continues. Only use this if results
   * arrive over a socket. Otherwise a loop of calls would delay timers and sockets.
   */
  readonly eager: boolean
  /** Returns the results in the order of the items. If a result is an Error, only the call of its item fails. */
  run(items: readonly Item[]): Promise<readonly (ApiResponse | Error)[]>
}

const patient: WaitLimit = {}

/** Sends all items of one tick of the event loop together, so that many callers share one round trip or transaction. */
export class MicroBatch<Item, ApiResponse> {
  readonly #options: MicroBatchOptions<Item, ApiResponse>
  /** A batch serves many callers, so it must not run in the transaction of one of them. */
  readonly #outside = AsyncLocalStorage.snapshot()
  readonly #sendOutside = () => this.#outside(() => this.#send())
  #waiting: ItemGroup<Item, ApiResponse>[] = []
  /** Number of items that the last waiting batch can still take. Earlier batches are full. */
  #room = 0
  #underWay = 0
  #scheduled = false

  constructor(options: MicroBatchOptions<Item, ApiResponse>) {
    this.#options = options
  }

  get isIdle(): boolean {
    return this.#waiting.length === 0 && this.#underWay === 0
  }

  /** Returns the result of the item. If the caller stops waiting before the item is sent, it is not sent. */
  ask(item: Item, patience: WaitLimit = patient): Promise<ApiResponse> {
    let group = this.#waiting.at(-1)
    if (group === undefined || this.#room === 0) this.#room = this.#options.size
    if (group === undefined || this.#room === this.#options.size || group.patience !== patience) {
      group = new ItemGroup(patience)
      this.#waiting.push(group)
      this.#schedule()
    }
    this.#room -= 1
    return group.join(item)
  }

  #schedule(): void {
    if (this.#scheduled || this.#underWay >= this.#options.concurrency) return
    this.#scheduled = true
    if (this.#underWay === 0 && this.#options.eager) process.nextTick(this.#sendOutside)
    else setImmediate(this.#sendOutside)
  }

  #send(): void {
    this.#scheduled = false
    while (this.#waiting.length > 0 && this.#underWay < this.#options.concurrency) {
      const batch = this.#next().filter((group) => !group.isOver())
      if (batch.length > 0) this.#run(batch)
    }
  }

  #next(): ItemGroup<Item, ApiResponse>[] {
    let items = 0
    const end = this.#waiting.findIndex((group) => {
      items += group.items.length
      return items > this.#options.size
    })
    if (end > 0) return this.#waiting.splice(0, end)
    const all = this.#waiting
    this.#waiting = []
    return all
  }

  #run(batch: readonly ItemGroup<Item, ApiResponse>[]): void {
    this.#underWay += 1
    const ended = () => {
      this.#underWay -= 1
      if (this.#waiting.length > 0) this.#schedule()
    }
    const [first] = batch
    const items = batch.length === 1 && first !== undefined ? first.items : batch.flatMap((group) => group.items)
    this.#options.run(items).then(
      (responses) => {
        let at = 0
        for (const group of batch) {
          group.answered(responses, at)
          at += group.items.length
        }
        ended()
      },
      (error: unknown) => {
        for (const group of batch) group.failed(error)
        ended()
      },
    )
  }
}

interface Answers<ApiResponse> {
  readonly all: readonly (ApiResponse | Error)[]
  readonly from: number
}

/** Items of one tick whose callers share the same `patience`. They share one promise. */
class ItemGroup<Item, ApiResponse> {
  readonly patience: WaitLimit
  readonly items: Item[] = []
  readonly #answers = Promise.withResolvers<Answers<ApiResponse>>()
  readonly #leave: () => void
  #hasEnded = false

  constructor(patience: WaitLimit) {
    this.patience = patience
    this.#leave = whenOver(patience, (reason) => {
      this.#hasEnded = true
      this.#answers.reject(reason)
    })
  }

  join(item: Item): Promise<ApiResponse> {
    const at = this.items.push(item) - 1
    return this.#answers.promise.then(({ all, from }) => {
      const response = all[from + at] as ApiResponse | Error
      if (response instanceof Error) throw response
      return response
    })
  }

  isOver(): boolean {
    return this.#hasEnded || this.patience.isOver?.() === true
  }

  answered(all: readonly (ApiResponse | Error)[], from: number): void {
    this.#leave()
    this.#answers.resolve({ all, from })
  }

  failed(error: unknown): void {
    this.#leave()
    this.#answers.reject(error)
  }
}

const nothing = () => {}

/**
 * Calls `giveUp` when the caller stops waiting.
 *
 * @returns a function that unsubscribes
 */
function whenOver(patience: WaitLimit, giveUp: (reason: unknown) => void): () => void {
  if (patience.onEnd !== undefined) return patience.onEnd(giveUp)
  const { signal } = patience.isOver === undefined ? patience : {}
  if (signal === undefined) return nothing
  const abort = () => giveUp(signal.reason)
  if (signal.aborted) abort()
  else signal.addEventListener('abort', abort, { once: true })
  return () => signal.removeEventListener('abort', abort)
}
