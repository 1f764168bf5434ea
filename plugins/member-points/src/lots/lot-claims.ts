import { type Database, exactInteger, insertRows, type NewRow, selectionOf } from '@plinth/database'
import type { LotClaim, LotMovement } from '@plinth/money'
import { OrderRewardRow, SubstituteRow } from '../entities.ts'
import type { RuleSettings } from '../rules/rule-types.ts'
import { type ClaimDetails, type LotMoves, splitIdsIntoLists } from './lot-moves.ts'

export interface ReturnedUnits {
  readonly sourceId: number
  readonly units: number
}

/** Facts that decide where returned points go. */
interface ClaimedSource {
  readonly claimed: number
  /** Null if no order granted the points. */
  readonly orderNo: string | null
  /** True if a refund took points of other sources instead. */
  readonly isReplaced: boolean
}

interface OrderSums {
  readonly claimed: number
  /**
   * Points that a refund could not take yet and may still take. Expired points are included only if the rule allows it.
   */
  readonly short: number
  readonly owed: number
  readonly recovery: RuleSettings['recovery']
}

const orderTable = 'points_order_reward'
const orderSums = selectionOf(OrderRewardRow).pick(
  'granted',
  'deducted',
  'claimed',
  'shortfall',
  'owed',
  'recovered',
  'ruleSnapshot',
)
const substitutes = selectionOf(SubstituteRow).pick('id', 'lenderId', 'units')

/**
 * Claims on points that were on hold when their order was refunded or their member was deleted. When the hold ends,
 * returned points are taken, and captured points become a shortfall of the refund. Points that were spent before the
 * refund reduce its shortfall when they are returned. If the refund took other points instead, the returned points go
 * to the sources of those other points.
 *
 * The account is locked while this class reads and changes the row of an order, and this row is not locked. It need not
 * be: each other writer of these columns (refunds, payments of debts and first rewards in `OrderRewards` and
 * `PointsDebts`) also locks the account before it commits, and the isolation level is `read committed` on every server, so
 * the statements here see what the previous owner of the lock has committed. A writer that does not lock the account
 * would need a lock of the order here. `test/isolation.proof.ts` proves this.
 */
export class LotClaims {
  readonly #db: Database
  readonly #moves: LotMoves

  constructor(db: Database, moves: LotMoves) {
    this.#db = db
    this.#moves = moves
  }

