/** Tests rewards for events, points that refunds take back, tasks and prizes, on each database. */

import { assertMembers, manualClock } from '@plinth/dev/testing'
import { onDatabase } from '@plinth/dev/testing/database'
import { firstOrder, orderPaid, orderRefunded, profileCompletion, reviewReward } from '@plinth/events'
import { userDeleted } from '@plinth/iam'
import fc from 'fast-check'
import t from 'tap'
import { brokenRules } from './fixtures/invariants.ts'
import { day, type Points, reasonOf, startPoints } from './fixtures/product.ts'

/** Returns functions that publish events of other plugins and wait for their delivery. */
function publisher({ events, clock }: Pick<Points, 'events' | 'clock'>) {
  const paid = (
    orderNo: string,
    userId: number,
    cashAmount: number,
    more: { currency?: string; paidAt?: number } = {},
  ) =>
    events.publish(
      orderPaid,
      { orderNo, userId, cashAmount, currency: 'CNY', paidAt: clock.now(), ...more },
      { key: `order:${orderNo}` },
    )
  const refunded = (refundNo: string, orderNo: string, userId: number, refundAmount: number, orderCashAmount: number) =>
    events.publish(
      orderRefunded,
      { refundNo, orderNo, userId, refundAmount, orderCashAmount },
      { key: `order:${orderNo}` },
    )
  return { paid, refunded }
}

