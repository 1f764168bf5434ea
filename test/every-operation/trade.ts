import { assertSuccess } from './clients.ts'
import type { Scene } from './scene.ts'

/** A member buys, reviews and returns goods through the API. */
export async function callMall({ admin, user, until }: Scene): Promise<void> {
  const goods = await assertSuccess(user.GET('/api/v1/mall/goods'))
  const lines = [{ goodsId: goods.items.find(({ stock }) => stock > 5)?.id ?? 0, quantity: 1 }]
  const order = await assertSuccess(user.POST('/api/v1/mall/orders', { body: { lines } }))
  const params = { path: { orderNo: order.orderNo } }
  const cancelled = await assertSuccess(user.POST('/api/v1/mall/orders', { body: { lines } }))
  const path = { orderNo: cancelled.orderNo }
  await assertSuccess(user.POST('/api/v1/mall/orders/{orderNo}/cancel', { params: { path } }))
  await assertSuccess(user.GET('/api/v1/mall/orders'))
  const payment = { body: { provider: 'test' as const } }
  await assertSuccess(user.POST('/api/v1/mall/orders/{orderNo}/payments', { params, ...payment }))
  const current = () => assertSuccess(user.GET('/api/v1/mall/orders/{orderNo}', { params }))
  await until(async () => (await current()).status === 'paid', 'the payment')
  await assertSuccess(admin.POST('/api/v1/admin/mall/orders/{orderNo}/ship', { params }))
  const { lines: bought } = await current()
  await assertSuccess(
    user.PUT('/api/v1/mall/orders/{orderNo}/lines/{lineId}/review', {
      params: { path: { orderNo: order.orderNo, lineId: bought[0]?.id ?? 0 } },
      body: { rating: 5, body: 'Good' },
    }),
  )
  const refund = { amount: 1, reason: 'Too large' }
  const { refundNo } = await assertSuccess(user.POST('/api/v1/mall/orders/{orderNo}/refunds', { params, body: refund }))
  await assertSuccess(admin.GET('/api/v1/admin/mall/orders'))
  await assertSuccess(admin.GET('/api/v1/admin/mall/refunds'))
  const decided = { params: { path: { refundNo } }, body: { approve: true } }
  await assertSuccess(admin.POST('/api/v1/admin/mall/refunds/{refundNo}/decision', decided))
}

export async function callMoney({ admin, idOf, execute, mark, until }: Scene): Promise<void> {
  const account = { params: { path: { id: idOf('MoneyAccount') } } }
  await assertSuccess(admin.GET('/api/v1/admin/money/accounts'))
  await assertSuccess(admin.GET('/api/v1/admin/money/accounts/{id}', account))
  await assertSuccess(admin.GET('/api/v1/admin/money/accounts/{id}/explain', account))
  await assertSuccess(admin.GET('/api/v1/admin/money/entries'))
  await assertSuccess(admin.GET('/api/v1/admin/money/holds'))
  await assertSuccess(admin.GET('/api/v1/admin/money/debts'))
  await assertSuccess(
    admin.GET('/api/v1/admin/money/journals/{id}', { params: { path: { id: idOf('MoneyJournal') } } }),
  )
  await assertSuccess(admin.GET('/api/v1/admin/money/payment-transactions'))
  const orders = await assertSuccess(admin.GET('/api/v1/admin/money/payment-orders'))
  await assertSuccess(admin.GET('/api/v1/admin/money/payment-figures'))
  const paid = orders.items.find(({ status, outTradeNo }) => status === 'success' && outTradeNo !== mark)
  const order = { params: { path: { outTradeNo: mark } } }
  const paidOrder = { params: { path: { outTradeNo: paid?.outTradeNo ?? '' } } }
  await assertSuccess(admin.GET('/api/v1/admin/money/payment-orders/{outTradeNo}', order))
  await assertSuccess(
    admin.POST('/api/v1/admin/money/payment-orders/{outTradeNo}/refund/preview', { ...paidOrder, body: {} }),
  )
  const reason = { reason: 'test' }
  await execute('update money_payment_order set amount = 10, refunded_amount = 0 where out_trade_no = ?', [mark])
  await assertSuccess(admin.POST('/api/v1/admin/money/payment-orders/{outTradeNo}/refund', { ...order, body: reason }))
  await execute("update money_payment_order set status = 'pending' where out_trade_no = ?", [mark])
  await assertSuccess(
    admin.POST('/api/v1/admin/money/payment-orders/{outTradeNo}/close/preview', { ...order, body: {} }),
  )
  await assertSuccess(admin.POST('/api/v1/admin/money/payment-orders/{outTradeNo}/close', { ...order, body: reason }))
  await assertSuccess(admin.POST('/api/v1/admin/money/reconciliations', { body: {} }))
  const list = () => assertSuccess(admin.GET('/api/v1/admin/money/reconciliations'))
  await until(async () => (await list()).items.length > 0, 'the reconciliation')
  const path = { id: idOf('MoneyReconciliation') }
  await assertSuccess(admin.GET('/api/v1/admin/money/reconciliations/{id}', { params: { path } }))
  await assertSuccess(admin.GET('/api/v1/admin/money/reconciliations/{id}/findings', { params: { path } }))
}

export async function callPoints({ admin, user, userId }: Scene): Promise<void> {
  const rule = { code: 'check-in', type: 'check-in' as const, config: { points: 5, cycleDays: 7 } }
  const { id } = await assertSuccess(admin.POST('/api/v1/admin/member-points/rules', { body: rule }))
  await assertSuccess(admin.GET('/api/v1/admin/member-points/rules'))
  await assertSuccess(admin.GET('/api/v1/admin/member-points/rules/{id}', { params: { path: { id } } }))
  const adjustment = { userId, points: 5 }
  await assertSuccess(admin.POST('/api/v1/admin/member-points/manual-adjustments/preview', { body: adjustment }))
  const body = { ...adjustment, reason: 'test' }
  await assertSuccess(admin.POST('/api/v1/admin/member-points/manual-adjustments', { body }))
  await assertSuccess(admin.GET('/api/v1/admin/member-points/accounts'))
  await assertSuccess(admin.GET('/api/v1/admin/member-points/days'))
  await assertSuccess(admin.GET('/api/v1/admin/member-points/figures'))
  await assertSuccess(admin.GET('/api/v1/admin/member-points/expire-batches'))
  await assertSuccess(admin.POST('/api/v1/admin/member-points/expire-batches/run', { body: {} }))
  await assertSuccess(admin.GET('/api/v1/admin/member-points/ledgers'))
  await assertSuccess(admin.GET('/api/v1/admin/member-points/sources'))
  await assertSuccess(user.GET('/api/v1/member-points/tasks'))
  await assertSuccess(user.POST('/api/v1/member-points/users/me/check-in'))
  await assertSuccess(user.GET('/api/v1/member-points/users/me/check-ins'))
  await assertSuccess(user.GET('/api/v1/member-points/users/me/ledgers'))
  await assertSuccess(user.GET('/api/v1/member-points/users/me/overview'))
}
