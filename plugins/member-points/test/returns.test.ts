/** Tests points that come back: their order, their texts, and expired holds that a rejected call meets. */

import { assertMembers, manualClock } from '@plinth/dev/testing'
import { onDatabase } from '@plinth/dev/testing/database'
import { orderPaid, orderRefunded } from '@plinth/events'
import t from 'tap'
import { granter, june } from './fixtures/grants.ts'
import { brokenRules } from './fixtures/invariants.ts'
import { asset, type Points, reasonOf, startPoints } from './fixtures/product.ts'

/** Pays an order that grants one point for each minor unit. */
async function pay({ events, clock }: Points, userId: number, orderNo: string, cashAmount: number) {
  await events.publish(orderPaid, { orderNo, userId, cashAmount, currency: 'CNY', paidAt: clock.now() })
  await events.idle()
}

async function refund({ events }: Points, userId: number, orderNo: string, refundAmount: number) {
  const order = { orderNo, userId, refundNo: `${orderNo}-r`, orderCashAmount: 100 }
  await events.publish(orderRefunded, { ...order, refundAmount })
  await events.idle()
}

onDatabase(t, 'points that come back', async (t, at) => {
  const clock = manualClock(june(1))
  const product = await startPoints(t, at, { clock })
  const { balance, ledger, points, ref, rows } = product
  const administrator = await product.administrator()
  const config = { points: 1, perAmount: 1 }
  await administrator.call('POST', 'admin/member-points/rules', { code: 'order-reward', type: 'order', config })
  clock.shiftWallClock(10)
  t.afterEach(async () => t.same(await brokenRules(product), []))

  await t.test('of lent points, those that expire last come back first', async (t) => {
    await pay(product, 1, 'lent', 100)
    const { journalId } = await points.spend({ userId: 1, points: 100, key: 'lent spend' })
    const grant = granter(product)
    await grant(1, 'soon', 30, june(10))
    await grant(1, 'late', 30, june(20))
    await grant(1, 'later', 30, june(30))
    await refund(product, 1, 'lent', 80)
    const remaining = async () =>
      (await rows(`select remaining from points_source where source_type = 'test' order by id`)).map(
        (lot) => lot['remaining'],
      )
    t.same(await remaining(), [0, 0, 10], 'those that expire first are taken first')
    await ledger.reverse({ journalId, amount: 25, key: 'lent back' })
    t.same(await remaining(), [0, 5, 30])
    await ledger.reverse({ journalId, amount: 35, key: 'lent back again' })
    t.same(await remaining(), [10, 30, 30])
  })

  await t.test('an entry that takes points after a hold names the refund', async (t) => {
    await pay(product, 2, 'held', 100)
    const { holdId } = await ledger.hold({ ...ref(2), amount: 100, key: 'held hold', kind: 'test.hold' })
    await refund(product, 2, 'held', 40)
    await ledger.release({ holdId, key: 'held release' })
    t.same(await balance(2), [60, 0])
    const found = await administrator.call('GET', `admin/member-points/ledgers?asset=${asset}&size=1`)
    assertMembers(t, found.data.items, [
      {
        kind: 'points.refund',
        points: -40,
        displayTitle: 'Refund held-r',
        referenceType: 'refund',
        referenceId: 'held-r',
      },
    ])
  })

  await t.test('a rejected deduction, spend or transfer releases expired holds', async (t) => {
    const to = { type: 'user', id: '999' }
    const member = await product.member('ada')
    const rejected = {
      async deduction() {
        const body = { userId: member.id, points: -101, reason: 'test' }
        return (await administrator.call('POST', 'admin/member-points/manual-adjustments', body)).data.reason
      },
      spend: () => reasonOf(points.spend({ userId: member.id, points: 101, key: 'much' })),
      transfer: () =>
        reasonOf(
          ledger.transfer({ from: ref(member.id).owner, to, asset, amount: 101, key: 'all', kind: 'test.send' }),
        ),
    }
    await points.rewardLottery(member.id, 'grant', 100)
    for (const [name, call] of Object.entries(rejected)) {
      const expiresAt = clock.now() + 1_000
      await ledger.hold({ ...ref(member.id), amount: 60, key: `${name} hold`, kind: 'test.hold', expiresAt })
      clock.shiftWallClock(1_000)
      t.match(await call(), /money\.balance-insufficient$/, name)
      t.same(await balance(member.id), [100, 0], name)
    }
  })

  await t.test('a member whose points expired on hold is told that the balance is too small', async (t) => {
    const expiresAt = clock.now() + 1_000
    await granter(product)(4, 'lapsed', 100, expiresAt)
    await ledger.hold({ ...ref(4), amount: 100, key: 'lapsed hold', kind: 'test.hold', expiresAt })
    clock.shiftWallClock(1_000)
    const spend = points.spend({ userId: 4, points: 1, key: 'lapsed spend' })
    t.equal(await reasonOf(spend), '409 money.balance-insufficient')
    t.same(await balance(4), [0, 0])
  })
})
