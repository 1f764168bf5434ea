import type { AccountRef } from '@plinth/money'
import { defaultAsset, type PointsPaid, type PointsPayment } from '../contract.ts'
import type { Parts } from '../parts.ts'

/** The points account of a user. */
export const ownerOf = (userId: number, asset: string): AccountRef => ({
  owner: { type: 'user', id: String(userId) },
  asset,
})

/** The user of an account; null where it belongs to none. */
export const userOf = ({ owner }: Pick<AccountRef, 'owner'>): number | null =>
  owner.type === 'user' ? Number(owner.id) : null

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

type ForgetParts = Pick<Parts, 'db' | 'clock' | 'ledger' | 'lapsing'>

/**
 * The end of the points of a deleted user. Points that can be spent are forfeited. Points on hold are claimed: a hold that ends
 * gives none of them back. The accounts are closed, also those that nothing was posted to yet, so that nothing enters them later.
 * Check-ins are removed. The ledger and the sources stay, under a number that names nobody any more: books are never changed.
 */
export async function forgetMember(userId: number, { db, clock, ledger, lapsing }: ForgetParts): Promise<void> {
  await db.execute('delete from points_check_in where user_id = ?', [userId])
  for (const [asset, { lots }] of ledger.assets) {
    if (lots === undefined || !asset.startsWith('points:')) continue
    const ref = ownerOf(userId, asset)
    const { id: accountId, status } = await ledger.ensureAccount(ref)
    if (status !== 'open') continue
    await lapsing.sweep(accountId, asset, clock.expiryNow())
    // Locks the account until it is closed, so that a reward comes before or not at all.
    await ledger.batch({
      asset,
      kind: 'points.forfeit',
      direction: 'debit',
      counter: 'forfeited',
      accountIds: [accountId],
      postings: async () => {
        await db.execute(`update points_source set claimed = held where account_id = ? and status = 'active'`, [
          accountId,
        ])
        const { available: amount } = await ledger.balance(ref)
        const key = `member-points:forfeit:${userId}:${asset}:${accountId}`
        return amount === 0 ? [] : [{ accountId, amount, key, reference: { type: 'user', id: String(userId) } }]
      },
    })
    await ledger.setStatus(accountId, 'closed')
  }
}
