import { exactInteger, incrementBy, insertMissingRows, updateRows } from '@plinth/database'
import { businessError } from '../declarations.ts'
import { type OrderOutcome, OrderRewardRow, ReversalRow, type RuleRow, SourceRow } from '../entities.ts'
import type { ReversalDetails } from '../lots/lot-moves.ts'
import { accountRefOf } from '../members/account.ts'
import type { Parts } from '../parts.ts'
import { maxRewardPoints, type RuleSettings } from '../rules/rule-types.ts'

/** Returns the points for the paid amount of an order, rounded down. */
export function orderPoints(
  paid: number,
  { points = 0, perAmount = 1, maxPoints = maxRewardPoints }: Pick<RuleSettings, 'points' | 'perAmount' | 'maxPoints'>,
): number {
  const earned = (BigInt(paid) * BigInt(points)) / BigInt(perAmount)
  return earned > BigInt(maxPoints) ? maxPoints : Number(earned)
}

/** Returns why a rule grants no points for an order; undefined if it grants some. */
function findObstacle(
  { enabled, config }: Pick<RuleRow, 'enabled' | 'config'>,
  currency: string,
  points: number,
): OrderOutcome | undefined {
  if (!enabled) return 'rule-off'
  if ((config.currency ?? currency) !== currency) return 'other-currency'
  return points === 0 ? 'too-little' : undefined
}

/** Amounts are minor units. */
interface RewardedOrder {
  readonly paid: number
  readonly refunded: number
  readonly granted: number
}

/**
 * Returns the points that all refunds so far should take back: the refunded share of the granted points, rounded down.
 * A full refund takes all of them.
 */
export function pointsToReverse({ paid, refunded, granted }: RewardedOrder): number {
  if (refunded >= paid) return granted
  return Number((BigInt(granted) * BigInt(refunded)) / BigInt(paid))
}

interface ReversibleOrder {
  readonly granted: number
  readonly expired: number
  /** Points that earlier refunds took, claimed or recorded as owed. */
  readonly settled: number
  /** Points on hold that are not claimed yet. */
  readonly held: number
}

export interface Reversal {
  readonly deducted: number
  /** Points on hold that are taken as soon as the hold ends without spending them. */
  readonly claimed: number
  readonly shortfall: number
  /** Part of `shortfall` that later rewards pay. */
  readonly owed: number
}

/**
 * Decides how a refund takes points back, without a negative balance. Expired points are already lost, so the refund
 * takes other points instead of them only if the rule allows it.
 *
 * @param expected points to take back
 * @param spendable available points
 */
export function splitReversal(
  expected: number,
  spendable: number,
  { granted, expired, settled, held }: ReversibleOrder,
  { recovery = 'none', recoverExpired = false }: Pick<RuleSettings, 'recovery' | 'recoverExpired'>,
): Reversal {
  const recoverable = Math.max(0, Math.min(expected, granted - (recoverExpired ? 0 : expired) - settled))
  const deducted = Math.min(recoverable, spendable)
  const claimed = Math.min(recoverable - deducted, held)
  const shortfall = expected - deducted - claimed
  return { deducted, claimed, shortfall, owed: recovery === 'future-grants' ? recoverable - deducted - claimed : 0 }
}

/** Payload of `commerce.order.paid`. */
interface PaidOrder {
  readonly orderNo: string
  readonly userId: number
  /** Minor units paid in money, without points and coupons. */
  readonly cashAmount: number
  readonly currency: string
  /** Milliseconds since the epoch. */
  readonly paidAt: number
}

/** Payload of `commerce.order.refunded`. */
interface OrderRefund {
  readonly refundNo: string
  readonly orderNo: string
  readonly userId: number
  /** Minor units. */
  readonly refundAmount: number
  readonly orderCashAmount: number
}

type OrderRewardDependencies = Pick<Parts, 'db' | 'clock' | 'ledger' | 'rules' | 'rewards' | 'lapsing'>

interface Reversed {
  /** True if the refund was only stored, because the payment event did not arrive yet. */
  readonly deferred: boolean
  readonly replayed: boolean
  readonly deducted: number
  /** Points on hold that are taken as soon as the hold ends without spending them. */
  readonly claimed: number
  readonly shortfall: number
}

const awaited = {
  status: 'awaited',
  outcome: null,
  paidAmount: 0,
  refundedAmount: 0,
  granted: 0,
  reversedTarget: 0,
  deducted: 0,
  shortfall: 0,
  owed: 0,
  recovered: 0,
  version: 0,
} as const

