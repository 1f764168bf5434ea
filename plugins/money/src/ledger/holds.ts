import { type Database, exactInteger } from '@plinth/database'
import type { Release } from '../contract.ts'
import { businessError } from '../failures.ts'

/** The properties of a hold that never change. */
export interface StoredHold {
  readonly id: number
  readonly accountId: number
  readonly asset: string
  readonly amount: number
}

/** @throws BusinessError `404` `money.hold-unknown` */
export async function readHold(db: Database, id: number): Promise<StoredHold> {
  const [row] = await db.query<Record<string, unknown>>(
    `select h.account_id, h.amount, a.asset from money_hold h join money_account a on a.id = h.account_id where h.id = ?`,
    [id],
  )
  if (row === undefined) throw businessError('hold-unknown')
  const { account_id, amount, asset } = row
  return { id, accountId: exactInteger(account_id), amount: exactInteger(amount), asset: String(asset) }
}

/** Maximum number of holds per query. */
const most = 100

/** Returns open holds of an account that are expired, oldest first. */
export async function dueHolds(db: Database, accountId: number, now: number) {
  const rows = await db.query<Record<string, unknown>>(
    `select id, amount from money_hold where account_id = ? and state = ? and expires_at <= ? order by id limit ${most}`,
    [accountId, 'open', now],
  )
  return rows.map(({ id, amount }) => ({ id: exactInteger(id), amount: exactInteger(amount) }))
}

/** Returns open holds of all accounts that are expired, earliest expiry first. */
export async function allDueHolds(db: Database, now: number): Promise<readonly number[]> {
  const rows = await db.query<{ id: unknown }>(
    `select id from money_hold where state = ? and expires_at <= ? order by expires_at, id limit ${most}`,
    ['open', now],
  )
  return rows.map(({ id }) => exactInteger(id))
}

/** The release of an expired hold. Its key is the same for every caller. */
export const expiryOf = (holdId: number): Release => ({
  holdId,
  key: `money:hold-expiry:${holdId}`,
  kind: 'money.hold-expired',
})
