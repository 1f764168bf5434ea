/** Tests the clock of the database on hosts whose wall clock is wrong. */
import { database } from '@plinth/database'
import { assertKeyEffect, type KeyValues, manualClock, rejectsWith, startForTest } from '@plinth/dev/testing'
import { createShiftedClock, keepHostTime } from '@plinth/dev/testing/database'
import type { Clock } from '@plinth/kernel'
import { pino } from 'pino'
import type { Test } from 'tap'
import t from 'tap'
import { clockWarning } from '../src/time/database-clock.ts'
import { onEachDatabase, productOn, serverDialects, type TestDatabase } from './fixtures/databases.ts'

const hour = 3_600_000
const day = 24 * hour
const shifts = { hour, day: day + hour, month: 30 * day, year: 366 * day }

async function startWith(t: Test, db: TestDatabase, clock: Clock, config: KeyValues = {}) {
  const running = await startForTest({ ...productOn(db), config: { ...db.config, ...config } }, { clock })
  t.teardown(() => running.stop('test ended'))
  return { running, clock: running.service(database).clock, db: running.service(database) }
}

/**
 * True if a time of the database is close to the time of the host. The tolerance is large, because a loaded host is
 * slow.
 */
const isNow = (time: number) => Math.abs(time - Date.now()) < 20_000

onEachDatabase(
  t,
  'the time of the database server is used, whatever the wall clock of a host shows',
  async (t, db) => {
    for (const [name, shift] of Object.entries(shifts)) {
      for (const sign of [1, -1]) {
        const host = createShiftedClock()
        host.shiftMs = sign * shift
        const { running, clock } = await startWith(t, db, host)
        t.ok(isNow(clock.now()), `${name} ${sign}: now`)
        t.ok(isNow(clock.expiryNow()), `${name} ${sign}: expiry`)
        t.match(await clock.check(), { kind: sign > 0 ? 'ahead' : 'behind', remedy: 'correct' }, `${name} ${sign}`)
        host.shiftMs = 0
        t.equal(clock.problem, undefined, 'the problem ends when the clocks agree')
        await running.stop('done')
      }
    }
  },
  serverDialects,
)

onEachDatabase(
  t,
  'a jump of the wall clock while the product runs does not change the server time',
  async (t, db) => {
    const host = createShiftedClock()
    const { clock, db: service } = await startWith(t, db, host)
    t.equal(await clock.check(), undefined)
    const before = service.newId()
    for (const shift of [shifts.year, -shifts.year]) {
      host.shiftMs = shift
      t.ok(isNow(clock.now()), 'at once')
      t.ok(isNow((await clock.check()) === undefined ? 0 : clock.now()), 'after a measurement')
    }
    t.ok(service.newId() - before < 60_000 * 4096, 'ids follow the server too')
    await rejectsWith(t, clock.confirm(), { code: 'PLINTH_DATABASE_CLOCK_OF_SERVER' })
  },
  serverDialects,
)

t.test('a database in memory follows the clock of its process', async (t) => {
  const host = keepHostTime(manualClock())
  const config = { 'platform.database.type': 'sqlite', 'platform.database.sqlite.file': ':memory:' }
  const running = await startForTest({ ...productOn({ config }), config }, { clock: host })
  t.teardown(() => running.stop('test ended'))
  const { clock } = running.service(database)
  host.shiftWallClock(30 * day)
  t.same([clock.now(), clock.problem], [host.now(), undefined])
})

onEachDatabase(
  t,
  'SQLite logs each change of the state of its clock once',
  async (t, db) => {
    const host = keepHostTime(manualClock())
    const lines: { level: number; msg: string }[] = []
    const logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
    const running = await startForTest({ ...productOn(db), config: db.config }, { clock: host, logger })
    t.teardown(() => running.stop('test ended'))
    const { clock } = running.service(database)
    for (const shift of [hour, hour, -2 * hour]) {
      host.shiftWallClock(shift)
      clock.now()
      await clock.check()
      await host.advance(3 * 60_000)
    }
    const ofClock = lines.filter(({ msg }) => /clock/.test(msg)).map(({ level, msg }) => [level, msg])
    t.strictSame(ofClock, [
      [40, clockWarning({ kind: 'ahead', differenceMs: hour, remedy: 'confirm' })],
      [30, 'the clocks agree; irreversible tasks run again'],
    ])
  },
  ['sqlite'],
)