onDatabase(t, 'P-023 P-029 orders and their refunds', async (t, at) => {
  const clock = manualClock(Date.UTC(2026, 5, 1))
  const product = await startPoints(t, at, { clock })
  const { rows, balance, events, points, ledger, ref } = product
  const { paid, refunded } = publisher(product)
  await product.administrator()
  const save = async (config: object, more: object = {}) =>
    // Logs in for each call, because these tests move the clock and an earlier session may have expired.
    (await product.loginAs('root')).call('POST', 'admin/member-points/rules', {
      code: 'order-reward',
      type: 'order',
      config: { points: 1, perAmount: 100, ...config },
      ...more,
    })
  const reversals = (orderNo: string) =>
    rows(`select wanted, deducted, shortfall, status from points_reversal where order_no = '${orderNo}' order by id`)
  const claims = (orderNo: string) =>
    rows('select wanted, deducted, claimed, shortfall from points_reversal where order_no = ?', [orderNo])
  t.afterEach(async () => t.same(await brokenRules(product), []))

  await t.test('P-003 P-023 the first grant creates the account; the cash amount decides', async (t) => {
    t.equal(await ledger.find(ref(1)), undefined)
    await paid('r1', 1, 10_000)
    await events.idle()
    t.same(await balance(1), [100, 0])
    t.match(await ledger.find(ref(1)), { asset: 'points:mall', owner: { type: 'user', id: '1' } })
    const journals = await rows(`select idem_key from money_journal where kind = 'points.order'`)
    t.same(journals, [{ idem_key: 'member-points:order:r1' }])
  })

  await t.test('P-023 an order that earns one point grants it', async (t) => {
    await paid('one', 99, 100)
    await events.idle()
    t.same(await balance(99), [1, 0])
  })

  await t.test('P-024 the same event twice grants once', async (t) => {
    await paid('r1', 1, 10_000)
    await events.idle()
    t.same(await balance(1), [100, 0])
  })

  await t.test(
    'P-025 P-032 M5 without cash, or with too little, nothing is granted and nothing taken back',
    async (t) => {
      await paid('free', 2, 0)
      await paid('cents', 2, 99)
      await refunded('f1', 'free', 2, 0, 0)
      await refunded('c1', 'cents', 2, 99, 99)
      await events.idle()
      t.same(await balance(2), [0, 0])
      t.equal(await ledger.find(ref(2)), undefined, 'no account, no source, no entry')
      t.same(await reversals('cents'), [{ wanted: 0, deducted: 0, shortfall: 0, status: 'booked' }])
    },
  )

  await t.test('R1 P-029 P-030 P-031 refunds in three parts, each delivered twice', async (t) => {
    const left: number[] = []
    for (const [index, part] of [3333, 3333, 3334].entries()) {
      for (let times = 0; times < 2; times++) {
        await refunded(`r1-${index}`, 'r1', 1, part, 10_000)
        await events.idle()
      }
      left.push((await balance(1))[0] ?? -1)
    }
    t.same(left, [67, 34, 0])
    assertMembers(t, await rows(`select status, reversed, granted from points_source where source_id = 'r1'`), [
      { status: 'reversed', reversed: 100, granted: 100 },
    ])
  })

  await t.test('R7 P-029 spent points: available points are taken, and the shortfall is recorded', async (t) => {
    await paid('r7', 7, 10_000)
    await events.idle()
    await points.spend({ userId: 7, points: 80, key: 'spend r7' })
    await refunded('r7-1', 'r7', 7, 5000, 10_000)
    await refunded('r7-2', 'r7', 7, 5000, 10_000)
    await events.idle()
    t.same(await reversals('r7'), [
      { wanted: 50, deducted: 20, shortfall: 30, status: 'booked' },
      { wanted: 50, deducted: 0, shortfall: 50, status: 'booked' },
    ])
    t.same(await balance(7), [0, 0])
    assertMembers(t, await rows(`select shortfall, owed from points_order_reward where order_no = 'r7'`), [
      { shortfall: 80, owed: 0 },
    ])
    await points.rewardLottery(7, 'r7', 10)
    t.same(await balance(7), [10, 0], 'without the option nothing is recovered')
  })

  await t.test('R8 other points of the member pay for those of the order that were spent', async (t) => {
    await paid('r8', 8, 10_000)
    await events.idle()
    await points.spend({ userId: 8, points: 60, key: 'spend r8' })
    await points.rewardLottery(8, 'r8', 500)
    await refunded('r8-1', 'r8', 8, 10_000, 10_000)
    await events.idle()
    t.same(await balance(8), [440, 0])
    const uses =
      await rows(`select u.amount, s.source_type from points_source_use u join points_source s on s.id = u.source_id
      where s.user_id = 8 and u.kind = 'reverse' order by u.amount`)
    t.same(uses, [
      { amount: 40, source_type: 'order' },
      { amount: 60, source_type: 'marketing-lottery' },
    ])
  })

  await t.test('R9 points on hold cannot be taken back', async (t) => {
    await paid('r9', 9, 10_000)
    await events.idle()
    await ledger.hold({ ...ref(9), amount: 70, key: 'hold r9', kind: 'test.hold' })
    await refunded('r9-1', 'r9', 9, 10_000, 10_000)
    await events.idle()
    assertMembers(t, await claims('r9'), [{ wanted: 100, deducted: 30, claimed: 70, shortfall: 0 }])
    t.same(await balance(9), [0, 70])
  })

  await t.test('points on hold stay claimed until the hold ends, whatever the rule says about recovery', async (t) => {
    const reward = async (orderNo: string) => {
      const columns = 'deducted, claimed, shortfall, owed, recovered'
      return (await rows(`select ${columns} from points_order_reward where order_no = ?`, [orderNo]))[0]
    }
    const hold = async (userId: number, amount: number, key: string) =>
      (await ledger.hold({ ...ref(userId), amount, key, kind: 'test.hold' })).holdId
    for (const [recovery, userId] of [
      ['none', 91],
      ['future-grants', 92],
    ] as const) {
      t.equal((await save({ recovery })).code, '200')
      clock.shiftWallClock(10)
      const [one, other] = [`${recovery}-1`, `${recovery}-2`]
      for (const orderNo of [one, other]) {
        await paid(orderNo, userId, 10_000)
        await events.idle()
      }

      // The granted points of both orders are on hold, in one hold of 120 points and one of 80 points.
      const [first, second] = [await hold(userId, 120, `${one} hold`), await hold(userId, 80, `${other} hold`)]
      await refunded(`${one}-r`, one, userId, 10_000, 10_000)
      await refunded(`${other}-r`, other, userId, 5_000, 10_000)
      await events.idle()
      t.match(await reward(one), { deducted: 0, claimed: 100, shortfall: 0, owed: 0 })
      t.match(await reward(other), { deducted: 0, claimed: 50, shortfall: 0, owed: 0 })
      await points.rewardLottery(userId, 'while held', 5)
      t.same(await balance(userId), [5, 200], 'a reward does not pay for points that are only on hold')

      await ledger.release({ holdId: second, key: `${other} released` })
      t.same(await balance(userId), [5 + 30, 120], 'of 80 points that come back the refund takes 50')
      t.match(await reward(other), { deducted: 50, claimed: 0, shortfall: 0 })
      await ledger.capture({ holdId: first, amount: 90, key: `${one} captured`, kind: 'test.capture' })
      t.same(await balance(userId), [5 + 30 + 20, 0], 'of 30 points that come back the refund takes 10')
      const owed = recovery === 'none' ? 0 : 90
      t.match(await reward(one), { deducted: 10, claimed: 0, shortfall: 90, owed }, 'captured points are a shortfall')

      await points.rewardLottery(userId, 'later', 30)
      const settled = Math.min(owed, 30)
      t.same(await balance(userId), [5 + 30 + 20 + 30 - settled, 0])
      t.match(await reward(one), { shortfall: 90, owed: owed - settled, recovered: settled })
    }
    t.equal((await save({})).code, '200')
    clock.shiftWallClock(10)
  })

  await t.test('a hold that expires returns only the points that no refund claims', async (t) => {
    await paid('r93', 93, 10_000)
    await events.idle()
    const posting = { ...ref(93), amount: 100, key: 'hold r93', kind: 'test.hold' }
    await ledger.hold({ ...posting, expiresAt: clock.now() + 1_000 })
    await refunded('r93-1', 'r93', 93, 4_000, 10_000)
    await events.idle()
    clock.shiftWallClock(1_001)
    const spend = points.spend({ userId: 93, points: 61, key: 'spend r93' })
    t.equal(await reasonOf(spend), '409 money.balance-insufficient')
    t.match(await points.spend({ userId: 93, points: 60, key: 'spend less r93' }), { available: 0 })
  })

  await t.test('a refund with a shortfall takes points of its order that are returned later', async (t) => {
    await paid('r94', 94, 10_000)
    await events.idle()
    const { journalId } = await points.spend({ userId: 94, points: 100, key: 'spend r94' })
    await refunded('r94-1', 'r94', 94, 6_000, 10_000)
    await events.idle()
    assertMembers(t, await claims('r94'), [{ deducted: 0, claimed: 0, shortfall: 60 }])
    await ledger.reverse({ journalId, amount: 50, key: 'back r94' })
    t.same(await balance(94), [0, 0])
    await ledger.reverse({ journalId, amount: 50, key: 'back again r94' })
    t.same(await balance(94), [40, 0])
    t.equal(await reasonOf(ledger.reverse({ journalId, amount: 1, key: 'too much r94' })), '409 money.exceeds-journal')
  })

  await t.test('returned points only pay what later rewards have not paid', async (t) => {
    t.equal((await save({ recovery: 'future-grants' })).code, '200')
    clock.shiftWallClock(10)
    await paid('r98', 98, 10_000)
    await events.idle()
    const { journalId } = await points.spend({ userId: 98, points: 100, key: 'spend r98' })
    await refunded('r98-1', 'r98', 98, 6_000, 10_000)
    await events.idle()
    await points.rewardLottery(98, 'r98', 25)
    t.same(await balance(98), [0, 0], 'the reward pays for 25 of 60 points')
    await ledger.reverse({ journalId, key: 'back r98' })
    t.same(await balance(98), [65, 0], 'of 100 points that come back 35 pay for the others')
    t.equal((await save({})).code, '200')
    clock.shiftWallClock(10)
  })

  await t.test('R10 expired points are not taken from other points', async (t) => {
    await paid('r10', 10, 10_000)
    await events.idle()
    clock.shiftWallClock(366 * day)
    await points.rewardLottery(10, 'r10', 500)
    await refunded('r10-1', 'r10', 10, 10_000, 10_000)
    await events.idle()
    t.same(await reversals('r10'), [{ wanted: 100, deducted: 0, shortfall: 100, status: 'booked' }])
    t.same(await balance(10), [500, 0])
  })

  await t.test('expired points are no shortfall that returned points pay', async (t) => {
    await paid('r95', 95, 10_000)
    await events.idle()
    const { journalId } = await points.spend({ userId: 95, points: 40, key: 'spend r95' })
    clock.shiftWallClock(366 * day)
    await points.rewardLottery(95, 'r95', 500)
    await points.expire()
    await refunded('r95-1', 'r95', 95, 10_000, 10_000)
    await events.idle()
    assertMembers(t, await claims('r95'), [{ wanted: 100, deducted: 40, claimed: 0, shortfall: 60 }])
    t.same(await balance(95), [460, 0], 'others pay for the points that were spent')
    await ledger.reverse({ journalId, key: 'back r95' })
    t.same(await balance(95), [500, 0], 'the points that come back replace these')
  })

  await t.test('after an expiry, returned points only pay what later rewards have not paid', async (t) => {
    t.equal((await save({ recovery: 'future-grants' })).code, '200')
    clock.shiftWallClock(10)
    await paid('r97', 97, 10_000)
    await events.idle()
    const { journalId } = await points.spend({ userId: 97, points: 70, key: 'spend r97' })
    clock.shiftWallClock(366 * day)
    await points.expire()
    await refunded('r97-1', 'r97', 97, 10_000, 10_000)
    await events.idle()
    assertMembers(t, await claims('r97'), [{ wanted: 100, deducted: 0, claimed: 0, shortfall: 100 }])
    await points.rewardLottery(97, 'r97', 25)
    t.same(await balance(97), [0, 0], 'the reward pays for 25 of the 70 points that were spent')
    await ledger.reverse({ journalId, key: 'back r97' })
    t.same(await balance(97), [25, 0], 'of 70 points that come back 45 pay for the others')
    t.equal((await save({})).code, '200')
    clock.shiftWallClock(10)
  })

  await t.test('R11 P-030 the same refund again, with other data, and beyond the paid amount', async (t) => {
    await paid('r11', 11, 10_000)
    await refunded('r11-1', 'r11', 11, 4000, 10_000)
    await refunded('r11-1', 'r11', 11, 4000, 10_000)
    await refunded('r11-1', 'r11', 11, 4001, 10_000)
    await refunded('r11-2', 'r11', 11, 6001, 10_000)
    await events.idle()
    t.same(await balance(11), [60, 0])
    t.equal((await reversals('r11')).length, 1, 'what is refused leaves nothing')
    const rejected = await rows(`select last_error from outbox_event where last_error is not null order by id`)
    t.ok(rejected.length > 0, 'and an operator sees it')
  })

  await t.test('P-031 refunds of more than the paid amount are rejected, before and after the payment', async (t) => {
    await paid('r131-paid', 131, 10_000)
    await paid('r132-paid', 132, 10_000)
    for (const state of ['paid', 'unpaid']) {
      await refunded(`r131-${state}`, `r131-${state}`, 131, 10_001, 10_000)
      await refunded(`r132-${state}`, `r132-${state}`, 132, 6_000, 10_000)
      await refunded(`r132-${state}-more`, `r132-${state}`, 132, 4_001, 10_000)
    }
    await events.idle()
    const rejected = await rows(
      `select stream_key from outbox_event where last_error is not null and stream_key like 'order:r13%' order by id`,
    )
    t.same(
      rejected.map(({ stream_key }) => stream_key),
      ['order:r131-paid', 'order:r132-paid', 'order:r131-unpaid', 'order:r132-unpaid'],
    )
    const stored = await rows(
      `select refund_no, status from points_reversal where order_no like 'r13%' order by refund_no`,
    )
    t.same(stored, [
      { refund_no: 'r132-paid', status: 'booked' },
      { refund_no: 'r132-unpaid', status: 'deferred' },
    ])
    t.same(
      [await balance(131), await balance(132)],
      [
        [100, 0],
        [40, 0],
      ],
    )
  })

  await t.test('R14 refunds before the payment wait for it', async (t) => {
    await refunded('r14-1', 'r14', 14, 2500, 10_000)
    await refunded('r14-2', 'r14', 14, 1, 10_000)
    await events.idle()
    assertMembers(t, await reversals('r14'), [{ status: 'deferred' }, { status: 'deferred' }])
    t.same(await balance(14), [0, 0])
    await refunded('r14-1', 'r14', 14, 2500, 10_000)
    await paid('r14', 14, 10_000)
    await events.idle()
    t.same(await balance(14), [100 - Math.floor((100 * 2501) / 10_000), 0])
    assertMembers(t, await reversals('r14'), [
      { status: 'booked', deducted: 25 },
      { status: 'booked', deducted: 0 },
    ])
  })

  await t.test('R13 concurrent refunds of one order, in any order', async (t) => {
    await paid('r13', 13, 9999)
    await events.idle()
    const parts = Array<number>(9).fill(1111)
    await Promise.all(
      parts.map((refundAmount, index) =>
        events.publish(orderRefunded, {
          refundNo: `r13-${index}`,
          orderNo: 'r13',
          userId: 13,
          refundAmount,
          orderCashAmount: 9999,
        }),
      ),
    )
    await events.idle()
    t.same(await balance(13), [0, 0])
  })

  await t.test('R15 P-062 a new rule changes neither granted points nor the points that a refund takes', async (t) => {
    await paid('r15', 15, 10_000)
    await events.idle()
    clock.shiftWallClock(1000)
    t.equal((await save({ points: 2 })).code, '200')
    clock.shiftWallClock(1000)
    const left: number[] = []
    for (const [index, part] of [3333, 3333, 3334].entries()) {
      await refunded(`r15-${index}`, 'r15', 15, part, 10_000)
      await events.idle()
      left.push((await balance(15))[0] ?? -1)
    }
    t.same(left, [67, 34, 0])
    await paid('r15 late', 15, 1000, { paidAt: clock.now() - 1500 })
    await events.idle()
    t.same(await balance(15), [10, 0], 'an event that comes late is rewarded as it would have been')
    await paid('r15 next', 15, 1000)
    await events.idle()
    t.same(await balance(15), [30, 0], 'the next grant follows the rule')
  })

  await t.test('P-029 recovery: later rewards pay what a refund could not take, visible to everybody', async (t) => {
    t.equal((await save({ recovery: 'future-grants' })).code, '200')
    clock.shiftWallClock(10)
    await paid('r16', 16, 10_000)
    await events.idle()
    await points.spend({ userId: 16, points: 100, key: 'spend r16' })
    await refunded('r16-1', 'r16', 16, 10_000, 10_000)
    await events.idle()
    assertMembers(t, await rows(`select owed from points_order_reward where order_no = 'r16'`), [{ owed: 100 }])
    await points.rewardLottery(16, 'a', 30)
    await points.rewardLottery(16, 'a', 30)
    t.same(await balance(16), [0, 0])
    await points.rewardLottery(16, 'b', 90)
    t.same(await balance(16), [20, 0])
    assertMembers(t, await rows(`select owed, recovered from points_order_reward where order_no = 'r16'`), [
      { owed: 0, recovered: 100 },
    ])
    const account = await ledger.find(ref(16))
    const window = { orderBy: [{ property: 'id', direction: 'desc' }], size: 10, offset: 0, count: 'none' } as const
    const { items } = await ledger.entries({ accountId: account?.id ?? 0 }, window)
    t.same(
      items.filter(({ kind }) => kind === 'points.recover').map(({ available }) => available),
      [-70, -30],
    )
    await Promise.all(Array.from({ length: 8 }, (_, index) => points.rewardLottery(16, `c${index}`, 5)))
    t.same(await balance(16), [60, 0])
  })

  await t.test('an order in another currency earns nothing if the rule names a currency', async (t) => {
    t.equal((await save({ currency: 'CNY' })).code, '200')
    clock.shiftWallClock(10)
    await paid('eur', 17, 10_000, { currency: 'EUR' })
    await paid('cny', 17, 10_000)
    await events.idle()
    t.same(await balance(17), [100, 0])
  })

  await t.test('P-024 twenty concurrent deliveries of one order', async (t) => {
    const order = { orderNo: 'many', userId: 18, cashAmount: 5000, currency: 'CNY', paidAt: clock.now() }
    await Promise.all(Array.from({ length: 20 }, () => events.publish(orderPaid, order)))
    await events.idle()
    t.same(await balance(18), [50, 0])
  })

  await t.test('I10 I13 orders and refunds in any order of their events', async (t) => {
    let run = 0
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          paidAmount: fc.integer({ min: 1, max: 20_000 }),
          cuts: fc.array(fc.nat(20_000), { maxLength: 4 }),
        }),
        fc.nat(5),
        fc.boolean(),
        async ({ paidAmount, cuts }, place, isFull) => {
          run++
          const [orderNo, userId] = [`p${run}`, 10_000 + run]
          const marks = [
            0,
            ...cuts.map((cut) => cut % (paidAmount + 1)).sort((a, b) => a - b),
            ...(isFull ? [paidAmount] : []),
          ]
          const parts = marks.slice(1).map((mark, index) => mark - (marks[index] ?? 0))
          for (let index = 0; index <= parts.length; index++) {
            if (index === Math.min(place, parts.length)) await paid(orderNo, userId, paidAmount)
            const part = parts[index]
            if (part !== undefined) await refunded(`${orderNo}-${index}`, orderNo, userId, part, paidAmount)
          }
          await events.idle()
          const granted = Math.floor(paidAmount / 100)
          const back = parts.reduce((sum, part) => sum + part, 0)
          const expected = granted - (back === paidAmount ? granted : Math.floor((granted * back) / paidAmount))
          const [available] = await balance(userId)
          if (available !== expected) throw new Error(`${available} points are left, not ${expected}`)
        },
      ),
      { numRuns: 6 },
    )
    t.ok(run >= 6)
  })
})

