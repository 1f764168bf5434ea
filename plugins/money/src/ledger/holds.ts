import { type Database, exactInteger } from '@plinth/database'
import type { Release } from '../contract.ts'
import { refusal } from '../failures.ts'

/** What never changes of a hold. */
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
  if (row === undefined) throw refusal('hold-unknown')
  const { account_id, amount, asset } = row
  return { id, accountId: exactInteger(account_id), amount: exactInteger(amount), asset: String(asset) }
}

/** Holds that one look finds. */
const most = 100

/** Open holds of an account past their expiry, the oldest first. */
export async function dueHolds(db: Database, accountId: number, now: number) {
  const rows = await db.query<Record<string, unknown>>(
    `select id, amount from money_hold where account_id = ? and state = ? and expires_at <= ? order by id limit ${most}`,
    [accountId, 'open', now],
  )
  return rows.map(({ id, amount }) => ({ id: exactInteger(id), amount: exactInteger(amount) }))
}

/** Open holds of all accounts past their expiry, the longest due first. */
export async function allDueHolds(db: Database, now: number): Promise<readonly number[]> {
  const rows = await db.query<{ id: unknown }>(
    `select id from money_hold where state = ? and expires_at <= ? order by expires_at, id limit ${most}`,
    ['open', now],
  )
  return rows.map(({ id }) => exactInteger(id))
}

/** The end of a hold by its time, whoever notices it first. */
export const expiryOf = (holdId: number): Release => ({
  holdId,
  key: `money:hold-expiry:${holdId}`,
  kind: 'money.hold-expired',
})
