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
export function distinctQueryValues(values: readonly string[]): string[] {
  const distinct = [...new Set(values)]
  if (distinct.length > maxValues) throw new RangeError(`${distinct.length} are more than ${maxValues} at once`)
  return distinct
}

export const placeholdersFor = (values: readonly string[]) => values.map(() => '?').join(', ')

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

const terms = orders.pick('transactionHash', 'payer', 'tokenContract', 'receiver', 'amountRaw')
const claimed = orders.pick('id', 'outTradeNo')
const hashRead = 'transaction_hash, null as payer, null as token_contract, null as receiver, null as amount_raw'

/** Implements `Payments.pendingClaims`. */
export async function readPendingClaims(
  db: Pick<Database, 'query'>,
  { chainName, transactionHashes, payers }: ClaimQuery,
): Promise<readonly PaymentClaim[]> {
  const read = async (column: 'transaction_hash' | 'payer', values: readonly string[], by: string, selected: string) =>
    values.length === 0
      ? []
      : db.query<{ readonly total: unknown }>(
          `select * from (select ${selected}, ${claimed.list}, count(*) over (partition by ${by}) as total,
             row_number() over (partition by ${by} order by id desc) as place
           from money_payment_order
           where ${column} in (${placeholdersFor(values)}) and status = 'pending' and chain_name = ?) as claim
           where place <= ${maxClaimOrders} order by id desc`,
          [...values, chainName],
        )
  const hashes = distinctQueryValues(transactionHashes)
  const senders = distinctQueryValues(payers)
  return [
    ...claimsIn(await read('transaction_hash', hashes, 'transaction_hash', hashRead)),
    ...claimsIn(await read('payer', senders, terms.list, terms.list)),
  ]
}

function claimsIn(rows: readonly { readonly total: unknown }[]): readonly PaymentClaim[] {
  const claims = Map.groupBy(rows, (row) => JSON.stringify(terms.read(row)))
  return [...claims.values()].flatMap((same) => {
    const [first] = same
    if (first === undefined) return []
    return [{ ...terms.read(first), newest: same.map((row) => claimed.read(row)), total: Number(first.total) }]
  })
}
