import type { Database, PageWindow, TimeSpan } from '@plinth/database'
import { inSpan, type LocalizedText, type Tracer } from '@plinth/kernel'
import type {
  AccountFilter,
  AccountRef,
  Batch,
  BatchResult,
  Capture,
  DebtFilter,
  EntryFilter,
  HoldFilter,
  HoldPosting,
  Ledger,
  Movement,
  MovementAction,
  MovementResults,
  MovementResultsOf,
  Posting,
  PostingResult,
  Release,
  Reversal,
  TakeBack,
  TakeBackResult,
  Transfer,
} from '../contract.ts'
import { businessError } from '../declarations.ts'
import { type AccountStatus, type Recovery, recoveries } from '../entities.ts'
import type { Accounts } from './accounts.ts'
import type { Assets } from './assets.ts'
import { assertOwner, throwPostingInvalid } from './checks.ts'
import type { Debts } from './debts.ts'
import type { JournalOutcome, Journals } from './journals.ts'
import type { LedgerReader } from './ledger-reader.ts'
import { batchJournalOf, findExpiredHolds } from './movements.ts'
import type { PostingDecision, PostingEngine } from './posting-engine.ts'
import { PostingQueue } from './posting-queue.ts'
import { type MovementOf, type Prepared, preparations } from './preparations.ts'

const largestBatch = 1_000
const largestPost = 100

interface LedgerDependencies {
  readonly db: Database
  readonly assets: Assets
  readonly kinds: ReadonlyMap<string, LocalizedText>
  readonly accounts: Accounts
  readonly engine: PostingEngine
  readonly journals: Journals
  readonly debts: Debts
  readonly reader: LedgerReader
  readonly tracer?: Tracer | undefined
}

/**
 * All movements are posted here. A movement joins the transaction of its caller. Without one, it waits in the queue of
 * its account before it uses a connection.
 */
export class LedgerService implements Ledger {
  readonly #parts: LedgerDependencies
  readonly #queue: PostingQueue

  constructor(parts: LedgerDependencies) {
    this.#parts = parts
    this.#queue = new PostingQueue(parts.db, parts.engine)
  }

  get assets() {
    return this.#parts.assets.all
  }

  get kinds() {
    return this.#parts.kinds
  }

  credit(posting: Posting) {
    return this.#postOne('credit', posting)
  }
  debit(posting: Posting) {
    return this.#postOne('debit', posting)
  }
  hold(posting: HoldPosting) {
    return this.#postOne('hold', posting)
  }
  transfer(transfer: Transfer) {
    return this.#postOne('transfer', transfer)
  }
  capture(capture: Capture) {
    return this.#postOne('capture', capture)
  }
  release(release: Release) {
    return this.#postOne('release', release)
  }
  reverse(reversal: Reversal) {
    return this.#postOne('reverse', reversal)
  }

