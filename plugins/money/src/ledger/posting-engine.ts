import { type Database, type DatabaseClock, insertRows, type NewRow } from '@plinth/database'
import { type BusinessError, isBusinessError } from '@plinth/kernel'
import type { LotMovement, LotRepository } from '../contract.ts'
import { businessError } from '../declarations.ts'
import { EntryRow, HoldRow } from '../entities.ts'
import { type Accounts, type LockedAccount, nameOf } from './accounts.ts'
import type { Assets } from './assets.ts'
import type { Debts } from './debts.ts'
import type {
  AccountChange,
  HoldClosing,
  JournalOutcome,
  Journals,
  JournalToReverse,
  NumberedJournal,
  PendingJournal,
} from './journals.ts'
import {
  claimJournalOf,
  expiredHoldRelease,
  findExpiredHolds,
  type RecoveryCause,
  recoveryJournalOf,
  releaseJournalOf,
} from './movements.ts'

interface EngineDependencies {
  readonly db: Database
  readonly clock: DatabaseClock
  readonly assets: Assets
  readonly accounts: Accounts
  readonly journals: Journals
  readonly debts: Debts
}

export type PostingDecision = { readonly outcome: JournalOutcome } | { readonly refused: BusinessError }

/**
 * Rows and lot movements that are still to be written. Until then, the balances are computed in memory while the
 * accounts are locked.
 */
interface Work {
  readonly now: number
  readonly entries: NewRow<typeof EntryRow>[]
  readonly holds: NewRow<typeof HoldRow>[]
  readonly lots: { readonly book: LotRepository; readonly movement: LotMovement }[]
  readonly changed: Set<LockedAccount>
  /** Units that the reversals of this work return, by reversed journal. */
  readonly reversed: Map<number, number>
}

/**
 * Writes movements in few statements, inside the transaction of the caller. All transactions lock in the same order to
 * prevent deadlocks: journals, accounts by ascending id, holds, lots, entries.
 *
 * Each movement sees the changes of the earlier ones. A rejected movement leaves no row.
 */
export class PostingEngine {
  readonly #parts: EngineDependencies

  constructor(parts: EngineDependencies) {
    this.#parts = parts
  }

  /**
   * @param movements with distinct keys
   * @param held accounts that the caller, a batch, has locked; all lots of the batch then move in one call
   * @throws the errors of lot repositories
   */
  async post(
    movements: readonly PendingJournal[],
    held?: ReadonlyMap<number, LockedAccount>,
  ): Promise<readonly PostingDecision[]> {
    const { db, journals } = this.#parts
    const work = this.#newWork()
    const numbered = movements.map((movement) => ({ movement, journalId: db.newId() }))
    const earlier = await journals.write(numbered, work.now)
    const fresh = numbered.filter(({ movement }) => !earlier.has(movement.draft.idemHash))
    const ids = await this.#idsOf(fresh)
    const locked = held ?? (await this.#parts.accounts.lock([...ids.values()].filter((id) => id !== undefined)))
    const results: PostingDecision[] = []
    const refused: number[] = []
    for (const one of numbered) {
      const journal = earlier.get(one.movement.draft.idemHash)
      try {
        const outcome =
          journal === undefined
            ? await this.#carryOut(
                one,
                one.movement.legs.map((leg) => ids.get(leg)),
                locked,
                work,
              )
            : await journals.replay(one.movement, journal)
        results.push({ outcome })
      } catch (error) {
        if (!isBusinessError(error)) throw error
        if (journal === undefined) refused.push(one.journalId)
        results.push({ refused: error })
      }
    }
    if (refused.length > 0) await journals.forget(refused)
    await this.#write(work, held !== undefined)
    return results
  }

  /** Releases the expired holds of an account. @returns number of released holds */
  async releaseExpiredHolds(accountId: number): Promise<number> {
    const account = (await this.#parts.accounts.lock([accountId])).get(accountId)
    if (account === undefined) return 0
    const work = this.#newWork()
    const released = await this.#giveBackDue(account, account.asset, work)
    await this.#write(work, false)
    return released
  }

  #newWork(): Work {
    const now = this.#parts.clock.now()
    return { now, entries: [], holds: [], lots: [], changed: new Set(), reversed: new Map() }
  }