onDatabase(t, 'P-007 P-026 P-027 P-028 P-059 tasks whose completion other modules have checked', async (t, at) => {
  const clock = manualClock(Date.UTC(2026, 5, 1))
  const product = await startPoints(t, at, { clock })
  const { rows, balance, events, points, ledger, ref } = product
  const keys = async (kind: string) =>
    (await rows('select idem_key from money_journal where kind = ? order by id', [kind])).map((row) => row['idem_key'])

  for (let times = 0; times < 2; times++) {
    await events.publish(profileCompletion, { userId: 1 })
    await events.publish(firstOrder, { userId: 1, orderNo: `o${times}` })
    await events.publish(reviewReward, { userId: 1, reviewId: 'R-1' })
    await events.idle()
  }
  t.same(await balance(1), [160, 0], 'P-026 P-027 P-028 M4 each once: 50, 100 and 10 by the rules as they are seeded')
  t.same((await keys('points.task')).sort(), [
    'member-points:1:mall:first-order',
    'member-points:1:profile-completion',
    'member-points:review:R-1',
  ])
  await events.publish(reviewReward, { userId: 1, reviewId: 'R-2' })
  await events.publish(firstOrder, { userId: 2, orderNo: 'o1' })
  await events.idle()
  t.same(
    [await balance(1), await balance(2)],
    [
      [170, 0],
      [100, 0],
    ],
    'another review, another user',
  )

  await t.test('P-007 one operation rewards every task, regardless of the caller', async (t) => {
    t.match(await points.rewardTask({ task: 'first-order', userId: 2 }), { points: 100, replayed: true })
    t.match(await points.rewardTask({ task: 'review-reward', userId: 9, subject: 'R-1' }), {
      points: 10,
      replayed: true,
    })
    t.same(await balance(9), [0, 0], 'a review is rewarded once, for any named user')
    t.equal(await reasonOf(points.rewardTask({ task: 'nothing', userId: 1 })), '404 member-points.rule-unknown')
    t.equal(await reasonOf(points.rewardTask({ task: 'check-in', userId: 1 })), '404 member-points.rule-unknown')
    t.equal(await reasonOf(points.rewardTask({ task: 'review-reward', userId: 1 })), '400 member-points.key-invalid')
    const key = { task: 'first-order', userId: 1, subject: ' x' }
    t.equal(await reasonOf(points.rewardTask(key)), '400 member-points.key-invalid')
  })

  await t.test('a task that an operator added, disabled and changed', async (t) => {
    const admin = await product.administrator()
    const save = (config: object, enabled = true) =>
      admin.call('POST', 'admin/member-points/rules', { code: 'survey', type: 'task', config, enabled })
    await save({ points: 7 })
    clock.shiftWallClock(10)
    t.match(await points.rewardTask({ task: 'survey', userId: 3 }), { points: 7, replayed: false })
    t.match(await points.rewardTask({ task: 'survey', userId: 3, subject: 's2' }), { points: 7, replayed: false })
    await save({ points: 8 })
    clock.shiftWallClock(10)
    t.match(await points.rewardTask({ task: 'survey', userId: 3 }), { points: 7, replayed: true }, 'as it was granted')
    await save({ points: 8 }, false)
    clock.shiftWallClock(10)
    t.same(await points.rewardTask({ task: 'survey', userId: 4 }), {
      points: 0,
      settled: 0,
      journalId: null,
      replayed: false,
    })
    t.same(await balance(3), [14, 0])
  })

  await t.test('P-033 P-034 M3 a lottery prize with its own key', async (t) => {
    for (let times = 0; times < 2; times++) {
      const prize = await points.rewardLottery(7, 'op-1', 88)
      t.match(prize, { points: 88, replayed: times === 1 })
    }
    t.same(await keys('points.lottery'), ['member-points:marketing-lottery:7:op-1'])
    t.equal(await reasonOf(points.rewardLottery(7, 'op-1', 99)), '409 money.idempotency-mismatch')
    await points.rewardLottery(8, 'op-1', 88)
    t.same(
      [await balance(7), await balance(8)],
      [
        [88, 0],
        [88, 0],
      ],
    )
    t.equal(await reasonOf(points.rewardLottery(7, '', 1)), '400 member-points.key-invalid')
    t.equal(await reasonOf(points.rewardLottery(7, 'x', 0)), '400 member-points.amount-invalid')
    const many = await Promise.all(Array.from({ length: 20 }, () => points.rewardLottery(7, 'op-2', 1)))
    t.equal(many.filter(({ replayed }) => !replayed).length, 1)
  })

  await t.test('M11 a reward is rolled back with the transaction of its caller', async (t) => {
    const failing = product.db.transactional(async () => {
      await points.rewardLottery(11, 'm11', 5)
      throw new Error('no')
    })
    await t.rejects(failing, /no/)
    t.equal(await ledger.find(ref(11)), undefined)
    t.same(await rows(`select id from points_source where user_id = 11`), [])
    t.match(await points.rewardLottery(11, 'm11', 5), { replayed: false })
  })

  await t.test('a deleted user leaves no points to spend and no check-ins', async (t) => {
    const member = await product.member('leaver')
    await member.call('POST', 'member-points/users/me/check-in')
    await points.rewardLottery(member.id, 'before', 40)
    for (let times = 0; times < 2; times++) {
      await events.publish(userDeleted, { userId: member.id })
      await events.idle()
    }
    t.same(await balance(member.id), [0, 0])
    t.same(await rows('select id from points_check_in where user_id = ?', [member.id]), [])
    assertMembers(t, await rows(`select kind from money_journal where kind = 'points.forfeit'`), [
      { kind: 'points.forfeit' },
    ])
  })
  t.same(await brokenRules(product), [])
})

