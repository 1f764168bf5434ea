import type { Patience } from './contract.ts'
import { MicroBatch } from './micro-batch.ts'

interface HeldLanesOptions<Item, Answer> {
  /** Items of one transaction at most. */
  readonly size: number
  /** Lanes that wait for the database at a time: each takes a connection. */
  readonly concurrency: number
  /** Waits for the entry, and answers the items. */
  run(key: string, items: readonly Item[]): Promise<readonly (Answer | Error)[]>
}

/**
 * Those who want an entry that another transaction holds wait for it together, in a lane of its own, so that nobody who wants
 * something else waits with them.
 */
export class HeldLanes<Item, Answer> {
  readonly #options: HeldLanesOptions<Item, Answer>
  readonly #lanes = new Map<string, MicroBatch<Item, Answer>>()
  readonly #turns: (() => void)[] = []
  #underWay = 0

  constructor(options: HeldLanesOptions<Item, Answer>) {
    this.#options = options
  }

  /** Whether somebody waits for the entry already: then it is quicker to wait too than to try. */
  has(key: string): boolean {
    return this.#lanes.get(key)?.isIdle === false
  }

  /** @param key of the entry that is held */
  ask(key: string, item: Item, patience: Patience | undefined): Promise<Answer> {
    return (this.#lanes.get(key) ?? this.#open(key)).ask(item, patience)
  }

  #open(key: string): MicroBatch<Item, Answer> {
    for (const [other, lane] of this.#lanes) if (lane.isIdle) this.#lanes.delete(other)
    const { size } = this.#options
    const run = (items: readonly Item[]) => this.#inTurn(key, items)
    const lane = new MicroBatch<Item, Answer>({ size, concurrency: 1, eager: false, run })
    this.#lanes.set(key, lane)
    return lane
  }

  async #inTurn(key: string, items: readonly Item[]): Promise<readonly (Answer | Error)[]> {
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