/**
 * Grants points for paid orders and takes them back for refunds (document 1 of the specification, "Order reward" and
 * "Refund reversal"). Events may arrive in any order. Each one locks the account before the row of the order.
 */
export class OrderRewards {
  readonly #parts: OrderRewardDependencies

  constructor(parts: OrderRewardDependencies) {
    this.#parts = parts
  }

  /**
   * Grants points once, then applies refunds that arrived earlier.
   *
   * @throws BusinessError `409` `member-points.order-mismatch` if the order was paid with other values
   */
  async paid(order: PaidOrder): Promise<{ readonly points: number; readonly replayed: boolean }> {
    const { db, clock, ledger, rules, rewards } = this.#parts
    const { orderNo, userId, cashAmount, currency } = order
    // Applies the rule that was valid at the time of the payment, even if the event is late. A time in the future counts
    // as now.
    const rule = await rules.at('order-reward', Math.min(order.paidAt, clock.now()))
    return ledger.transactional([accountRefOf(userId, rule.asset)], async () => {
      const row = await this.#lock(orderNo, userId, rule.asset)
      if (row.userId !== userId) throw businessError('order-mismatch', { params: { orderNo }, data: { orderNo } })
      if (row.status === 'paid') {
        if (row.paidAmount !== cashAmount)
          throw businessError('order-mismatch', { params: { orderNo }, data: { orderNo } })
        return { points: row.granted, replayed: true }
      }
      const points = orderPoints(cashAmount, rule.config)
      const obstacle = findObstacle(rule, currency, points)
      const reward =
        obstacle !== undefined
          ? undefined
          : await rewards.grant({
              userId,
              rule,
              points,
              key: `member-points:order:${orderNo}`,
              kind: 'points.order',
              source: { type: 'order', key: orderNo },
              reference: { type: 'order', id: orderNo },
            })
      // A closed account receives no points.
      const outcome = obstacle ?? (reward === undefined ? 'account-closed' : 'granted')
      const granted = reward === undefined ? 0 : points
      const paid = { status: 'paid', outcome, asset: rule.asset, paidAmount: cashAmount, granted } as const
      const grant = { sourceId: reward?.sourceId ?? null, journalId: reward?.journalId ?? null }
      const by = { ruleCode: rule.code, ruleVersion: rule.version, ruleSnapshot: rule.config }
      await updateRows(db, OrderRewardRow, { id: row.id }, { ...paid, ...grant, ...by })
      const deferred = await db.fork().find(ReversalRow, { orderNo, status: 'deferred' }, { orderBy: { id: 'asc' } })
      for (const reversal of deferred) await this.#book(orderNo, reversal)
      return { points: granted, replayed: false }
    })
  }

