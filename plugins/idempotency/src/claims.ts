import { type Database, insertRowsIfAbsent, updateRows } from '@plinth/database'
import type { CurrentCall } from './contract.ts'
import { inProgress } from './declarations.ts'
import { CallRow } from './entities.ts'

interface ClaimDependencies {
  readonly db: Database
  /** Retention time of claims in milliseconds. */
  readonly retentionMs: () => number
}

/** Stores claims of idempotency keys in the transactions of their calls. */
export class Claims {
  readonly #parts: ClaimDependencies

  constructor(parts: ClaimDependencies) {
    this.#parts = parts
  }

  /** Returns the committed claim. An expired claim is removed, so that the call is executed again. */
  async find(name: string): Promise<CallRow | undefined> {
    const { db, retentionMs } = this.#parts
    const row = await db.fork().findOne(CallRow, { name })
    if (row === null) return undefined
    if (row.createdAt.getTime() > db.clock.expiryNow() - retentionMs()) return row
    await db.execute('delete from idempotency_call where id = ?', [row.id])
    return undefined
  }

  /** @param record record of a call without a response */
  create(name: string, record: string): Claim {
    const { db } = this.#parts
    return new Claim(db, { id: db.newId(), name, record, createdAt: new Date(db.clock.now()) }, false)
  }

  /** Returns the claim of an earlier call whose response was lost. */
  resume(row: CallRow): Claim {
    return new Claim(this.#parts.db, row, true)
  }
}

/** The claim of one call. The first transaction of the call inserts it. */
export class Claim implements CurrentCall {
  /** True if an earlier call committed the claim. */
  readonly isRepeated: boolean
  readonly #db: Database
  readonly #row: CallRow
  #isCommitted: boolean
  /** True if another call has committed a claim for the key. */
  #isTaken = false
  #isOver = false

  constructor(db: Database, row: CallRow, isRepeated: boolean) {
    this.#db = db
    this.#row = row
    this.isRepeated = isRepeated
    this.#isCommitted = isRepeated
  }

  get id(): number {
    return this.#row.id
  }

  get isCommitted(): boolean {
    return this.#isCommitted
  }

  /**
   * Runs the work of the call.
   *
   * @throws BusinessError `409` `idempotency.in-progress` if another call with the key came first
   */
  async run<T>(work: () => Promise<T>): Promise<T> {
    try {
      const result = await this.#db.withFirstStatement(() => this.#insert(), work)
      // The work may have caught the error of its transaction.
      if (this.#isTaken) throw inProgress()
      return result
    } finally {
      this.#isOver = true
    }
  }

  /** Stores the record of the completed call. */
  async complete(record: string): Promise<void> {
    await updateRows(this.#db, CallRow, { id: this.#row.id }, { record })
  }

  async #insert(): Promise<void> {
    if (this.#isCommitted || this.#isOver) return
    const added = await insertRowsIfAbsent(this.#db, CallRow, 'name', [this.#row])
    if (added === 0) await this.#assertOwn()
    this.#db.afterCommit(() => {
      this.#isCommitted = true
    })
  }

  /** A concurrent transaction of this call may have committed the claim first. */
  async #assertOwn(): Promise<void> {
    const { id, name } = this.#row
    const [found] = await this.#db.query<{ id: unknown }>('select id from idempotency_call where name = ?', [name])
    if (Number(found?.id) === id) return
    this.#isTaken = true
    throw inProgress()
  }
}
