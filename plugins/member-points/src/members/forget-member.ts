import type { Parts } from '../parts.ts'
import { ownerOf } from '../rewards/owner.ts'

type ForgetParts = Pick<Parts, 'db' | 'clock' | 'ledger' | 'lapsing'>

/**
 * What becomes of the points of a deleted user: those that can be spent are forfeited, and check-ins are removed. The ledger and
 * the sources stay, under a number that names nobody any more: books are never changed.
 */
export async function forgetMember(userId: number, { db, clock, ledger, lapsing }: ForgetParts): Promise<void> {
  await db.execute('delete from points_check_in where user_id = ?', [userId])
  for (const [asset, { lots }] of ledger.assets) {
    if (lots === undefined || !asset.startsWith('points:')) continue
    const ref = ownerOf(userId, asset)
    const account = await ledger.find(ref)
    if (account === undefined || account.status !== 'open') continue
    await lapsing.sweep(account.id, asset, clock.now())
    const { available } = await ledger.balance(ref)
    if (available === 0) continue
    await ledger.debit({
      ...{ ...ref, amount: available, key: `member-points:forfeit:${userId}:${asset}:${account.id}` },
      ...{ kind: 'points.forfeit', counter: 'forfeited', reference: { type: 'user', id: String(userId) } },
    })
  }
}
