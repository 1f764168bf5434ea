import type { Database } from '@plinth/database'
import {
  type ClaimQuery,
  maxClaimOrders,
  type PaidOrdersQuery,
  type PaymentClaim,
  type PaymentOrder,
} from './contract.ts'
import { orders } from './entities.ts'

const maxValues = 200

/** @returns the distinct values @throws RangeError for more than 200 */
export function distinctQueryValues<T extends string | number>(values: readonly T[]): T[] {
  const distinct = [...new Set(values)]
  if (distinct.length > maxValues) throw new RangeError(`${distinct.length} are more than ${maxValues} at once`)
  return distinct
}

export const placeholdersFor = (values: readonly unknown[]) => values.map(() => '?').join(', ')

/** Implements `Payments.paidWalks`. */
export async function readPaidOrders(
  db: Pick<Database, 'query'>,
  provider: string,
  walks: readonly PaidOrdersQuery[],
): Promise<readonly (readonly PaymentOrder[])[]> {
  if (walks.length === 0) return []
  const parts = walks.map((walk, at) => {
    const { where, bound, order } = partOf(walk)
    // Databases use different syntax for `limit` next to `union all`, so each list is a subquery.
    const sql = `select * from (select ${at} as walk, ${orders.list} from money_payment_order
      where provider = ? and status = 'success' and ${where} order by ${order} limit ${limitOf(walk)}) as walk_${at}`
    return { sql, bound: [provider, ...bound] }
  })
  const rows = await db.query<{ readonly walk: unknown }>(
    parts.map(({ sql }) => sql).join(' union all '),
    parts.flatMap(({ bound }) => bound),
  )
  const found = Map.groupBy(rows, ({ walk }) => Number(walk))
  return walks.map((walk, at) => (found.get(at) ?? []).map((row) => orders.read(row)).sort(comparisonOf(walk)))
}

function limitOf({ limit }: PaidOrdersQuery): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= maxValues) return limit
  throw new RangeError(`The limit is ${limit}, not 1 to ${maxValues}`)
}

function partOf(walk: PaidOrdersQuery) {
  if ('afterId' in walk) return { where: 'id > ?', bound: [walk.afterId], order: 'id' }
  const { paidAfter, paidUntil, before } = walk
  const order = 'paid_at desc, id desc'
  const within = 'paid_at > ? and paid_at <= ?'
  if (before === undefined) return { where: within, bound: [paidAfter, paidUntil], order }
  const bound = [paidAfter, paidUntil, before.paidAt, before.paidAt, before.id]
  return { where: `${within} and (paid_at < ? or (paid_at = ? and id < ?))`, bound, order }
}

const comparisonOf = (walk: PaidOrdersQuery) => (one: PaymentOrder, other: PaymentOrder) =>
  'afterId' in walk ? one.id - other.id : (other.paidAt ?? 0) - (one.paidAt ?? 0) || other.id - one.id

const terms = orders.pick('transactionHash', 'tokenContract', 'receiver', 'amountRaw')
const claimed = orders.pick('id', 'outTradeNo', 'userId', 'payer')

/** Implements `Payments.pendingClaims`. */
export async function readPendingClaims(
  db: Pick<Database, 'query'>,
  { chainName, transactionHashes, payers, userIds = [], terms: accepted }: ClaimQuery,
): Promise<readonly PaymentClaim[]> {
  const matching = [
    conditionFor('lower(token_contract)', accepted?.tokenContracts),
    conditionFor('lower(receiver)', accepted?.receivers),
    conditionFor('amount_raw', accepted?.amountsRaw),
  ]
  const conditions = matching.map(({ sql }) => sql).join(' and ')
  const bound = matching.flatMap(({ values }) => values)
  const read = async (by: 'transaction_hash' | 'payer' | 'user_id', values: readonly (string | number)[]) => {
    if (values.length === 0) return []
    const group = `${by}, ${terms.list}`
    const rows = await db.query<ClaimRead>(
      `select * from (select ${terms.list}, ${claimed.list}, count(*) over (partition by ${group}) as total,
         row_number() over (partition by ${group} order by id desc) as place
       from money_payment_order
       where ${by} in (${placeholdersFor(values)}) and status = 'pending' and chain_name = ? and ${conditions}) as claim
       where place <= ${maxClaimOrders} order by id desc`,
      [...values, chainName, ...bound],
    )
    return claimsIn(rows, by)
  }
  return [
    ...(await read('transaction_hash', distinctQueryValues(transactionHashes))),
    ...(await read('payer', distinctQueryValues(payers))),
    ...(await read('user_id', distinctQueryValues(userIds))),
  ]
}

type ClaimRead = Readonly<Record<'total' | 'payer' | 'user_id', unknown>>

function conditionFor(expression: string, accepted: readonly string[] | undefined) {
  if (accepted === undefined) return { sql: '1 = 1', values: [] }
  const values = distinctQueryValues(accepted)
  return values.length === 0
    ? { sql: '1 = 0', values }
    : { sql: `${expression} in (${placeholdersFor(values)})`, values }
}

function claimsIn(rows: readonly ClaimRead[], by: 'transaction_hash' | 'payer' | 'user_id'): readonly PaymentClaim[] {
  const groupOf = (row: ClaimRead) => ({
    ...terms.read(row),
    payer: by === 'payer' ? claimed.read(row).payer : null,
    userId: by === 'user_id' ? claimed.read(row).userId : null,
  })
  const claims = Map.groupBy(rows, (row) => JSON.stringify(groupOf(row)))
  return [...claims.values()].flatMap((same) => {
    const [first] = same
    if (first === undefined) return []
    return [{ ...groupOf(first), newest: same.map((row) => claimed.read(row)), total: Number(first.total) }]
  })
}
