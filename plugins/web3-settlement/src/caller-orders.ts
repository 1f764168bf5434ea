import type { HttpRequest } from '@plinth/http'
import { callerRows, callerRowsSql, requirePrincipal } from '@plinth/iam'
import { orderOwner, type Payments, throughOrder } from '@plinth/money/payments'

type Request = Pick<HttpRequest, 'principal'>

/** A review or an audit log belongs to the user of its order. */
const owner = throughOrder('out_trade_no')

/** The review and audit logs that a caller may reach. */
export const callerLogs = (request: Request): object => callerRows(request, owner)

/** The same condition as text, for a statement on one table; undefined for scope `all`. */
export const callerLogsSql = (request: Request, table: string) =>
  isLimited(request) ? callerRowsSql(request, table, owner) : undefined

/** Whether the caller reaches less than all orders. */
export const isLimited = (request: Request): boolean => requirePrincipal(request).dataScope !== 'all'

/**
 * For a caller with a smaller data scope an order of another user does not exist. Scope `all` may also name unknown orders.
 *
 * @throws BusinessError "404" `payment.order-unknown`
 */
export async function assertOrdersReached(
  request: Request,
  payments: Pick<Payments, 'get'>,
  outTradeNos: readonly string[],
): Promise<void> {
  if (!isLimited(request)) return
  const rows = callerRows(request, orderOwner)
  for (const outTradeNo of new Set(outTradeNos)) await payments.get(outTradeNo, rows)
}

/**
 * Those of some orders that a caller reaches; undefined for scope `all`, which reaches every order.
 *
 * @param outTradeNos none of them need exist
 */
export async function ordersReached(
  request: Request,
  payments: Pick<Payments, 'list'>,
  outTradeNos: Iterable<string>,
): Promise<ReadonlySet<string> | undefined> {
  if (!isLimited(request)) return undefined
  const wanted = [...new Set(outTradeNos)]
  if (wanted.length === 0) return new Set()
  const rows = { $and: [{ outTradeNo: { $in: wanted } }, callerRows(request, orderOwner)] }
  const window = {
    orderBy: [{ property: 'id', direction: 'asc' }],
    size: wanted.length,
    offset: 0,
    count: 'none',
  } as const
  const { items } = await payments.list({ rows }, window)
  return new Set(items.map(({ outTradeNo }) => outTradeNo))
}
