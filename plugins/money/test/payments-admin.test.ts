import databasePlugin from '@plinth/database'
import { onEachDatabase, startMigrated } from '@plinth/database/testing'
import eventsPlugin from '@plinth/events'
import httpPlugin, { http } from '@plinth/http'
import i18nPlugin from '@plinth/i18n'
import iamPlugin, { accounts } from '@plinth/iam'
import { defineProduct } from '@plinth/kernel'
import money, { ledger } from '@plinth/money'
import paymentsPlugin, { payments } from '@plinth/money/payments'
import t from 'tap'

const origin = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: 'tap' }
const password = 'correct horse battery staple'
const root = '/api/v1/admin/money'

onEachDatabase(t, 'operators list payment orders and what was paid on them', async (t, db) => {
  const config = {
    ...db.config,
    'platform.http.port': 0,
    'platform.iam.password.hash.memory': '1MiB',
    'platform.iam.password.hash.passes': 1,
    // effects of platform.money.payments.{wallet-asset,wallet-scale}
    'platform.money.payments.wallet-asset': 'wallet:eur',
    'platform.money.payments.wallet-scale': 3,
  }
  const plugins = [databasePlugin, eventsPlugin, httpPlugin, i18nPlugin, iamPlugin, money, paymentsPlugin]
  const running = await startMigrated(defineProduct({ name: 'test', plugins, config }))
  t.teardown(() => running.stop('test ended'))
  await running.service(accounts).createAdministrator({ username: 'admin', password }, origin)
  await running.service(accounts).create({ username: 'ann', password }, origin)
  const server = running.service(http)
  const logIn = async (username: string) => {
    const login = await server.inject({ method: 'POST', url: '/api/v1/auth/login', payload: { username, password } })
    const headers = { authorization: `Bearer ${login.json().data.accessToken}` }
    return async (url: string) => (await server.inject({ url, headers })).json()
  }
  const [admin, ann] = [await logIn('admin'), await logIn('ann')]

  const book = running.service(payments)
  const terms = { provider: 'test', scene: 'recharge', userId: 7, asset: 'wallet:eur', amount: 1_500 }
  await book.create({ ...terms, outTradeNo: 'R-1' })
  await book.create({ ...terms, outTradeNo: 'R-2', provider: 'web3', chainName: 'sepolia', amountRaw: '15' })
  await book.settle({ outTradeNo: 'R-1', type: 'test', transactionHash: 'T-1', facts: { note: 'not for operators' } })
  await book.refund({ outTradeNo: 'R-1', refundNo: 'B-1', amount: 500 })
  const owner = { type: 'user', id: '7' }
  t.match(await running.service(ledger).balance({ owner, asset: 'wallet:eur' }), { available: 1_000 })
  t.match(running.service(ledger).assets.get('wallet:eur'), { scale: 3 })

  t.match(await ann(`${root}/payment-orders`), { code: '403' })
  t.match(await ann(`${root}/payment-transactions`), { code: '403' })
  t.match((await admin(`${root}/payment-orders`)).data, {
    total: 2,
    items: [
      { outTradeNo: 'R-2', status: 'pending', chainName: 'sepolia', amountRaw: '15', paidAt: null },
      { outTradeNo: 'R-1', status: 'success', amount: 1_500, refundedAmount: 500, transactionHash: 'T-1' },
    ],
  })
  const numbers = async (query: string) =>
    (await admin(`${root}/payment-orders?${query}`)).data.items.map(
      ({ outTradeNo }: { outTradeNo: string }) => outTradeNo,
    )
  t.same(await numbers('status=success'), ['R-1'])
  t.same(await numbers('provider=web3'), ['R-2'])
  t.same(await numbers('provider=web3&status=success'), [])
  t.same(await numbers('userId=7&size=1'), ['R-2'])
  t.same(await numbers('userId=8'), [])
  t.match((await admin(`${root}/payment-orders/R-1`)).data, { outTradeNo: 'R-1', scene: 'recharge', userId: 7 })
  t.match(await admin(`${root}/payment-orders/R-9`), { code: '404', data: { reason: 'payment.order-unknown' } })
  const { items } = (await admin(`${root}/payment-transactions?outTradeNo=R-1`)).data
  t.match(items, [
    { type: 'refund', transactionHash: 'B-1', amount: 500 },
    { type: 'test', transactionHash: 'T-1', amount: 1_500 },
  ])
  t.notOk('facts' in items[1], 'facts are for those who settle')
  t.match((await admin(`${root}/payment-transactions?type=refund`)).data, { total: 1 })
})
