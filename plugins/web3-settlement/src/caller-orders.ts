import type { HttpRequest } from '@plinth/http'
import { callerRows, callerRowsSql, requirePrincipal } from '@plinth/iam'
import { orderOwnerColumn, ownerThroughOrder, type Payments } from '@plinth/money/payments'

type Request = Pick<HttpRequest, 'principal'>

/** Reviews and audit logs belong to the user of their order. */
const owner = ownerThroughOrder('out_trade_no')

/** Condition for the reviews and audit logs that the caller may read. */
export const callerLogs = (request: Request): object => callerRows(request, owner)

/** The condition of `callerLogs` as SQL; undefined for the data scope `all`. */
export const callerLogsSql = (request: Request, table: string) =>
  hasLimitedScope(request) ? callerRowsSql(request, table, owner) : undefined

export const hasLimitedScope = (request: Request): boolean => requirePrincipal(request).dataScope !== 'all'

/**
 * Rejects orders that the caller may not read. A caller with a limited data scope does not find orders of other users.
 * With the data scope `all`, orders need not exist.
 *
 * @throws BusinessError "404" `payment.order-unknown`
 */
export async function assertOrdersReadable(
  request: Request,
  payments: Pick<Payments, 'get'>,
  outTradeNos: readonly string[],
): Promise<void> {
  if (!hasLimitedScope(request)) return
  const rows = callerRows(request, orderOwnerColumn)
  for (const outTradeNo of new Set(outTradeNos)) await payments.get(outTradeNo, rows)
}

/**
 * Returns the orders that the caller may read; undefined for the data scope `all`, which includes all orders.
 *
 * @param outTradeNos order numbers, which need not exist
 */
export async function readableOrders(
  request: Request,
  payments: Pick<Payments, 'list'>,
  outTradeNos: Iterable<string>,
): Promise<ReadonlySet<string> | undefined> {
  if (!hasLimitedScope(request)) return undefined
  const expected = [...new Set(outTradeNos)]
  if (expected.length === 0) return new Set()
  const rows = { $and: [{ outTradeNo: { $in: expected } }, callerRows(request, orderOwnerColumn)] }
  const window = {
    orderBy: [{ property: 'id', direction: 'asc' }],
    size: expected.length,
    offset: 0,
    count: 'none',
  } as const
  const { items } = await payments.list({ rows }, window)
  return new Set(items.map(({ outTradeNo }) => outTradeNo))
}
