import { type Database, insertRows, type Parameter } from '@plinth/database'
import { type BusinessError, type Clock, isBusinessError } from '@plinth/kernel'
import type { LotBook, LotMovement } from '../contract.ts'
import { refusal } from '../failures.ts'
import type { Accounts, LockedAccount } from './accounts.ts'
import type { Assets } from './assets.ts'
import { dueHolds, expiryOf } from './holds.ts'
import type { Journals, NumberedMovement } from './journals.ts'
import type { Closing, Leg, Movement, Outcome } from './movement.ts'
import { releaseOf } from './movements.ts'

const entryTable = 'money_entry'
const entryColumns = [
  ...['id', 'journal_id', 'account_id', 'asset', 'seq', 'd_available', 'd_frozen', 'available_after', 'frozen_after'],
  ...['kind', 'month_key', 'created_at'],
]
const holdTable = 'money_hold'
const holdColumns = [
  'id',
  'account_id',
  'amount',
  'captured',
  'released',
  'state',
  'expires_at',
  'journal_id',
  'created_at',
]

export interface EngineParts {
  readonly db: Database
  readonly clock: Pick<Clock, 'now'>
  readonly assets: Assets
  readonly accounts: Accounts
  readonly journals: Journals
}

/** What became of a movement. */
export type Verdict = { readonly outcome: Outcome } | { readonly refused: BusinessError }

/** Rows and calls that movements ask for, gathered while balances are computed in memory under the locks. */
interface Work {
  readonly now: number
  readonly entries: Parameter[][]
  readonly holds: Parameter[][]
  readonly lots: { readonly book: LotBook; readonly movement: LotMovement }[]
  readonly changed: Set<LockedAccount>
}

/**
 * Writes movements inside the transaction of its caller, all of them in a few statements, in the one order that everybody keeps:
 * journals (the unique key of each decides who does it), accounts in ascending order of ids, their holds, their lots, entries.
 *
 * Movements see each other in the order in which they are given. A refused one leaves no row behind.
 */
export class PostingEngine {
  readonly #parts: EngineParts

  constructor(parts: EngineParts) {
    this.#parts = parts
  }

  /**
   * @param movements with keys that are all different
   * @param held accounts that are locked already, when these are postings of a batch: lots move in one call then
   * @throws what a lot book throws
   */
  async post(movements: readonly Movement[], held?: ReadonlyMap<number, LockedAccount>): Promise<readonly Verdict[]> {
    const { db, clock, journals } = this.#parts
    const work: Work = { now: clock.now(), entries: [], holds: [], lots: [], changed: new Set() }
    const numbered = movements.map((movement) => ({ movement, journalId: db.newId() }))
    const earlier = await journals.write(numbered, work.now)
    const fresh = numbered.filter(({ movement }) => !earlier.has(movement.draft.idemHash))
    const ids = await this.#idsOf(fresh)
    const locked = held ?? (await this.#parts.accounts.lock([...ids.values()].flat().filter((id) => id !== undefined)))
    const verdicts: Verdict[] = []
    const refused: number[] = []
    for (const one of numbered) {
      const journal = earlier.get(one.movement.draft.idemHash)
      try {
        const outcome =
          journal === undefined
            ? await this.#carryOut(one, ids.get(one) ?? [], locked, work)
            : await journals.replay(one.movement, journal)
        verdicts.push({ outcome })
      } catch (error) {
        if (!isBusinessError(error)) throw error
        if (journal === undefined) refused.push(one.journalId)
        verdicts.push({ refused: error })
      }
    }
    if (refused.length > 0) await journals.forget(refused)
    await this.#write(work, held !== undefined)
    return verdicts
  }

  /** Ids of the accounts of the legs; undefined where an account does not exist and nothing would enter it. */
  async #idsOf(fresh: readonly NumberedMovement[]): Promise<Map<NumberedMovement, readonly (number | undefined)[]>> {
    const { accounts } = this.#parts
    const ids = new Map<NumberedMovement, readonly (number | undefined)[]>()
    for (const one of fresh) {
      const found: (number | undefined)[] = []
      for (const { account, available, frozen } of one.movement.legs) {
        if (typeof account === 'number') found.push(account)
        else found.push(await (available + frozen > 0 ? accounts.findOrMake(account) : accounts.find(account)))
      }
      ids.set(one, found)
    }
    return ids
  }

