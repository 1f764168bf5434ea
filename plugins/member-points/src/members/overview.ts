import { type Database, exactInteger } from '@plinth/database'
import { count, Type, withDescription } from '@plinth/http'
import type { Static } from 'typebox'
import { defaultAsset } from '../contract.ts'
import { dayTotalKindOf } from '../days/day-totals.ts'
import type { Parts } from '../parts.ts'
import { accountRefOf } from './account.ts'

const points = (description: string) => withDescription(count, description)

/** Fields of the overview (document 1 of the specification, "Overview content"). */
export const overviewView = Type.Object({
  asset: Type.String(),
  available: points('Points that can be spent: the available balance of the ledger.'),
  frozen: points('Points on hold, for example for an unpaid order.'),
  monthEarned: points('Points granted this month. Points that were taken back are not subtracted.'),
  monthReturned: points('Points returned this month from cancelled or refunded orders.'),
  monthUsed: points('Points spent this month.'),
  monthReversed: points('Points taken back this month because of refunds or manual adjustments.'),
  monthExpired: points('Points that expired this month.'),
  expiringSoon: points('Points that expire within `expiringSoonDays` days.'),
  expiringSoonDays: Type.Integer({ minimum: 1 }),
})
type Overview = Static<typeof overviewView>

const membersOf = {
  granted: 'monthEarned',
  returned: 'monthReturned',
  consumed: 'monthUsed',
  reversed: 'monthReversed',
  expired: 'monthExpired',
} as const
const usualSoonDays = 30
const dayMs = 86_400_000

export type OverviewDependencies = Pick<Parts, 'db' | 'clock' | 'ledger' | 'rules' | 'lapsing'>

/** Expires due points first, so that the shown balance contains only points that can be spent. */
export async function readOverview(userId: number, parts: OverviewDependencies): Promise<Overview> {
  const { clock, ledger, rules, lapsing } = parts
  const asset = defaultAsset
  const now = clock.now()
  const expiringSoonDays = (await rules.at('expiry', now)).config.expiringSoonDays ?? usualSoonDays
  const before = await ledger.balance(accountRefOf(userId, asset))
  const { accountId } = before
  const month = { monthEarned: 0, monthReturned: 0, monthUsed: 0, monthReversed: 0, monthExpired: 0 }
  if (accountId === undefined) {
    return { asset, available: 0, frozen: 0, ...month, expiringSoon: 0, expiringSoonDays }
  }
  const swept = await lapsing.sweep(accountId, asset, clock.expiryNow())
  const { available, frozen } = swept === 0 ? before : await ledger.balance(accountRefOf(userId, asset))
  for (const { kind, received, spent } of await ledger.monthTotals(accountId, ledger.monthKeyOf(asset, now))) {
    for (const units of [received, -spent]) {
      const member = membersOf[dayTotalKindOf(kind, units)]
      month[member] = Math.min(month[member] + Math.abs(units), Number.MAX_SAFE_INTEGER)
    }
  }
  const expiringSoon = await lapsingBy(parts.db, accountId, now, now + expiringSoonDays * dayMs)
  return { asset, available, frozen, ...month, expiringSoon, expiringSoonDays }
}

async function lapsingBy(db: Database, accountId: number, after: number, until: number): Promise<number> {
  const [row] = await db.query<Record<string, unknown>>(
    `select sum(remaining) as points from points_source
     where account_id = ? and status = 'active' and expires_at > ? and expires_at <= ?`,
    [accountId, after, until],
  )
  return exactInteger(row?.['points'] ?? null)
}