onDatabase(t, 'returned points go back through all sources that lent points to each other', async (t, at) => {
  const product = await startPoints(t, at)
  const { rows, balance, events, points, ledger } = product
  const { paid, refunded } = publisher(product)
  await paid('first', 1, 10_000)
  await events.idle()
  const { journalId } = await points.spend({ userId: 1, points: 100, key: 'spend' })
  // The points of the second order pay for those of the first, and a prize pays for those of the second.
  await paid('second', 1, 10_000)
  await events.idle()
  await refunded('first-1', 'first', 1, 10_000, 10_000)
  await events.idle()
  await points.rewardLottery(1, 'prize', 100)
  await refunded('second-1', 'second', 1, 10_000, 10_000)
  await events.idle()
  t.same(await balance(1), [0, 0])
  await ledger.reverse({ journalId, key: 'back' })
  t.same(await balance(1), [100, 0])
  t.same(await rows('select status, remaining from points_source order by id'), [
    { status: 'reversed', remaining: 0 },
    { status: 'reversed', remaining: 0 },
    { status: 'active', remaining: 100 },
  ])
  t.same(await brokenRules(product), [])
})

onDatabase(t, 'points on hold of a deleted user are forfeited when the hold ends', async (t, at) => {
  const product = await startPoints(t, at)
  const { balance, clock, events, points, ledger, ref } = product
  for (const [prize, amount] of [10, 20, 30].entries()) await points.rewardLottery(1, `prize ${prize}`, amount)
  const { holdId } = await ledger.hold({ ...ref(1), amount: 40, key: 'hold', kind: 'test.hold' })
  await events.publish(userDeleted, { userId: 1 })
  await events.idle()
  t.same(await balance(1), [0, 40])
  // The hold outlives the points. Expired points cannot be spent, but they must still leave the account.
  clock.shiftWallClock(366 * day)
  await ledger.release({ holdId, key: 'release' })
  t.same(await balance(1), [0, 0])
  const account = await ledger.find(ref(1))
  const window = { orderBy: [{ property: 'id', direction: 'asc' }], size: 10, offset: 0, count: 'none' } as const
  const { items } = await ledger.entries({ accountId: account?.id ?? 0 }, window)
  t.same(
    items.filter(({ kind }) => kind === 'points.forfeit').map(({ available }) => available),
    [-20, -40],
  )
  t.same(await brokenRules(product), [])
})