  /**
   * Applies the claims to returned points. It runs before the points are returned, so `remaining` of a source can be
   * negative until then.
   *
   * @returns the debits that take the claimed points
   */
  async settle({ journalId }: LotMovement, parts: readonly ReturnedUnits[]): Promise<readonly LotClaim[]> {
    const claims: LotClaim[] = []
    const forfeited: ReturnedUnits[] = []
    const replaced = new Map<string, readonly [sourceId: number, kind: 'reverse' | 'restore', units: number]>()
    const note = (sourceId: number, kind: 'reverse' | 'restore', units: number) => {
      const [, , before = 0] = replaced.get(`${kind} ${sourceId}`) ?? []
      replaced.set(`${kind} ${sourceId}`, [sourceId, kind, before + units])
    }
    // Repeats until nothing is left, because a lender may itself have claims or may have borrowed points from others.
    for (let pending = parts; pending.length > 0; ) {
      const next: ReturnedUnits[] = []
      for (const part of await this.#unclaimed(pending, journalId, claims, forfeited)) {
        for (const { lenderId, units } of await this.#replace(part)) {
          note(part.sourceId, 'reverse', units)
          note(lenderId, 'restore', units)
          next.push({ sourceId: lenderId, units })
        }
      }
      pending = merged(next)
    }
    await this.#moves.note(
      [...replaced.values()].map(([sourceId, kind, amount]) => ({ journalId, sourceId, kind, amount })),
    )
    if (forfeited.length > 0) claims.push(forfeitClaim(journalId, merged(forfeited)))
    return claims
  }

  /**
   * Takes the claimed part of the returned points.
   *
   * @returns the points that are left for sources which borrowed points from other sources
   */
  async #unclaimed(
    parts: readonly ReturnedUnits[],
    journalId: number,
    claims: LotClaim[],
    forfeited: ReturnedUnits[],
  ): Promise<readonly ReturnedUnits[]> {
    const sources = await this.#find(parts.map(({ sourceId }) => sourceId))
    const left: ReturnedUnits[] = []
    for (const { sourceId, units } of parts) {
      const source = sources.get(sourceId)
      if (source === undefined) continue
      const order = source.orderNo === null ? undefined : await this.#sumsOf(source.orderNo)
      const taken = Math.min(units, source.claimed + (order?.short ?? 0))
      const claimed = Math.min(taken, source.claimed)
      const ofOrder = order === undefined ? 0 : Math.min(claimed, order.claimed) + (taken - claimed)
      if (claimed > 0) await this.#reduce(sourceId, claimed)
      if (source.orderNo !== null && order !== undefined && ofOrder > 0) {
        await this.#book(source.orderNo, order, { claimed: ofOrder - (taken - claimed), short: taken - claimed })
        claims.push(
          refundClaim(await this.#refundOf(source.orderNo), `${journalId}:${sourceId}:${claims.length}`, journalId, {
            sourceId,
            units: ofOrder,
          }),
        )
      }
      if (taken > ofOrder) forfeited.push({ sourceId, units: taken - ofOrder })
      if (units > taken && source.isReplaced) left.push({ sourceId, units: units - taken })
    }
    return left
  }

  /**
   * Replaces borrowed points. Lenders whose points expire last get theirs back first, like sources of returned points.
   *
   * @returns the points that each lender gets back
   */
  async #replace({ sourceId, units }: ReturnedUnits): Promise<readonly { lenderId: number; units: number }[]> {
    const rows = await this.#db.query(
      `select ${substitutes.listOf('s')} from points_substitute s join points_source lender on lender.id = s.lender_id
       where s.source_id = ? order by lender.expires_at desc, lender.id desc, s.id desc`,
      [sourceId],
    )
    const back: { lenderId: number; units: number }[] = []
    let left = units
    for (const row of rows) {
      if (left === 0) break
      const { id, lenderId, units: lent } = substitutes.read(row)
      const replaced = Math.min(left, lent)
      left -= replaced
      await this.#db.execute('update points_substitute set units = units - ? where id = ?', [replaced, id])
      await this.#db.execute('delete from points_substitute where id = ? and units = 0', [id])
      // In MariaDB and MySQL an assignment sees the values of earlier assignments, so `status` is assigned before the
      // columns that it reads.
      await this.#db.execute(
        `update points_source set status = case when remaining + held > ? then 'active' else 'reversed' end,
           remaining = remaining - ?, reversed = reversed + ? where id = ?`,
        [replaced, replaced, replaced, sourceId],
      )
      await this.#db.execute(
        `update points_source set remaining = remaining + ?, reversed = reversed - ?, status = 'active' where id = ?`,
        [replaced, replaced, lenderId],
      )
      back.push({ lenderId, units: replaced })
    }
    return back
  }

  /** Records points that a journal took from other sources instead of this one. */
  async lend(sourceId: number, journalId: number): Promise<void> {
    const rows = await this.#db.query<Record<string, unknown>>(
      `select used.source_id, used.amount from points_source_use used join points_source lot on lot.id = used.source_id
       where used.journal_id = ? and used.kind = 'reverse' and used.source_id <> ? order by lot.expires_at, lot.id`,
      [journalId, sourceId],
    )
    await this.#substitute(
      rows.map((row) => ({ sourceId, lenderId: exactInteger(row['source_id']), units: exactInteger(row['amount']) })),
    )
  }

  /** Records that points of another source paid for points that the source of an order lacked. */
  async pay(orderRewardId: number, lenderId: number, units: number): Promise<void> {
    const [row] = await this.#db.query<Record<string, unknown>>(
      `select source_id from ${orderTable} where id = ? and source_id is not null`,
      [orderRewardId],
    )
    if (row !== undefined) await this.#substitute([{ sourceId: exactInteger(row['source_id']), lenderId, units }])
  }

  async #substitute(substitutes: readonly Omit<NewRow<typeof SubstituteRow>, 'id'>[]): Promise<void> {
    await insertRows(
      this.#db,
      SubstituteRow,
      substitutes.map((substitute) => ({ ...substitute, id: this.#db.newId() })),
    )
  }

  /** Turns claimed points that are no longer on hold into a shortfall. */
  async release(sourceIds: readonly number[]): Promise<void> {
    for (const id of sourceIds) {
      const [row] = await this.#db.query<Record<string, unknown>>(
        'select claimed - held as excess, source_type, source_id from points_source where id = ? and claimed > held',
        [id],
      )
      if (row === undefined) continue
      const excess = exactInteger(row['excess'])
      await this.#reduce(id, excess)
      if (row['source_type'] !== 'order') continue
      const orderNo = String(row['source_id'])
      const order = await this.#sumsOf(orderNo)
      const units = Math.min(excess, order?.claimed ?? 0)
      if (units === 0) continue
      await this.#db.execute(
        `update ${orderTable} set claimed = claimed - ?, shortfall = shortfall + ?, owed = owed + ? where order_no = ?`,
        [units, units, order?.recovery === 'future-grants' ? units : 0, orderNo],
      )
    }
  }

  async #find(ids: readonly number[]): Promise<ReadonlyMap<number, ClaimedSource>> {
    const found = new Map<number, ClaimedSource>()
    for (const list of splitIdsIntoLists(ids)) {
      const places = list.map(() => '?').join(', ')
      const rows = await this.#db.query<Record<string, unknown>>(
        `select s.id, s.claimed, o.order_no, lent.source_id as replaced from points_source s
         left join ${orderTable} o on s.source_type = 'order' and o.order_no = s.source_id and o.source_id = s.id
         left join (select distinct source_id from points_substitute where source_id in (${places})) lent
           on lent.source_id = s.id
         where s.id in (${places}) and (s.claimed > 0 or o.shortfall > o.recovered or lent.source_id is not null)`,
        [...list, ...list],
      )
      for (const { id, claimed, order_no: orderNo, replaced } of rows) {
        found.set(exactInteger(id), {
          claimed: exactInteger(claimed),
          orderNo: orderNo == null ? null : String(orderNo),
          isReplaced: replaced != null,
        })
      }
    }
    return found
  }

  async #sumsOf(orderNo: string): Promise<OrderSums | undefined> {
    const [row] = await this.#db.query<{ readonly expired: unknown }>(
      `select ${orderSums.listOf('o')}, s.expired
       from ${orderTable} o left join points_source s on s.id = o.source_id where o.order_no = ?`,
      [orderNo],
    )
    if (row === undefined) return undefined
    const { granted, deducted, claimed, shortfall, owed, recovered, ruleSnapshot: rule } = orderSums.read(row)
    const recoverable = granted - (rule?.recoverExpired === true ? 0 : exactInteger(row.expired))
    const untaken = recoverable - deducted - claimed - recovered
    const short = Math.max(0, Math.min(shortfall - recovered, untaken))
    return { claimed, short, owed, recovery: rule?.recovery }
  }

  /** Returns the last refund that could not take all points of the order immediately. */
  async #refundOf(orderNo: string): Promise<LotClaim['reference']> {
    const [row] = await this.#db.query<Record<string, unknown>>(
      `select refund_no from points_reversal
       where order_no = ? and status = 'booked' and claimed + shortfall > 0 order by id desc limit 1`,
      [orderNo],
    )
    return row === undefined ? undefined : { type: 'refund', id: String(row['refund_no']) }
  }

  async #reduce(sourceId: number, units: number): Promise<void> {
    await this.#db.execute('update points_source set claimed = claimed - ? where id = ?', [units, sourceId])
  }

  async #book(orderNo: string, { owed }: OrderSums, taken: { readonly claimed: number; readonly short: number }) {
    await this.#db.execute(
      `update ${orderTable} set claimed = claimed - ?, deducted = deducted + ?, shortfall = shortfall - ?, owed = owed - ?
       where order_no = ?`,
      [taken.claimed, taken.claimed + taken.short, taken.short, Math.min(owed, taken.short), orderNo],
    )
  }
}

function merged(parts: readonly ReturnedUnits[]): readonly ReturnedUnits[] {
  const units = new Map<number, number>()
  for (const part of parts) units.set(part.sourceId, (units.get(part.sourceId) ?? 0) + part.units)
  return [...units].map(([sourceId, all]) => ({ sourceId, units: all }))
}

/** Creates the debit that takes claimed points for a refund. @param key unique within the plugin */
function refundClaim(reference: LotClaim['reference'], key: string, journalId: number, part: ReturnedUnits): LotClaim {
  const lots: ClaimDetails = { claimed: [part] }
  return {
    amount: part.units,
    kind: 'points.refund',
    counter: 'issued',
    lots,
    parentJournalId: journalId,
    key: `member-points:claim:${key}`,
    ...(reference === undefined ? {} : { reference }),
  }
}

function forfeitClaim(journalId: number, parts: readonly ReturnedUnits[]): LotClaim {
  const lots: ClaimDetails = { claimed: parts }
  const amount = parts.reduce((sum, { units }) => sum + units, 0)
  return {
    amount,
    kind: 'points.forfeit',
    counter: 'forfeited',
    lots,
    parentJournalId: journalId,
    key: `member-points:forfeit:${journalId}`,
  }
}
