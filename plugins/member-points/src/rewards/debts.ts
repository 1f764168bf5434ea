import { type Database, exactInteger } from '@plinth/database'
import type { Ledger } from '@plinth/money'
import type { ReversalDetails } from '../lots/lot-moves.ts'
import type { PointsLotRepository } from '../lots/lot-repository.ts'
import { accountRefOf } from '../members/account.ts'
import type { Parts } from '../parts.ts'

/** Maximum number of debts that one reward pays. Later rewards pay the remaining debts. */
const maxOrders = 100

interface Settlement {
  readonly orderRewardId: number
  readonly points: number
}

interface GrantOfDebtor {
  readonly sourceId: number
  readonly journalId: number
}

/**
 * Debts: points that were spent before a refund could take them back. Later rewards pay them, if the rule allows it.
 * Like a refund, this class changes rows of orders before the account is locked.
 */
export class PointsDebts {
  readonly #db: Database
  readonly #ledger: Ledger
  readonly #lots: PointsLotRepository

  constructor({ db, ledger, lots }: Pick<Parts, 'db' | 'ledger' | 'lots'>) {
    this.#db = db
    this.#ledger = ledger
    this.#lots = lots
  }

  /** Marks debts as paid, up to this number of points. */
  async settle(userId: number, asset: string, points: number): Promise<readonly Settlement[]> {
    const debts = await this.#db.query<Record<string, unknown>>(
      `select id, owed from points_order_reward where user_id = ? and owed > 0 and asset = ? order by owed, id limit ${maxOrders}`,
      [userId, asset],
    )
    const settled: Settlement[] = []
    let left = points
    for (const debt of debts) {
      const [id, part] = [exactInteger(debt['id']), Math.min(left, exactInteger(debt['owed']))]
      if (part === 0) break
      const changed = await this.#db.execute(
        'update points_order_reward set owed = owed - ?, recovered = recovered + ? where id = ? and owed >= ?',
        [part, part, id, part],
      )
      if (changed === 0) continue
      settled.push({ orderRewardId: id, points: part })
      left -= part
    }
    return settled
  }

  async restore(settled: readonly Settlement[]): Promise<void> {
    for (const { orderRewardId, points } of settled) {
      await this.#db.execute(
        'update points_order_reward set owed = owed + ?, recovered = recovered - ? where id = ? and recovered >= ?',
        [points, points, orderRewardId, points],
      )
    }
  }

  /** Debits the points that paid debts, as a separate entry. */
  async collect(userId: number, asset: string, settled: readonly Settlement[], grant: GrantOfDebtor): Promise<void> {
    const lots: ReversalDetails = { reversed: { sourceId: grant.sourceId } }
    await this.#ledger.debit({
      ...accountRefOf(userId, asset),
      amount: settled.reduce((sum, { points }) => sum + points, 0),
      key: `member-points:recover:${grant.journalId}`,
      kind: 'points.recover',
      counter: 'issued',
      parentJournalId: grant.journalId,
      lots,
    })
    for (const { orderRewardId, points } of settled) await this.#lots.payFor(orderRewardId, grant.sourceId, points)
  }
}