  async post<const Movements extends readonly Movement[]>(movements: Movements): Promise<MovementResultsOf<Movements>> {
    if (movements.length > largestPost) throwPostingInvalid('movements', `at most ${largestPost}`)
    const { db } = this.#parts
    const prepareAll = async () => {
      const prepared: Prepared<unknown>[] = []
      for (const movement of movements) prepared.push(await this.#prepare(movement.action, movement as never))
      if (new Set(prepared.map(({ journal }) => journal.draft.idemHash)).size < prepared.length)
        throwPostingInvalid('movements', 'of different keys')
      return prepared
    }
    const postAll = async () => {
      if (db.inTransaction) return db.statements(async () => this.#postPrepared(await prepareAll()))
      const prepared = await prepareAll()
      const [first] = prepared
      return first === undefined ? [] : this.#queue.turn(first.account, () => this.#postPrepared(prepared))
    }
    return (await this.#traced('post', movements.length, postAll)) as MovementResultsOf<Movements>
  }

  async batch(batch: Batch): Promise<BatchResult> {
    const { assets, accounts } = this.#parts
    assets.get(batch.asset)
    if (batch.accountIds.length > largestBatch) throwPostingInvalid('accountIds', `at most ${largestBatch}`)
    const [first] = batch.accountIds
    const account = first === undefined || this.#parts.db.inTransaction ? undefined : await accounts.refOf(first)
    return this.#traced('batch', batch.accountIds.length, () => this.#turn(account, () => this.#postBatch(batch)))
  }

  async transactional<T>(refs: readonly AccountRef[], work: () => Promise<T>): Promise<T> {
    const { accounts } = this.#parts
    return this.#turn(refs[0], async () => {
      const ids: number[] = []
      for (const ref of refs) {
        const id = await accounts.find(ref)
        if (id !== undefined) ids.push(id)
      }
      await accounts.lock(ids)
      return work()
    })
  }

  async takeBack({ recovery = 'none', ...posting }: TakeBack): Promise<TakeBackResult> {
    if (!recoveries.includes(recovery)) throwPostingInvalid('recovery', recoveries.join(' or '))
    const whole = await this.#prepare('debit', posting)
    return this.#traced('take-back', 1, () => this.#turn(posting, () => this.#takeBack(posting, recovery, whole)))
  }

  async releaseExpiredHolds(accountId: number) {
    const { db, accounts, engine } = this.#parts
    if ((await findExpiredHolds(db, accountId, db.clock.expiryNow())).length === 0) return 0
    const account = db.inTransaction ? undefined : await accounts.refOf(accountId)
    return this.#turn(account, () => engine.releaseExpiredHolds(accountId))
  }

  async balance(ref: AccountRef) {
    this.#parts.assets.get(ref.asset)
    const found = await this.#parts.reader.find(ref)
    if (found === undefined || found.available === null || found.frozen === null) return { available: 0, frozen: 0 }
    const { id: accountId, available, frozen } = found
    return { accountId, available, frozen }
  }

  find(ref: AccountRef) {
    return this.#parts.reader.find(ref)
  }
  account(id: number, rows?: object) {
    return this.#parts.reader.account(id, rows)
  }
  async ensureAccount(ref: AccountRef) {
    const { db, assets, accounts, reader } = this.#parts
    assets.get(ref.asset)
    assertOwner(ref.owner)
    return db.statements(async () => reader.account(await accounts.findOrMake(ref)))
  }
  setStatus(accountId: number, status: AccountStatus) {
    return this.#parts.accounts.setStatus(accountId, status)
  }
  accounts(filter: AccountFilter, window: PageWindow) {
    return this.#parts.reader.accounts(filter, window)
  }
  entries(filter: EntryFilter, window: PageWindow) {
    return this.#parts.reader.entries(filter, window)
  }
  holds(filter: HoldFilter, window: PageWindow) {
    return this.#parts.reader.holds(filter, window)
  }
  debts(filter: DebtFilter, window: PageWindow) {
    return this.#parts.reader.debts(filter, window)
  }
  journal(id: number, rows?: object) {
    return this.#parts.reader.journal(id, rows)
  }
  explain(accountId: number, page: { readonly after?: string; readonly size: number }, rows?: object) {
    return this.#parts.reader.explain(accountId, page, rows)
  }
  moved(asset: string, page: { readonly after: number; readonly before: number; readonly size: number }) {
    return this.#parts.reader.moved(asset, page)
  }
  movedOverTime(asset: string, span: TimeSpan, after?: number) {
    return this.#parts.reader.movedOverTime(asset, span, after)
  }
  monthTotals(accountId: number, monthKey?: number) {
    return this.#parts.reader.monthTotals(accountId, monthKey)
  }
  monthKeyOf(asset: string, at: number) {
    return this.#parts.assets.monthKeyOf(asset, at)
  }

  #postOne<Action extends MovementAction>(action: Action, movement: MovementOf<Action>) {
    return this.#traced(action, 1, () => this.#postNow(action, movement))
  }

  #traced<T>(action: string, movements: number, work: () => Promise<T>): Promise<T> {
    const attributes = { 'plinth.movements': movements }
    return inSpan(this.#parts.tracer, `ledger ${action}`, { attributes }, work)
  }

