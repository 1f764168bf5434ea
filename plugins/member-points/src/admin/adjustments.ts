import { type Database, exactInteger } from '@plinth/database'
import { type AccessAudit, businessError } from '../declarations.ts'
import { noExpiryTime } from '../entities.ts'
import { accountRefOf } from '../members/account.ts'
import type { Parts } from '../parts.ts'

interface Adjustment {
  readonly userId: number
  /** Positive grants, negative deducts; never 0. */
  readonly points: number
  readonly reason: string
  /** A second call with the same key does not adjust the points again. */
  readonly idempotencyKey?: string | undefined
}

interface Adjusted {
  readonly asset: string
  readonly journalId: number
  readonly available: number
  readonly frozen: number
  readonly replayed: boolean
}

interface AdjustmentPreview {
  readonly asset: string
  readonly availableBefore: number
  readonly availableAfter: number
  readonly frozen: number
  /** Part of a grant that first pays points owed for earlier refunds. */
  readonly settlesDebt: number
  readonly possible: boolean
  /** Milliseconds since the epoch. `undefined` for a deduction, or if the points never expire. */
  readonly expiresAt: number | undefined
}

type AdjustmentDependencies = Pick<Parts, 'db' | 'clock' | 'ledger' | 'rules' | 'rewards' | 'lapsing'>

/** Adjustments by operators, with a reason (document 1 of the specification, "Manual adjustment"). */
export class Adjustments {
  readonly #parts: AdjustmentDependencies

  constructor(parts: AdjustmentDependencies) {
    this.#parts = parts
  }

  /**
   * @param record writes the audit in the same transaction
   * @throws BusinessError `403` `member-points.own-account`; `409` `money.balance-insufficient`, `409`
   *   `money.idempotency-mismatch`, `409` `member-points.rule-disabled`, `409` `member-points.account-closed`
   */
  async adjust(adjustment: Adjustment, operatorId: number, record: AccessAudit): Promise<Adjusted> {
    const { db, clock, rules, rewards, ledger, lapsing } = this.#parts
    const { userId, points, reason, idempotencyKey = String(db.newId()) } = adjustment
    assertOther(userId, operatorId)
    const rule = await rules.at('manual-adjustment', clock.now())
    if (!rule.enabled) throw businessError('rule-disabled', { params: { code: rule.code }, data: { code: rule.code } })
    const ref = accountRefOf(userId, rule.asset)
    if (points < 0) {
      // Before the transaction, because a rejected deduction rolls it back.
      const { accountId } = await ledger.balance(ref)
      if (accountId !== undefined) await lapsing.prepareDebit(accountId, rule.asset, clock.expiryNow())
    }
    return ledger.transactional([ref], async () => {
      if ((await ledger.find(ref))?.status === 'closed') throw accountClosed(userId)
      const sourceKey = `${operatorId}:${idempotencyKey}`
      const notes = { key: `member-points:manual:${sourceKey}`, actor: `user:${operatorId}`, reason }
      const reference = { type: 'manual-adjustment', id: String(userId) }
      const posted =
        points > 0
          ? await rewards.grant({
              ...notes,
              userId,
              rule,
              points,
              kind: 'points.adjust-grant',
              reference,
              source: { type: 'manual-adjustment', key: sourceKey },
            })
          : await ledger.debit({
              ...ref,
              ...notes,
              amount: -points,
              kind: 'points.adjust-deduct',
              counter: 'issued',
              reference,
            })
      // Another transaction closed the account after the check above.
      if (posted === undefined) throw accountClosed(userId)
      const { journalId, replayed } = posted
      if (!replayed) await record({ subject: userId, summary: { points, asset: rule.asset, journalId }, reason })
      const { available, frozen } = await ledger.balance(ref)
      return { asset: rule.asset, journalId, available, frozen, replayed }
    })
  }

  /**
   * Returns what `adjust` would do now. Changes nothing.
   *
   * @throws BusinessError `403` `member-points.own-account`
   */
  async preview(
    { userId, points }: Pick<Adjustment, 'userId' | 'points'>,
    operatorId: number,
  ): Promise<AdjustmentPreview> {
    assertOther(userId, operatorId)
    const { db, clock, rules, ledger } = this.#parts
    const now = clock.now()
    const rule = await rules.at('manual-adjustment', now)
    const ref = accountRefOf(userId, rule.asset)
    const { accountId, available, frozen } = await ledger.balance(ref)
    const isClosed = (await ledger.find(ref))?.status === 'closed'
    const lapsed = accountId === undefined ? 0 : await lapsedOf(db, accountId, clock.expiryNow())
    const settlesDebt = Math.min(Math.max(points, 0), await owedBy(db, userId, rule.asset))
    const availableBefore = available - lapsed
    const availableAfter = availableBefore + points - settlesDebt
    const lapses = points > 0 ? rule.expiryOf(now) : noExpiryTime
    return {
      asset: rule.asset,
      availableBefore,
      availableAfter,
      frozen,
      settlesDebt,
      possible: rule.enabled && !isClosed && availableAfter >= 0,
      expiresAt: lapses === noExpiryTime ? undefined : lapses,
    }
  }
}

/** Operators may not adjust their own account. */
function assertOther(userId: number, operatorId: number): void {
  if (userId === operatorId) throw businessError('own-account', { data: { userId, field: 'userId' } })
}

const accountClosed = (userId: number) => businessError('account-closed', { data: { userId, field: 'userId' } })

/** Returns the expired points of an account that no task has debited yet. */
async function lapsedOf(db: Database, accountId: number, now: number): Promise<number> {
  const [row] = await db.query<{ total: unknown }>(
    `select coalesce(sum(remaining), 0) as total from points_source
     where account_id = ? and status = 'active' and expires_at <= ?`,
    [accountId, now],
  )
  return exactInteger(row?.total)
}

async function owedBy(db: Database, userId: number, asset: string): Promise<number> {
  const [row] = await db.query<{ total: unknown }>(
    'select coalesce(sum(owed), 0) as total from points_order_reward where user_id = ? and owed > 0 and asset = ?',
    [userId, asset],
  )
  return exactInteger(row?.total)
}
