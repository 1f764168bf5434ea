/**
 * Runs random orders, refunds, holds, spends and reversals of several concurrent members. Afterwards the data must
 * satisfy every rule of points. Finally all holds end, all spent points are returned and all orders are refunded. A
 * member then has exactly the points that were not granted for an order. So refunds and cancellations must never add
 * points, in whatever sequence they happen.
 */

import { manualClock } from '@plinth/dev/testing'
import { onDatabase, runOnServer } from '@plinth/dev/testing/database'
import { orderPaid, orderRefunded } from '@plinth/events'
import fc from 'fast-check'
import t from 'tap'
import { brokenRules } from './fixtures/invariants.ts'
import { day, type Points, startPoints } from './fixtures/product.ts'

const members = 4
const steps = 240
const callers = 6

/** Percentage of each action. */
const shares = { pay: 22, refund: 16, hold: 16, capture: 10, release: 10, spend: 8, reverse: 12, gift: 6 } as const
type Action = keyof typeof shares

const step = fc.record({
  action: fc.oneof(
    ...Object.entries(shares).map(([name, weight]) => ({ weight, arbitrary: fc.constant(name as Action) })),
  ),
  member: fc.nat(members - 1),
  /** Part of the available points or of the paid money, in thousandths from 1 to 1,000. */
  share: fc.integer({ min: 1, max: 1_000 }),
  pick: fc.nat(1_000_000),
})
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

interface Order {
  readonly orderNo: string
  readonly userId: number
  readonly cash: number
  refunded: number
}

/** Executes random steps and records open operations, so that they can be completed. */
class Season {
  readonly #product: Points
  readonly #orders: Order[] = []
  readonly #holds: number[] = []
  readonly #taken: { readonly journalId: number; left: number }[] = []
  readonly gifts: number[] = Array(members).fill(0)
  readonly counts = new Map<string, number>()
  #number = 0

  constructor(product: Points) {
    this.#product = product
  }

  async run(all: readonly Step[]): Promise<void> {
    let next = 0
    const caller = async () => {
      for (let one = all[next++]; one !== undefined; one = all[next++]) {
        const { action } = one
        const response = await this.#step(one).catch((error) => String(error.reason ?? error))
        const name = `${action} ${response}`
        this.counts.set(name, (this.counts.get(name) ?? 0) + 1)
      }
    }
    await Promise.all(Array.from({ length: callers }, caller))
    await this.#product.events.idle()
  }

