/** Tests points on SQLite while the wall clock of the host is wrong. */

import { manualClock } from '@plinth/dev/testing'
import { keepHostTime, onSqlite } from '@plinth/dev/testing/database'
import { declaredTasks } from '@plinth/kernel/host'
import t, { type Test } from 'tap'
import { brokenRules } from './fixtures/invariants.ts'
import { type Points, reasonOf, startPoints } from './fixtures/product.ts'

const hour = 3_600_000
const userId = 1
const lotsPerEnd = 5

/** Starts a product with five sources of 100 points for each of these ends, in milliseconds from now. */
async function startWithLots(t: Test, at: Parameters<typeof startPoints>[1], ends: readonly number[]) {
  const host = keepHostTime(manualClock(Date.UTC(2026, 5, 1)))
  const product = await startPoints(t, at, { clock: host })
  const { ledger, ref, db } = product
  const startMs = host.now()
  for (const end of ends) {
    for (let one = 0; one < lotsPerEnd; one += 1) {
      const key = `${end} ${one}`
      const lots = { source: { id: db.newId(), type: 'test', key }, expiresAt: startMs + end }
      await ledger.credit({ ...ref(userId), amount: 100, key, kind: 'test.grant', lots })
    }
  }
  return { host, product, startMs }
}

/** Runs all irreversible tasks, also those that the scheduler holds back. */
async function destroy({ running }: Points) {
  const { signal } = new AbortController()
  for (const task of running.service(declaredTasks).scheduledTasks) if (task.irreversible) await task.run(signal)
}

onSqlite(t, 'steps of the clock of a host expire no points and release no holds', async (t, at) => {
  const ends = [hour / 2, 20 * hour, 40 * hour]
  const { host, product } = await startWithLots(t, at, ends)
  const { ledger, ref, balance, points } = product
  const held = { ...ref(userId), amount: 50, key: 'held', kind: 'test.hold', expiresAt: host.now() + hour / 2 }
  await ledger.hold(held)
  for (const step of [hour, 22 * hour, 23 * hour, -92 * hour]) {
    host.shiftWallClock(step)
    await host.advance(75_000)
    await destroy(product)
    t.same(await balance(userId), [1_450, 50], `step of ${step / hour} hours`)
  }
  host.shiftWallClock(46 * hour)
  t.equal(await product.db.clock.check(), undefined)
  t.equal(await reasonOf(points.spend({ userId, points: 1_450, key: 'all' })), 'done')
  t.same(await brokenRules(product), [])
})

onSqlite(t, 'points are spent, granted and dated right while the clock of a host is ahead', async (t, at) => {
  const { host, product, startMs } = await startWithLots(t, at, [20 * hour])
  const { rows } = product
  const grantedLot = async (key: string, { points }: Points = product) => {
    await points.rewardLottery(userId, key, 10)
    const [lot] = await rows('select expires_at from points_source order by id desc limit 1')
    return Number(lot?.['expires_at'])
  }
  const rightEnd = await grantedLot('before')
  host.shiftWallClock(366 * 24 * hour)
  await host.advance(1_000)
  // The second instance starts with the wrong clock.
  const started = await startPoints(t, at, { clock: keepHostTime(manualClock(startMs + 366 * 24 * hour)) })
  for (const [name, instance] of Object.entries({ running: product, started })) {
    for (let call = 0; call < 2; call++) {
      const payment = { userId, points: 100, key: `${name} ${call}` }
      t.equal(await reasonOf(instance.points.spend(payment)), 'done', payment.key)
    }
    const end = await grantedLot(name, instance)
    t.ok(Math.abs(end - rightEnd) <= 24 * hour, `${name}: the grant ends as one made before`)
  }
  const [journals] = await rows('select max(created_at) as latest from money_journal')
  t.ok(Number(journals?.['latest']) <= startMs + 1_000, 'no entry is dated in the future')
  t.same(await brokenRules(product), [])
})