  /**
   * Takes points back, only once for each refund number. A refund of an unpaid order is stored until the payment.
   *
   * @throws BusinessError `409` `member-points.refund-mismatch` if a refund with this number has other values, or if
   * the order belongs to another user; `409` `member-points.refund-exceeds-paid`
   */
  async refunded(refund: OrderRefund): Promise<Reversed> {
    const { db, clock, ledger, rules } = this.#parts
    const { refundNo, orderNo, userId, refundAmount } = refund
    const { asset } = await rules.at('order-reward', clock.now())
    return ledger.transactional([accountRefOf(userId, asset)], async () => {
      const now = clock.now()
      const order = await this.#lock(orderNo, userId, asset)
      const id = db.newId()
      const unbooked = { status: 'deferred', wanted: 0, deducted: 0, shortfall: 0 } as const
      const row = { ...unbooked, id, refundNo, orderNo, userId, refundAmount, createdAt: new Date(now) }
      await insertMissingRows(db, ReversalRow, 'refundNo', [row])
      const kept = await db.fork().findOneOrFail(ReversalRow, { refundNo })
      const isSame = kept.orderNo === orderNo && kept.userId === userId && kept.refundAmount === refundAmount
      if (!isSame || order.userId !== userId) {
        throw businessError('refund-mismatch', { params: { refundNo }, data: { refundNo } })
      }
      const { deducted, claimed, shortfall, status } = kept
      if (kept.id !== id) return { deferred: status === 'deferred', replayed: true, deducted, claimed, shortfall }
      if (order.status === 'awaited') {
        await this.#assertWithin(refund.orderCashAmount, await this.#deferredSum(orderNo), refundNo)
        return { deferred: true, replayed: false, deducted: 0, claimed: 0, shortfall: 0 }
      }
      await this.#assertWithin(order.paidAmount, order.refundedAmount + refundAmount, refundNo)
      return { deferred: false, replayed: false, ...(await this.#book(orderNo, kept)) }
    })
  }

  async #assertWithin(paid: number, refunded: number, refundNo: string): Promise<void> {
    if (refunded > paid) throw businessError('refund-exceeds-paid', { params: { refundNo }, data: { refundNo } })
  }

  async #deferredSum(orderNo: string): Promise<number> {
    const [row] = await this.#parts.db.query<Record<string, unknown>>(
      `select sum(refund_amount) as amount from points_reversal where order_no = ? and status = 'deferred'`,
      [orderNo],
    )
    return exactInteger(row?.['amount'] ?? null)
  }

  /** Locks the row of an order until the transaction ends. Creates it if missing. */
  async #lock(orderNo: string, userId: number, asset: string): Promise<OrderRewardRow> {
    const { db, clock } = this.#parts
    const row = { ...awaited, id: db.newId(), orderNo, userId, asset, createdAt: new Date(clock.now()) }
    await insertMissingRows(db, OrderRewardRow, 'orderNo', [row])
    await updateRows(db, OrderRewardRow, { orderNo }, { version: incrementBy(1) })
    return db.fork().findOneOrFail(OrderRewardRow, { orderNo })
  }

  async #book(orderNo: string, reversal: ReversalRow): Promise<Omit<Reversal, 'owed'>> {
    const { db } = this.#parts
    const order = await db.fork().findOneOrFail(OrderRewardRow, { orderNo })
    const { id, paidAmount: paid, granted } = order
    // Limits the sum to the paid amount, because refunds that arrived before the payment could not be compared with it.
    const refunded = Math.min(paid, order.refundedAmount + reversal.refundAmount)
    const target = pointsToReverse({ paid, refunded, granted })
    const wanted = target - order.reversedTarget
    const { deducted, claimed, shortfall, owed, journalId } =
      wanted === 0
        ? { deducted: 0, claimed: 0, shortfall: 0, owed: 0, journalId: null }
        : await this.#deduct(order, wanted, reversal.refundNo)
    const sums = {
      deducted: incrementBy(deducted),
      claimed: incrementBy(claimed),
      shortfall: incrementBy(shortfall),
      owed: incrementBy(owed),
    }
    await updateRows(db, OrderRewardRow, { id }, { ...sums, refundedAmount: refunded, reversedTarget: target })
    const booked = { status: 'booked', wanted, deducted, claimed, shortfall, journalId } as const
    await updateRows(db, ReversalRow, { id: reversal.id }, booked)
    return { deducted, claimed, shortfall }
  }

  async #deduct(order: OrderRewardRow, wanted: number, refundNo: string) {
    const { db, clock, ledger, lapsing } = this.#parts
    const { asset, userId, sourceId } = order
    const ref = accountRefOf(userId, asset)
    const { accountId } = await ledger.balance(ref)
    if (accountId === undefined) return { deducted: 0, claimed: 0, shortfall: wanted, owed: 0, journalId: null }
    await lapsing.sweep(accountId, asset, clock.expiryNow())
    let split: Reversal = { deducted: 0, claimed: 0, shortfall: wanted, owed: 0 }
    // The batch locks the account and then reads the values, so they are still valid when it debits the points.
    await ledger.batch({
      asset,
      kind: 'points.refund',
      direction: 'debit',
      accountIds: [accountId],
      postings: async () => {
        const { available } = await ledger.balance(ref)
        const [source] = await db.query<Record<string, unknown>>(
          'select expired, held - claimed as held from points_source where id = ?',
          [sourceId ?? 0],
        )
        const expired = exactInteger(source?.['expired'] ?? null)
        const held = exactInteger(source?.['held'] ?? null)
        const settled = order.deducted + order.claimed + order.owed + order.recovered
        const { granted, ruleSnapshot } = order
        split = splitReversal(wanted, available, { granted, expired, settled, held }, ruleSnapshot ?? {})
        if (split.claimed > 0) {
          await updateRows(db, SourceRow, { id: sourceId ?? 0 }, { claimed: incrementBy(split.claimed) })
        }
        return []
      },
    })
    if (split.deducted === 0) return { ...split, journalId: null }
    const lots: ReversalDetails = { reversed: { sourceId: sourceId ?? null } }
    const { journalId } = await ledger.debit({
      ...ref,
      amount: split.deducted,
      key: `member-points:refund:${refundNo}`,
      kind: 'points.refund',
      counter: 'issued',
      lots,
      reference: { type: 'refund', id: refundNo },
      ...(order.journalId == null ? {} : { parentJournalId: order.journalId }),
    })
    return { ...split, journalId }
  }
}