onEachDatabase(t, 'a difference is a problem above the tolerance', async (t, db) => {
  const [kinds] = await assertKeyEffect(t, 'platform.database.clock-tolerance', {
    compared: '10m',
    changed: '1m',
    observe: async (config) => {
      const host = createShiftedClock()
      const { running, clock } = await startWith(t, db, host, config)
      host.shiftMs = 300_000
      const problem = await clock.check()
      await running.stop('done')
      return problem?.kind ?? 'none'
    },
  })
  t.match(kinds, { before: 'none', after: 'ahead' })
})

onEachDatabase(
  t,
  'SQLite does not trust a time that it cannot verify until it is corrected',
  async (t, db) => {
    const host = keepHostTime(manualClock())
    const { clock } = await startWith(t, db, host)
    const start = host.now()
    t.equal(clock.problem, undefined, 'the first time is trusted')
    await host.advance(30 * hour)
    t.equal(clock.problem, undefined, 'the monotonic clock has advanced as far')
    t.equal(clock.now(), start + 30 * hour)

    for (const [kind, sign] of [['ahead', 1] as const, ['behind', -1] as const]) {
      for (const shift of Object.values(shifts)) {
        host.shiftWallClock(sign * shift)
        t.same(clock.problem, { kind, differenceMs: shift, remedy: 'confirm' }, 'a jump is noticed at once')
        t.same(await clock.check(), clock.problem)
        t.same([clock.now(), clock.expiryNow()], [start + 30 * hour, start + 30 * hour], 'the time does not jump')
        host.shiftWallClock(-sign * shift)
        t.equal(await clock.check(), undefined, 'it is trusted again when it is corrected')
      }
    }
  },
  ['sqlite'],
)

onEachDatabase(
  t,
  'SQLite stores its highest time over a restart, and an operator confirms a later one',
  async (t, db) => {
    const first = keepHostTime(manualClock())
    const one = await startWith(t, db, first)
    await first.advance(hour)
    await one.running.stop('done')
    const highest = first.now()

    const paused = await startWith(t, db, keepHostTime(manualClock(highest + 20 * hour)))
    t.equal(paused.clock.problem, undefined, 'a pause of less than a day is trusted')
    await paused.running.stop('done')

    const host = keepHostTime(manualClock(highest + 80 * hour))
    const later = await startWith(t, db, host)
    t.match(later.clock.problem, { kind: 'ahead', differenceMs: 60 * hour, remedy: 'confirm' })
    t.equal(later.clock.expiryNow(), highest + 20 * hour)
    await host.advance(hour)
    t.equal(later.clock.expiryNow(), highest + 21 * hour, 'the time goes on with the monotonic clock')

    const command = await startForTest(productOn(db), { clock: keepHostTime(manualClock(host.now())), roles: ['cli'] })
    t.equal(await command.service(database).clock.confirm(), host.now())
    await command.stop('done')
    t.equal(await later.clock.check(), undefined, 'the confirmation of another process counts')
    t.equal(later.clock.expiryNow(), host.now())
    await later.running.stop('done')

    const behind = keepHostTime(manualClock(highest))
    const early = await startWith(t, db, behind)
    t.match(early.clock.problem, { kind: 'behind', differenceMs: 81 * hour })
    await early.clock.confirm()
    t.equal(early.clock.problem, undefined)
    t.equal(early.clock.now(), highest, 'a confirmation may lower the stored time')
  },
  ['sqlite'],
)

onEachDatabase(t, 'in a test the database uses the injected clock', async (t, db) => {
  const injected = manualClock()
  const { clock } = await startWith(t, db, injected)
  for (const move of [() => injected.advance(400 * day), async () => injected.shiftWallClock(-900 * day)]) {
    await move()
    t.equal(clock.now(), injected.now())
    t.equal(clock.expiryNow(), injected.now())
    t.equal(await clock.check(), undefined)
  }
})
