import { AsyncLocalStorage } from 'node:async_hooks'
import type { Patience } from './contract.ts'

interface Waiting<Item, Answer> {
  readonly item: Item
  readonly resolve: (answer: Answer) => void
  readonly reject: (reason: unknown) => void
  readonly patience: Patience
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

const patient: Patience = {}

/**
 * Sends what is asked in one turn of the event loop together: one round trip, or one transaction, for many.
 */
export class MicroBatch<Item, Answer> {
  readonly #options: MicroBatchOptions<Item, Answer>
  /** A batch belongs to many callers, so it must not run inside the transaction of one. */
  readonly #outside = AsyncLocalStorage.snapshot()
  readonly #sendOutside = () => this.#outside(() => this.#send())
  #waiting: Waiting<Item, Answer>[] = []
  #underWay = 0
  #scheduled = false

  constructor(options: MicroBatchOptions<Item, Answer>) {
    this.#options = options
  }

  /** Whether nothing waits and nothing is under way. */
  get isIdle(): boolean {
    return this.#waiting.length === 0 && this.#underWay === 0
  }

  /** An item whose caller has given up before it is sent is not sent. */
  ask(item: Item, patience: Patience = patient): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const waits = { item, resolve, reject, patience }
      const waiting = patience.isOver === undefined && patience.signal ? untilAbort(waits, patience.signal) : waits
      if (waiting === undefined) return
      this.#waiting.push(waiting)
      this.#schedule()
    })
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
      const batch = this.#next().filter(({ patience }) => patience.isOver?.() !== true)
      if (batch.length > 0) this.#run(batch)
    }
  }

  #next(): Waiting<Item, Answer>[] {
    const { size } = this.#options
    if (this.#waiting.length > size) return this.#waiting.splice(0, size)
    const all = this.#waiting
    this.#waiting = []
    return all
  }

  #run(batch: readonly Waiting<Item, Answer>[]): void {
    this.#underWay += 1
    const ended = () => {
      this.#underWay -= 1
      if (this.#waiting.length > 0) this.#schedule()
    }
    this.#options.run(batch.map(({ item }) => item)).then(
      (answers) => {
        for (let index = 0; index < batch.length; index++) {
          const { resolve, reject } = batch[index] as Waiting<Item, Answer>
          const answer = answers[index] as Answer | Error
          if (answer instanceof Error) reject(answer)
          else resolve(answer)
        }
        ended()
      },
      (error: unknown) => {
        for (const { reject } of batch) reject(error)
        ended()
      },
    )
  }
}

/** Refuses the call when the signal aborts. `undefined` when it has aborted already. */
function untilAbort<Item, Answer>(
  waits: Waiting<Item, Answer>,
  signal: AbortSignal,
): Waiting<Item, Answer> | undefined {
  const abort = () => waits.reject(signal.reason)
  if (signal.aborted) return void abort()
  signal.addEventListener('abort', abort)
  const done = () => signal.removeEventListener('abort', abort)
  return {
    item: waits.item,
    resolve: (answer) => {
      done()
      waits.resolve(answer)
    },
    reject: (reason) => {
      done()
      waits.reject(reason)
    },
    patience: { isOver: () => signal.aborted },
  }
}