  async #step({ action, member, share, pick }: Step): Promise<string> {
    const { ledger, points, ref } = this.#product
    const userId = member + 1
    const key = `step:${this.#number++}`
    const partOf = (whole: number) => Math.max(1, Math.floor((whole * share) / 1_000))
    switch (action) {
      case 'pay': {
        const order = { orderNo: key, userId, cash: 100 * share, refunded: 0 }
        await this.#pay(order)
        this.#orders.push(order)
        return 'done'
      }
      case 'refund': {
        const order = this.#orders[pick % Math.max(1, this.#orders.length)]
        if (order !== undefined && order.refunded < order.cash) await this.#refund(order, partOf(order.cash), key)
        return 'done'
      }
      case 'hold': {
        const { available } = await ledger.balance(ref(userId))
        const { holdId } = await ledger.hold({
          ...ref(userId),
          amount: pick % 2 === 0 ? Math.max(1, available) : partOf(available),
          key,
          kind: 'test.hold',
        })
        this.#holds.push(holdId)
        return 'done'
      }
      case 'capture': {
        const holdId = this.#hold(pick)
        if (holdId === undefined) return 'done'
        const { journalId, captured } = await ledger
          .capture({ holdId, amount: share, key, kind: 'test.capture' })
          .catch((error) => {
            this.#holds.push(holdId)
            throw error
          })
        this.#taken.push({ journalId, left: captured })
        return 'done'
      }
      case 'release': {
        const holdId = this.#hold(pick)
        if (holdId !== undefined) await ledger.release({ holdId, key })
        return 'done'
      }
      case 'spend': {
        const { available } = await ledger.balance(ref(userId))
        const amount = partOf(available)
        const { journalId } = await points.spend({ userId, points: amount, key })
        this.#taken.push({ journalId, left: amount })
        return 'done'
      }
      case 'reverse': {
        const taken = this.#taken[pick % Math.max(1, this.#taken.length)]
        if (taken === undefined || taken.left === 0) return 'done'
        await this.#reverse(taken, Math.min(taken.left, partOf(taken.left)), key)
        return 'done'
      }
      case 'gift':
        this.gifts[member] = (this.gifts[member] ?? 0) + share
        await points.rewardLottery(userId, key, share)
        return 'done'
    }
  }

  /** Ends all holds, returns all spent points, and refunds all orders. */
  async end(pick: number): Promise<void> {
    const { ledger, events } = this.#product
    const work = [
      ...this.#holds.splice(0).map((holdId) => () => ledger.release({ holdId, key: `end:${holdId}` })),
      ...this.#taken
        .filter(({ left }) => left > 0)
        .map((taken) => () => this.#reverse(taken, taken.left, `end:${taken.journalId}`)),
      ...this.#orders
        .filter(({ cash, refunded }) => refunded < cash)
        .map((order) => () => this.#refund(order, order.cash, `end:${order.orderNo}`)),
    ]
    // Completes the open operations in a random order.
    while (work.length > 0) await work.splice((pick * 31 + work.length) % work.length, 1)[0]?.()
    await events.idle()
  }

  #hold(pick: number): number | undefined {
    return this.#holds.splice(pick % Math.max(1, this.#holds.length), 1)[0]
  }

  async #reverse(taken: { readonly journalId: number; left: number }, amount: number, key: string): Promise<void> {
    taken.left -= amount
    await this.#product.ledger.reverse({ journalId: taken.journalId, amount, key })
  }

  async #pay({ orderNo, userId, cash: cashAmount }: Order): Promise<void> {
    const { events, clock } = this.#product
    const fact = { orderNo, userId, cashAmount, currency: 'CNY', paidAt: clock.now() }
    await events.publish(orderPaid, fact, { key: `order:${orderNo}` })
    if (this.#number % 3 > 0) await events.idle()
  }

  async #refund(order: Order, amount: number, refundNo: string): Promise<void> {
    const { events } = this.#product
    const { orderNo, userId, cash: orderCashAmount } = order
    const refundAmount = Math.min(amount, order.cash - order.refunded)
    order.refunded += refundAmount
    const fact = { refundNo, orderNo, userId, refundAmount, orderCashAmount }
    await events.publish(orderRefunded, fact, { key: `order:${orderNo}` })
    if (this.#number % 3 > 0) await events.idle()
  }
}

onDatabase(t, 'random orders, holds, refunds and reversals leave a member the correct points', async (t, at) => {
  if (at.dialect === 'postgresql') {
    // Sets a shorter time, because by default PostgreSQL detects deadlocks only after one second.
    await runOnServer(
      'postgresql',
      `alter database ${at.config['platform.database.name']} set deadlock_timeout = '20ms'`,
    )
  }
  const clock = manualClock(Date.UTC(2026, 5, 1))
  const product = await startPoints(t, at, { clock })
  const seed = Number(process.env['SEED'] ?? Date.now() % 2 ** 31)
  t.comment(`SEED=${seed}`)
  const admin = await product.administrator()
  const config = { points: 1, perAmount: 100, recovery: seed % 2 === 0 ? 'none' : 'future-grants' }
  await admin.call('POST', 'admin/member-points/rules', { code: 'order-reward', type: 'order', config })
  clock.shiftWallClock(1_000)
  const season = new Season(product)
  // These fixed steps ensure that each run contains a refund of an order whose points are on hold.
  for (const action of ['pay', 'hold', 'refund'] as const)
    await season.run([{ action, member: 0, share: 1_000, pick: 0 }])
  await season.run(fc.sample(step, { numRuns: steps, seed }))
  t.same(await brokenRules(product), [])
  const meant = new Set([
    ...['hold', 'spend'].map((action) => `${action} money.balance-insufficient`),
    'capture money.exceeds-hold',
  ])
  t.same(
    [...season.counts.keys()].filter((name) => !name.endsWith(' done') && !meant.has(name)),
    [],
    'nothing else reached a caller',
  )
  const claimed = await product.rows('select sum(claimed) as claimed from points_reversal')
  t.ok(Number(claimed[0]?.['claimed']) > 0, 'refunds met points on hold')

  await season.end(seed)
  t.same(await brokenRules(product), [])
  const balances: unknown[] = []
  for (let member = 0; member < members; member++) balances.push(await product.balance(member + 1))
  t.same(
    balances,
    season.gifts.map((gift) => [gift, 0]),
    'the points that no order granted',
  )
  const open = await product.rows('select order_no from points_order_reward where claimed > 0 or shortfall > recovered')
  t.same(open, [], 'each refund got all points that it wanted')
  clock.shiftWallClock(366 * day)
  await product.points.expire()
  t.same(await brokenRules(product), [])
})