onDatabase(t, 'a check-in just after midnight continues the one just before midnight', async (t, at) => {
  const one = await startPoints(t, at)
  const member = await one.member('ada')
  const checkIn = 'member-points/users/me/check-in'
  t.match((await member.call('POST', checkIn)).data, { consecutiveDays: 1 })
  one.clock.shiftWallClock(day)
  const other = await startPoints(t, at, { clock: manualClock(one.clock.now() + day) })
  const { call } = await other.loginAs('ada')
  const isWritten = Promise.withResolvers<void>()
  const commits = Promise.withResolvers<void>()
  /** Makes this instance run the given work before each matching SQL statement of a check-in. */
  const before = ({ db }: Points, statement: RegExp, work: () => Promise<void>) => {
    for (const name of ['execute', 'query'] as const) {
      const run = db[name].bind(db) as (...call: unknown[]) => Promise<never>
      db[name] = async (sql: string, ...rest: unknown[]) => {
        if (statement.test(sql)) await work()
        return run(sql, ...rest)
      }
    }
  }
  before(one, /^update points_check_in set journal_id/, async () => {
    isWritten.resolve()
    await commits.promise
  })
  const earlier = member.call('POST', checkIn)
  await isWritten.promise
  // On SQLite the second check-in waits for the whole transaction of the first.
  if (at.dialect === 'sqlite') commits.resolve()
  else before(other, /money_account.*for update/s, async () => commits.resolve())
  const [first, second] = await Promise.all([earlier, call('POST', checkIn)])
  assertMembers(t, [first.data, second.data], [{ consecutiveDays: 2 }, { consecutiveDays: 3 }])
})