  async #postNow<Action extends MovementAction>(
    action: Action,
    movement: MovementOf<Action>,
  ): Promise<MovementResults[Action]> {
    const { db } = this.#parts
    if (db.inTransaction) return db.statements(async () => this.#postAlone(await this.#prepare(action, movement)))
    const prepared = await this.#prepare(action, movement)
    const { account, journal, isShared } = prepared
    // The transaction of a caller with a hook contains only the work of this caller.
    if (!isShared || db.hasFirstStatement) return this.#queue.turn(account, () => this.#postAlone(prepared))
    return prepared.resultOf(outcomeOf(await this.#queue.add(journal, account)))
  }

  async #takeBack(posting: Posting, recovery: Recovery, whole: Prepared<PostingResult>): Promise<TakeBackResult> {
    const { db, accounts, debts, engine, journals } = this.#parts
    const { idemHash, fingerprint, kind, refType, refId, actor, reason } = whole.journal.draft
    const accountId = await accounts.findOrMake(posting)
    // The lock decides which of several equal calls is the first.
    await accounts.lock([accountId])
    const earlier = await debts.find(idemHash)
    if (earlier !== undefined) {
      if (earlier.fingerprint !== fingerprint) throw businessError('idempotency-mismatch')
      const { journalId, deducted, shortfall: owed } = earlier
      return { accountId, journalId, deducted, owed, replayed: true }
    }
    await engine.releaseExpiredHolds(accountId)
    const account = (await accounts.lock([accountId])).get(accountId)
    const available = account?.status === 'open' ? account.available : 0
    const deducted = (await journals.has(idemHash)) ? posting.amount : Math.min(available, posting.amount)
    const part = { ...posting, amount: deducted }
    const posted = deducted === 0 ? undefined : await this.#postAlone(await this.#prepare('debit', part))
    const { journalId = null, replayed = false } = posted ?? {}
    const owed = posting.amount - deducted
    if (owed > 0) {
      const notes = { idemHash, fingerprint, kind, refType, refId, actor, reason }
      const counter = whole.journal.counter ?? ''
      const sums = { deducted, shortfall: owed, owed, recovery }
      await debts.add({ ...notes, ...sums, id: db.newId(), accountId, counter, journalId, createdAt: db.clock.now() })
    }
    return { accountId, journalId, deducted, owed, replayed }
  }

  async #prepare<Action extends MovementAction>(
    action: Action,
    movement: MovementOf<Action>,
  ): Promise<Prepared<MovementResults[Action]>> {
    const prepared = await preparations[action](movement, this.#parts)
    this.#parts.assets.get(prepared.journal.asset)
    return prepared
  }

  async #postAlone<Result>(prepared: Prepared<Result>): Promise<Result> {
    const [result] = await this.#postPrepared([prepared])
    return result as Result
  }

  /** Must be called in a transaction, which an error rolls back. */
  async #postPrepared<Result>(prepared: readonly Prepared<Result>[]): Promise<readonly Result[]> {
    const decisions = await this.#parts.engine.post(prepared.map(({ journal }) => journal))
    return prepared.map(({ resultOf }, index) => resultOf(outcomeOf(decisions[index] as PostingDecision)))
  }

  /** Runs the work in the transaction of the caller, or in one of its own that waits in the queue of the account. */
  async #turn<T>(account: AccountRef | undefined, work: () => Promise<T>): Promise<T> {
    const { db } = this.#parts
    return account === undefined || db.inTransaction ? db.statements(work) : this.#queue.turn(account, work)
  }

  async #postBatch(batch: Batch): Promise<BatchResult> {
    const { accounts, engine } = this.#parts
    const locked = await accounts.lock(batch.accountIds)
    for (const { asset } of locked.values())
      if (asset !== batch.asset) throwPostingInvalid('accountIds', `accounts of ${batch.asset}`)
    const postings = await batch.postings()
    if (postings.length > largestBatch) throwPostingInvalid('postings', `at most ${largestBatch}`)
    if (postings.some(({ accountId }) => !locked.has(accountId)))
      throwPostingInvalid('postings', 'of the accounts of the batch')
    if (new Set(postings.map(({ key }) => key)).size < postings.length)
      throwPostingInvalid('postings', 'of different keys')
    const movements = postings.map((posting) => batchJournalOf(batch, posting))
    const results = await engine.post(movements, locked)
    let posted = 0
    let amount = 0
    const replayed: string[] = []
    const refused: string[] = []
    postings.forEach((posting, index) => {
      const result = results[index]
      if (result === undefined || 'refused' in result) {
        if (result?.refused.reason === 'money.idempotency-mismatch') throw result.refused
        refused.push(posting.key)
      } else if (result.outcome.replayed) {
        replayed.push(posting.key)
      } else {
        posted++
        amount += posting.amount
      }
    })
    return { posted, amount, replayed, refused }
  }
}

function outcomeOf(result: PostingDecision): JournalOutcome {
  if ('refused' in result) throw result.refused
  return result.outcome
}
