import type { AccountRef } from '@plinth/money'
import { defaultAsset, type PointsPaid, type PointsPayment } from '../contract.ts'
import type { Parts } from '../parts.ts'

export const accountRefOf = (userId: number, asset: string): AccountRef => ({
  owner: { type: 'user', id: String(userId) },
  asset,
})

/** Null if the owner is not a user. */
export const userIdOfAccount = ({ owner }: Pick<AccountRef, 'owner'>): number | null =>
  owner.type === 'user' ? Number(owner.id) : null

type SpendingDependencies = Pick<Parts, 'clock' | 'ledger' | 'lapsing'>

/** Expires due points before the debit, so that an error about the balance shows only points that can be spent. */
export async function spendPoints(
  payment: PointsPayment,
  { clock, ledger, lapsing }: SpendingDependencies,
): Promise<PointsPaid> {
  const { userId, points, key, reference, reason } = payment
  const ref = accountRefOf(userId, defaultAsset)
  const { accountId } = await ledger.balance(ref)
  if (accountId !== undefined) await lapsing.prepareDebit(accountId, defaultAsset, clock.expiryNow())
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

type ForgetDependencies = Pick<Parts, 'db' | 'clock' | 'ledger' | 'lapsing'>

/**
 * Ends the points of a deleted user. Available points are forfeited immediately, and points on hold when the hold ends.
 * Points accounts are created if they are missing, and closed, so that later postings fail. Ledger rows remain, but
 * their user id no longer identifies a person.
 */
export async function eraseMemberPoints(
  userId: number,
  { db, clock, ledger, lapsing }: ForgetDependencies,
): Promise<void> {
  for (const [asset, { lots }] of ledger.assets) {
    if (lots === undefined || !asset.startsWith('points:')) continue
    const ref = accountRefOf(userId, asset)
    const { id: accountId, status } = await ledger.ensureAccount(ref)
    if (status !== 'open') continue
    await lapsing.sweep(accountId, asset, clock.expiryNow())
    // The batch locks the account until the end of the transaction, which also closes it. A concurrent reward is
    // therefore posted before the batch or not at all.
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
  // After the accounts are locked, in the order of a check-in.
  await db.execute('delete from points_check_in where user_id = ?', [userId])
}
