import { AsyncLocalStorage } from 'node:async_hooks'
import type { Patience } from './contract.ts'

interface MicroBatchOptions<Item, Answer> {
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
  /** In the order in which they were asked. */
  #waiting: Party<Item, Answer>[] = []
  /** How many more the last of the waiting batches takes: those before it are full, however their items are parted. */
  #room = 0
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
    let party = this.#waiting.at(-1)
    if (party === undefined || this.#room === 0) this.#room = this.#options.size
    if (party === undefined || this.#room === this.#options.size || party.patience !== patience) {
      party = new Party(patience)
      this.#waiting.push(party)
      this.#schedule()
    }
    this.#room -= 1
    return party.join(item)
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
      const batch = this.#next().filter((party) => !party.isOver())
      if (batch.length > 0) this.#run(batch)
    }
  }

  #next(): Party<Item, Answer>[] {
    let items = 0
    const end = this.#waiting.findIndex((party) => {
      items += party.items.length
      return items > this.#options.size
    })
    if (end > 0) return this.#waiting.splice(0, end)
    const all = this.#waiting
    this.#waiting = []
    return all
  }

  #run(batch: readonly Party<Item, Answer>[]): void {
    this.#underWay += 1
    const ended = () => {
      this.#underWay -= 1
      if (this.#waiting.length > 0) this.#schedule()
    }
    const [first] = batch
    const items = batch.length === 1 && first !== undefined ? first.items : batch.flatMap((party) => party.items)
    this.#options.run(items).then(
      (answers) => {
        let at = 0
        for (const party of batch) {
          party.answered(answers, at)
          at += party.items.length
        }
        ended()
      },
      (error: unknown) => {
        for (const party of batch) party.failed(error)
        ended()
      },
    )
  }
}

interface Answers<Answer> {
  readonly all: readonly (Answer | Error)[]
  /** Where those of the party begin. */
  readonly from: number
}

/** Items of one turn whose callers have the same patience: they wait for one promise. */
class Party<Item, Answer> {
  readonly patience: Patience
  readonly items: Item[] = []
  readonly #answers = Promise.withResolvers<Answers<Answer>>()
  readonly #leave: () => void
  #hasEnded = false

  constructor(patience: Patience) {
    this.patience = patience
    this.#leave = whenOver(patience, (reason) => {
      this.#hasEnded = true
      this.#answers.reject(reason)
    })
  }

  join(item: Item): Promise<Answer> {
    const at = this.items.push(item) - 1
    return this.#answers.promise.then(({ all, from }) => {
      const answer = all[from + at] as Answer | Error
      if (answer instanceof Error) throw answer
      return answer
    })
  }

  isOver(): boolean {
    return this.#hasEnded || this.patience.isOver?.() === true
  }

  answered(all: readonly (Answer | Error)[], from: number): void {
    this.#leave()
    this.#answers.resolve({ all, from })
  }

  failed(error: unknown): void {
    this.#leave()
    this.#answers.reject(error)
  }
}

const nothing = () => {}

/** @returns what ends the waiting */
function whenOver(patience: Patience, giveUp: (reason: unknown) => void): () => void {
  if (patience.onEnd !== undefined) return patience.onEnd(giveUp)
  const { signal } = patience.isOver === undefined ? patience : {}
  if (signal === undefined) return nothing
  const abort = () => giveUp(signal.reason)
  if (signal.aborted) abort()
  else signal.addEventListener('abort', abort, { once: true })
  return () => signal.removeEventListener('abort', abort)
}
