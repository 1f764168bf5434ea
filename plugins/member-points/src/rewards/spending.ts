import { defaultAsset, type PointsPaid, type PointsPayment } from '../contract.ts'
import type { Parts } from '../parts.ts'
import { ownerOf } from './owner.ts'

type SpendingParts = Pick<Parts, 'clock' | 'ledger' | 'lapsing'>

/** Takes points of a member. What has lapsed lapses before, so that the refusal of a spend says what can be spent. */
export async function spend(payment: PointsPayment, { clock, ledger, lapsing }: SpendingParts): Promise<PointsPaid> {
  const { userId, points, key, reference, reason } = payment
  const ref = ownerOf(userId, defaultAsset)
  const { accountId } = await ledger.balance(ref)
  if (accountId !== undefined) await lapsing.sweep(accountId, defaultAsset, clock.expiryNow())
  const { journalId, available, replayed } = await ledger.debit({
    ...ref,
    amount: points,
    key,
    kind: 'points.spend',
    ...(reference === undefined ? {} : { reference }),
    ...(reason === undefined ? {} : { reason }),
  })
  return { journalId, available, replayed }
}
