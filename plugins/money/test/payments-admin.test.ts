import type { LabelRequest } from '@plinth/admin'
import { assertMembers } from '@plinth/dev/testing'
import { onDatabase } from '@plinth/dev/testing/database'
import { ledger } from '@plinth/money'
import type { PaymentSuccessHandler } from '@plinth/money/payments'
import t from 'tap'
import { paymentPages } from '../src/admin-pages.ts'
import { sceneLabels } from '../src/payments/payment-routes.ts'
import { startBackOffice } from './fixtures/back-office.ts'

onDatabase(t, 'operators list payment orders and their payments', async (t, db) => {
  const config = { 'platform.money.payments.wallet-asset': 'wallet:eur' }
  const { running, admin, ann, book } = await startBackOffice(t, db, { config })

  const terms = { provider: 'test', scene: 'recharge', userId: 7, asset: 'wallet:eur', amount: 1_500 }
  await book.create({ ...terms, outTradeNo: 'R-1' })
  await book.create({ ...terms, outTradeNo: 'R-2', provider: 'web3', chainName: 'sepolia', amountRaw: '15' })
  await book.settle({ outTradeNo: 'R-1', type: 'test', transactionHash: 'T-1', facts: { note: 'not for operators' } })
  await book.refund({ outTradeNo: 'R-1', refundNo: 'B-1', amount: 500 })
  const owner = { type: 'user', id: '7' }
  t.match(await running.service(ledger).balance({ owner, asset: 'wallet:eur' }), { available: 1_000 })

  t.hasStrict(await ann('payment-orders'), { code: '403' })
  t.hasStrict(await ann('payment-transactions'), { code: '403' })
  assertMembers(t, (await admin('payment-orders')).data, {
    total: 2,
    items: [
      { outTradeNo: 'R-2', status: 'pending', chainName: 'sepolia', amountRaw: '15', paidAt: null },
      { outTradeNo: 'R-1', status: 'success', amount: 1_500, refundedAmount: 500, transactionHash: 'T-1' },
    ],
  })
  const numbers = async (query: string) =>
    (await admin(`payment-orders?${query}`)).data.items.map(({ outTradeNo }: { outTradeNo: string }) => outTradeNo)
  t.same(await numbers('status=success'), ['R-1'])
  t.same(await numbers('provider=web3'), ['R-2'])
  t.same(await numbers('provider=web3&status=success'), [])
  t.same(await numbers('userId=7&size=1'), ['R-2'])
  t.same(await numbers('userId=8'), [])
  t.match((await admin('payment-orders/R-1')).data, { outTradeNo: 'R-1', scene: 'recharge', userId: 7 })
  t.hasStrict(await admin('payment-orders/R-9'), { code: '404', data: { reason: 'payment.order-unknown' } })
  const { items } = (await admin('payment-transactions?outTradeNo=R-1')).data
  assertMembers(t, items, [
    { type: 'refund', transactionHash: 'B-1', amount: 500 },
    { type: 'test', transactionHash: 'T-1', amount: 1_500 },
  ])
  t.notOk('facts' in items[1], 'facts are for those who settle')
  t.match((await admin('payment-transactions?type=refund')).data, { total: 1 })
})

t.test('payment orders show what they are for, from the handler of their scene', async (t) => {
  const paid = async () => {}
  const handlers = new Map<string, PaymentSuccessHandler>([
    ['shop', { title: { en: 'Order of the shop', 'zh-CN': '商店订单' }, paid }],
    ['untitled', { paid }],
  ])
  const request = { locale: 'zh-CN' } as LabelRequest
  const named = await sceneLabels(handlers).byIds(['shop', 'untitled'], request)
  t.strictSame(named, [{ id: 'shop', name: '商店订单' }])
  const columns = paymentPages.flatMap((page) =>
    page.kind === 'list' ? page.columns : page.sections.flatMap((section) => section.columns),
  )
  const scenes = columns.filter(({ field }) => field === 'scene')
  t.strictSame(
    scenes.map(({ of }) => of?.labels),
    ['money.payment-scene', 'money.payment-scene'],
  )
})
