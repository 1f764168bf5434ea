import { AsyncLocalStorage } from 'node:async_hooks'

interface Waiting<Item, Answer> {
  readonly item: Item
  readonly resolve: (answer: Answer) => void
  readonly reject: (reason: unknown) => void
  readonly signal: AbortSignal | undefined
}

export interface MicroBatchOptions<Item, Answer> {
  /** Items of one batch at most. */
  readonly size: number
  /** Batches under way at most. */
  readonly concurrency: number
  /**
   * While nothing is under way, send before the event loop turns. Only where answers come from a socket: otherwise a loop
   * of calls would keep timers and sockets waiting.
   */
  readonly eager: boolean
  /** Answers in the order of the items; an Error is the answer of its item alone. */
  run(items: readonly Item[]): Promise<readonly (Answer | Error)[]>
}

/**
 * Sends what is asked in one turn of the event loop together: one round trip, or one transaction, for many.
 */
export class MicroBatch<Item, Answer> {
  readonly #options: MicroBatchOptions<Item, Answer>
  /** A batch belongs to many callers, so it must not run inside the transaction of one. */
  readonly #outside = AsyncLocalStorage.snapshot()
  #waiting: Waiting<Item, Answer>[] = []
  #underWay = 0
  #scheduled = false

  constructor(options: MicroBatchOptions<Item, Answer>) {
    this.#options = options
  }

  /** Rejects when the signal aborts; an item that was not sent by then is not sent. */
  ask(item: Item, signal?: AbortSignal): Promise<Answer> {
    return new Promise((settle, refuse) => {
      if (signal?.aborted) return refuse(signal.reason)
      const abort = () => refuse(signal?.reason)
      signal?.addEventListener('abort', abort)
      const resolve = (answer: Answer) => {
        signal?.removeEventListener('abort', abort)
        settle(answer)
      }
      const reject = (reason: unknown) => {
        signal?.removeEventListener('abort', abort)
        refuse(reason)
      }
      this.#waiting.push({ item, resolve, reject, signal })
      this.#schedule()
    })
  }

  #schedule(): void {
    if (this.#scheduled || this.#underWay >= this.#options.concurrency) return
    this.#scheduled = true
    const send = () => this.#outside(() => this.#send())
    if (this.#underWay === 0 && this.#options.eager) process.nextTick(send)
    else setImmediate(send)
  }

  #send(): void {
    this.#scheduled = false
    while (this.#waiting.length > 0 && this.#underWay < this.#options.concurrency) {
      const batch = this.#waiting.splice(0, this.#options.size).filter(({ signal }) => !signal?.aborted)
      if (batch.length > 0) void this.#run(batch)
    }
  }

  async #run(batch: readonly Waiting<Item, Answer>[]): Promise<void> {
    this.#underWay += 1
    try {
      const answers = await this.#options.run(batch.map(({ item }) => item))
      for (const [index, { resolve, reject }] of batch.entries()) {
        const answer = answers[index] as Answer | Error
        if (answer instanceof Error) reject(answer)
        else resolve(answer)
      }
    } catch (error) {
      for (const { reject } of batch) reject(error)
    } finally {
      this.#underWay -= 1
      if (this.#waiting.length > 0) this.#schedule()
    }
  }
}
