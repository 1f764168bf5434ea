/** Tests the effect of each configuration key of the mall. */

import { assertKeyEffect, type KeyValues } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import { declaredTasks } from '@plinth/kernel/host'
import { ledger } from '@plinth/money'
import t from 'tap'
import { startMall } from './test/start-mall.ts'

const root = '/api/v1/mall'

t.test('the shop obeys its configuration keys', async (t) => {
  /**
   * Orders goods and pays a part with credit, pays the rest through the test provider, and cancels unpaid orders after
   * eleven minutes.
   */
  const observe = async (config: KeyValues) => {
    const db = await createDatabase('sqlite')
    t.teardown(() => db.drop())
    const { running, clock, member, add } = await startMall(t, db, config)
    const { id, call } = await member('ann')
    const tea = await add('TEA', 4_500, 10)
    const account = { owner: { type: 'user', id: String(id) }, asset: 'credit:test' }
    await running.service(ledger).credit({ ...account, amount: 3_000, key: 'gift', kind: 'test.gift' })
    const order = (more: object = {}) =>
      call('POST', `${root}/orders`, { lines: [{ goodsId: tea, quantity: 1 }], ...more })
    const { orderNo, currency } = (await order()).data
    const withCredit = (await order({ credit: 1_000 })).code
    const payment = (await call('POST', `${root}/orders/${orderNo}/payments`, { provider: 'test' })).code
    const unpaid = (await order()).data.orderNo
    clock.shiftWallClock(660_000)
    const [task] = running.service(declaredTasks).scheduledTasks.filter(({ plugin }) => plugin === 'example.mall')
    await task?.run(new AbortController().signal)
    const { status } = (await call('GET', `${root}/orders/${unpaid}`)).data
    return { currency, withCredit, payment, status }
  }
  const [currencies] = await assertKeyEffect(t, 'platform.example.mall.currency', { changed: 'EUR', observe })
  t.match(currencies, { before: { currency: 'CNY' }, after: { currency: 'EUR' } })
  const [credits] = await assertKeyEffect(t, 'platform.example.mall.credit-asset', { changed: 'credit:test', observe })
  t.hasStrict(credits, { after: { withCredit: '200' } })
  const [payments] = await assertKeyEffect(t, 'platform.example.mall.test-payments', {
    compared: true,
    changed: false,
    observe,
  })
  t.hasStrict(payments, { before: { payment: '200' }, after: { payment: '403' } })
  const [timeouts] = await assertKeyEffect(t, 'platform.example.mall.payment-timeout', { changed: '10m', observe })
  t.hasStrict(timeouts, { before: { status: 'unpaid' }, after: { status: 'cancelled' } })
})