  async #carryOut(
    { movement, journalId }: NumberedMovement,
    ids: readonly (number | undefined)[],
    locked: ReadonlyMap<number, LockedAccount>,
    work: Work,
  ): Promise<Outcome> {
    const { db, assets, accounts } = this.#parts
    const { asset, legs, draft, opens, counter } = movement
    if (movement.closes !== undefined) await this.#closeHold(movement.closes, work.now)
    const touched: LockedAccount[] = []
    for (const [index, leg] of legs.entries()) {
      const account = locked.get(ids[index] ?? 0)
      if (account !== undefined && account.available + leg.available < 0) await this.#giveBackDue(account, asset, work)
      touched.push(allowed(leg, account))
    }
    const left = legs.reduce((sum, { available, frozen }) => sum - available - frozen, 0)
    const system = left === 0 || counter === undefined ? undefined : await accounts.system(asset, counter)
    const monthKey = assets.monthKeyOf(asset, draft.at ?? work.now)
    const holdId = opens === undefined ? undefined : db.newId()
    const about = [draft.kind, monthKey, work.now]
    const after = legs.map((leg, index) => {
      const account = touched[index] as LockedAccount
      account.available += leg.available
      account.frozen += leg.frozen
      account.version++
      work.changed.add(account)
      const { id, version, available, frozen } = account
      work.entries.push([
        db.newId(),
        journalId,
        id,
        asset,
        version,
        leg.available,
        leg.frozen,
        available,
        frozen,
        ...about,
      ])
      return { accountId: id, available, frozen }
    })
    if (system !== undefined)
      work.entries.push([db.newId(), journalId, system, null, null, left, 0, null, null, ...about])
    const [first] = touched
    if (opens !== undefined && holdId !== undefined && first !== undefined) {
      work.holds.push([holdId, first.id, opens.amount, 0, 0, 'open', opens.expiresAt, journalId, work.now])
    }
    const book = assets.get(asset).lots
    if (book !== undefined) {
      legs.forEach((leg, index) => {
        const { id, ownerType, ownerId } = touched[index] as LockedAccount
        if (leg.lots === undefined) return
        const owner = { type: ownerType, id: ownerId }
        const hold = holdId === undefined ? {} : { holdId }
        const about = { accountId: id, owner, asset, journalId, at: work.now }
        work.lots.push({ book, movement: { ...about, ...hold, ...leg.lots } })
      })
    }
    return { journalId, accounts: after, holdId, replayed: false }
  }

  /** @throws BusinessError `409` `money.hold-closed` when it was closed before, or is past its expiry and is to be captured */
  async #closeHold({ holdId, captured, released }: Closing, now: number): Promise<void> {
    const changed = await this.#parts.db.execute(
      `update ${holdTable} set state = ?, captured = ?, released = ? where id = ? and state = ? and expires_at > ?`,
      [captured > 0 ? 'captured' : 'released', captured, released, holdId, 'open', captured > 0 ? now : 0],
    )
    if (changed === 0) throw refusal('hold-closed')
  }

  /** What is frozen past its expiry can be spent, whether the task has been there yet or not. */
  async #giveBackDue(account: LockedAccount, asset: string, work: Work): Promise<void> {
    if (account.frozen === 0) return
    const { db, journals } = this.#parts
    for (const { id, amount } of await dueHolds(db, account.id, work.now)) {
      const movement = releaseOf(expiryOf(id), { id, accountId: account.id, asset, amount })
      const numbered = { movement, journalId: db.newId() }
      const earlier = await journals.write([numbered], work.now)
      if (earlier.size === 0) await this.#carryOut(numbered, [account.id], new Map([[account.id, account]]), work)
    }
  }

  async #write({ changed, lots, holds, entries }: Work, isBatch: boolean): Promise<void> {
    const { db, accounts } = this.#parts
    if (changed.size > 0) await accounts.write([...changed])
    const [book] = lots.map(({ book }) => book)
    if (isBatch && book?.moveMany !== undefined) {
      await book.moveMany(lots.map(({ movement }) => movement).sort((a, b) => a.accountId - b.accountId))
    } else {
      for (const { book, movement } of lots) await book.move(movement)
    }
    if (holds.length > 0) await insertRows(db, { table: holdTable, columns: holdColumns }, holds)
    if (entries.length > 0) await insertRows(db, { table: entryTable, columns: entryColumns }, entries)
  }
}

/** @throws BusinessError when the account does not allow it; nothing has changed then */
function allowed(leg: Leg, account: LockedAccount | undefined): LockedAccount {
  const available = account?.available ?? 0
  if (account === undefined) throw refusal('balance-insufficient', insufficient(available))
  // What is frozen there may still leave.
  if (account.status !== 'open' && leg.frozen >= 0) throw refusal('account-closed')
  if (available + leg.available < 0 || account.frozen + leg.frozen < 0) {
    throw refusal('balance-insufficient', insufficient(available))
  }
  const sum = available + leg.available + account.frozen + leg.frozen
  if (!Number.isSafeInteger(sum)) throw refusal('balance-limit')
  return account
}

const insufficient = (available: number) => ({ params: { available }, data: { available } })