  /**
   * Returns the account id of each leg; undefined if the account does not exist and the leg adds no units. Creates missing
   * accounts in one order to prevent deadlocks.
   */
  async #idsOf(fresh: readonly NumberedJournal[]): Promise<ReadonlyMap<AccountChange, number | undefined>> {
    const { accounts } = this.#parts
    const named = fresh.flatMap(({ movement: { legs } }) => legs.map((leg) => ({ leg, name: nameOfLeg(leg) })))
    const ids = new Map<AccountChange, number | undefined>()
    for (const { leg } of named.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))) {
      const { account, available, frozen } = leg
      if (typeof account === 'number') ids.set(leg, account)
      else ids.set(leg, await (available + frozen > 0 ? accounts.findOrMake(account) : accounts.find(account)))
    }
    return ids
  }

  async #carryOut(
    { movement, journalId }: NumberedJournal,
    ids: readonly (number | undefined)[],
    locked: ReadonlyMap<number, LockedAccount>,
    work: Work,
  ): Promise<JournalOutcome> {
    const { db, assets, accounts } = this.#parts
    const { asset, legs, draft, opens, counter } = movement
    if (movement.closes !== undefined) await this.#closeHold(movement.closes, work.now)
    const touched: { readonly leg: AccountChange; readonly account: LockedAccount }[] = []
    for (const [index, leg] of legs.entries()) {
      const account = locked.get(ids[index] ?? 0)
      if (account !== undefined && account.available + leg.available < 0) await this.#giveBackDue(account, asset, work)
      touched.push({ leg, account: allowed(leg, account, movement.isClaim) })
    }
    const reversed = movement.reverses && (await this.#reversing(movement.reverses, legs[0]?.available ?? 0, work))
    const left = legs.reduce((sum, { available, frozen }) => sum - available - frozen, 0)
    const system = left === 0 || counter === undefined ? undefined : await accounts.system(asset, counter)
    const monthKey = assets.monthKeyOf(asset, draft.at ?? work.now)
    const holdId = opens === undefined ? undefined : db.newId()
    const common = { journalId, kind: draft.kind, monthKey, createdAt: work.now }
    const after = touched.map(({ leg, account }) => {
      account.available += leg.available
      account.frozen += leg.frozen
      account.version++
      work.changed.add(account)
      const { id: accountId, version: seq, available, frozen } = account
      work.entries.push({
        ...common,
        id: db.newId(),
        accountId,
        asset,
        seq,
        dAvailable: leg.available,
        dFrozen: leg.frozen,
        availableAfter: available,
        frozenAfter: frozen,
      })
      return { accountId, available, frozen }
    })
    if (system !== undefined)
      work.entries.push({ ...common, id: db.newId(), accountId: system, dAvailable: left, dFrozen: 0 })
    const first = touched[0]?.account
    if (opens !== undefined && holdId !== undefined && first !== undefined) {
      const { amount, expiresAt } = opens
      const unused = { captured: 0, released: 0, state: 'open' } as const
      work.holds.push({ ...unused, id: holdId, accountId: first.id, amount, expiresAt, journalId, createdAt: work.now })
    }
    const book = assets.get(asset).lots
    if (book !== undefined) {
      // Claims depend on the lots, so the lots of earlier movements are moved before them.
      if (givesBack(movement) && book.claims !== undefined) await this.#moveLots(work)
      for (const { leg, account } of touched) {
        if (leg.lots === undefined) continue
        const { id, ownerType, ownerId } = account
        const owner = { type: ownerType, id: ownerId }
        const hold = holdId === undefined ? {} : { holdId }
        const about = { accountId: id, owner, asset, journalId, at: work.now }
        work.lots.push({ book, movement: { ...about, ...hold, ...(reversed && { reversed }), ...leg.lots } })
      }
      const given = work.lots.at(-1)
      if (first !== undefined && given !== undefined && givesBack(movement)) await this.#payClaims(given, first, work)
    }
    for (const { leg, account } of touched) await this.#payDebts(account, leg.available, { asset, journalId }, work)
    return { journalId, accounts: after, holdId, replayed: false }
  }

  /** @throws BusinessError `409` `money.hold-closed`, also if an expired hold would be captured */
  async #closeHold({ holdId, captured, released }: HoldClosing, now: number): Promise<void> {
    const changed = await this.#parts.db.execute(
      `update money_hold set state = ?, captured = ?, released = ? where id = ? and state = ? and expires_at > ?`,
      [captured > 0 ? 'captured' : 'released', captured, released, holdId, 'open', captured > 0 ? now : 0],
    )
    if (changed === 0) throw businessError('hold-closed')
  }

  /** Releases expired holds, so that a posting can spend their units before the scheduled task has run. */
  async #giveBackDue(account: LockedAccount, asset: string, work: Work): Promise<number> {
    if (account.frozen === 0) return 0
    let released = 0
    const { db, clock, journals } = this.#parts
    for (const { id, amount } of await findExpiredHolds(db, account.id, clock.expiryNow())) {
      const movement = releaseJournalOf(expiredHoldRelease(id), { id, accountId: account.id, asset, amount })
      const numbered = { movement, journalId: db.newId() }
      const earlier = await journals.write([numbered], work.now)
      if (earlier.size > 0) continue
      await this.#carryOut(numbered, [account.id], new Map([[account.id, account]]), work)
      released++
    }
    return released
  }

  /** @throws BusinessError `409` `money.exceeds-journal` with the returnable units in `data.amount` */
  async #reversing({ journalId, taken }: JournalToReverse, amount: number, { reversed }: Work) {
    const unwritten = reversed.get(journalId) ?? 0
    const before = (await this.#parts.journals.reversed(journalId)) + unwritten
    const amountLeft = taken - before
    if (amount > amountLeft) {
      throw businessError('exceeds-journal', { params: { amount: amountLeft }, data: { amount: amountLeft } })
    }
    reversed.set(journalId, unwritten + amount)
    return { journalId, before }
  }

  /** Debits claims of the lot repository before another posting can spend the returned units. */
  async #payClaims({ book, movement }: Work['lots'][number], account: LockedAccount, work: Work): Promise<void> {
    for (const claim of (await book.claims?.(movement)) ?? []) {
      const { db, journals } = this.#parts
      const numbered = { movement: claimJournalOf(claim, account.id, movement.asset), journalId: db.newId() }
      await journals.write([numbered], work.now)
      await this.#carryOut(numbered, [account.id], new Map([[account.id, account]]), work)
    }
  }

  /** Debits what the owner owes from units that became available, before another posting can spend them. */
  async #payDebts(account: LockedAccount, units: number, cause: RecoveryCause, work: Work): Promise<void> {
    if (account.owed === 0 || units <= 0) return
    const { db, journals, debts } = this.#parts
    for (const payment of await debts.pay(account, Math.min(units, account.available))) {
      const numbered = { movement: recoveryJournalOf(payment, cause), journalId: db.newId() }
      await journals.write([numbered], work.now)
      await this.#carryOut(numbered, [account.id], new Map([[account.id, account]]), work)
    }
  }

  async #moveLots({ lots }: Work): Promise<void> {
    for (const { book, movement } of lots.splice(0)) await book.move(movement)
  }

  async #write(work: Work, isBatch: boolean): Promise<void> {
    const { db, accounts } = this.#parts
    const { changed, lots, holds, entries } = work
    if (changed.size > 0) await accounts.write([...changed])
    const [book] = lots.map(({ book }) => book)
    if (isBatch && book?.moveMany !== undefined) {
      await book.moveMany(lots.map(({ movement }) => movement).sort((a, b) => a.accountId - b.accountId))
    } else {
      await this.#moveLots(work)
    }
    if (holds.length > 0) await insertRows(db, HoldRow, holds)
    if (entries.length > 0) await insertRows(db, EntryRow, entries)
  }
}

const nameOfLeg = ({ account }: AccountChange) => (typeof account === 'number' ? String(account) : nameOf(account))

/** True if held or spent units become available again. */
const givesBack = ({ closes, reverses }: PendingJournal) => reverses !== undefined || (closes?.released ?? 0) > 0

/** Returns the account if it allows the leg. @throws BusinessError otherwise */
function allowed(leg: AccountChange, account: LockedAccount | undefined, isClaim = false): LockedAccount {
  const available = account?.available ?? 0
  if (account === undefined) throw businessError('balance-insufficient', insufficient(available))
  // A closed account still allows a decrease of its frozen units.
  if (account.status !== 'open' && leg.frozen >= 0 && !isClaim) throw businessError('account-closed')
  if (available + leg.available < 0 || account.frozen + leg.frozen < 0) {
    throw businessError('balance-insufficient', insufficient(available))
  }
  const sum = available + leg.available + account.frozen + leg.frozen
  if (!Number.isSafeInteger(sum)) throw businessError('balance-limit')
  return account
}

const insufficient = (available: number) => ({ params: { available }, data: { available } })
