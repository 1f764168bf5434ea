/** Tests sources of points: the order of spending, the expiry, and that no point is lost or added. */

import { assertMembers, manualClock } from '@plinth/dev/testing'
import { onDatabase, onEachDatabase } from '@plinth/dev/testing/database'
import { declaredTasks } from '@plinth/kernel/host'
import { scheduler } from '@plinth/scheduler'
import fc from 'fast-check'
import t from 'tap'
import { granter, grantMany, june, never } from './fixtures/grants.ts'
import { brokenRules } from './fixtures/invariants.ts'
import { asset, day, type Points, reasonOf, startPoints } from './fixtures/product.ts'

const spender =
  ({ points }: Pick<Points, 'points'>) =>
  (userId: number, amount: number, key: string) =>
    points.spend({ userId, points: amount, key })

onEachDatabase(t, 'P-038 P-039 P-043 sources in the order of their expiry', async (t, at) => {
  const clock = manualClock(june(1))
  const product = await startPoints(t, at, { clock })
  const { points, ledger, ref, rows, balance } = product
  const [grant, spend] = [granter(product), spender(product)]
  const lots = (userId: number) =>
    rows(
      `select source_id, remaining, held, consumed, expired, status from points_source where user_id = ${userId} order by source_id`,
    )
  const remaining = async (userId: number) => (await lots(userId)).map((lot) => lot['remaining'])
  const batches = () => rows('select scanned, expired, points, refused, status from points_expire_batch order by id')
  t.afterEach(async () => t.same(await brokenRules(product), []))

  await t.test('X1 P-043 the earliest expiry first, then the oldest, and points that never expire last', async (t) => {
    await grant(1, 'a', 30, june(10))
    await grant(1, 'b', 50, june(5))
    await grant(1, 'c', 20, never)
    await spend(1, 60, 'x1')
    t.same(await remaining(1), [20, 0, 20])
    clock.shiftWallClock(9 * day)
    await points.expire()
    t.same(await remaining(1), [0, 0, 20])
    t.same((await batches()).at(-1), { scanned: 1, expired: 1, points: 20, refused: 0, status: 'completed' })
    t.same(await balance(1), [20, 0])
    await grant(1, 'd', 5, never)
    await spend(1, 21, 'x1 again')
    t.same(await remaining(1), [0, 0, 0, 4], 'of two that never lapse the older one')
  })

  await t.test('X2 P-040 points expire at the exact millisecond, and once', async (t) => {
    const due = clock.now() + 10_000
    await grant(2, 'a', 100, due)
    clock.shiftWallClock(9_999)
    await spend(2, 99, 'x2')
    clock.shiftWallClock(1)
    await points.expire()
    await points.expire()
    t.same(
      (await batches()).slice(-2).map(({ points }) => points),
      [1, 0],
    )
    t.same(await balance(2), [0, 0])
    t.equal(await reasonOf(spend(2, 1, 'x2 late')), '409 money.balance-insufficient')
  })

  await t.test('X3 expired points that no scan has processed cannot be spent', async (t) => {
    await grant(3, 'a', 40, clock.now() + 1000)
    await grant(3, 'b', 10, never)
    clock.shiftWallClock(1000)
    const direct = ledger.debit({ ...ref(3), amount: 11, key: 'x3 direct', kind: 'test.spend' })
    t.equal(
      await reasonOf(direct),
      '409 member-points.points-lapsed',
      'also by a posting that knows nothing of sources',
    )
    t.same(await balance(3), [50, 0], 'a refused posting leaves nothing')
    t.equal(await reasonOf(spend(3, 11, 'x3')), '409 money.balance-insufficient')
    t.same(await balance(3), [10, 0], 'it lapsed with the first that wanted to spend it')
    t.match(await spend(3, 10, 'x3 all'), { available: 0, replayed: false })
  })

  await t.test('X4 points on hold do not expire', async (t) => {
    await grant(4, 'a', 100, clock.now() + 1000)
    const { holdId } = await ledger.hold({ ...ref(4), amount: 70, key: 'x4 hold', kind: 'test.hold' })
    t.same(await balance(4), [30, 70])
    clock.shiftWallClock(1000)
    await points.expire()
    t.same((await batches()).at(-1)?.['points'], 30)
    t.same(await balance(4), [0, 70])
    await ledger.capture({ holdId, key: 'x4 capture', kind: 'test.capture' })
    t.same(await balance(4), [0, 0])
    assertMembers(t, await lots(4), [{ remaining: 0, held: 0, consumed: 70, expired: 30, status: 'exhausted' }])
  })

  await t.test('X5 points that a hold returns after their expiry expire then, with a separate key', async (t) => {
    await grant(5, 'a', 100, clock.now() + 1000)
    await grant(5, 'b', 50, never)
    const { holdId } = await ledger.hold({ ...ref(5), amount: 110, key: 'x5 hold', kind: 'test.hold' })
    const other = await ledger.hold({ ...ref(5), amount: 30, key: 'x5 other', kind: 'test.hold' })
    await ledger.capture({ holdId: other.holdId, amount: 20, key: 'x5 part', kind: 'test.capture' })
    t.same(await balance(5), [20, 110])
    clock.shiftWallClock(1000)
    await points.expire()
    t.same(await balance(5), [20, 110], 'all that would have lapsed is held')
    await ledger.capture({ holdId, amount: 40, key: 'x5 capture', kind: 'test.capture' })
    t.same(await balance(5), [90, 0])
    await points.expire()
    t.same(await balance(5), [30, 0])
    assertMembers(t, await lots(5), [
      { consumed: 40, expired: 60, status: 'expired' },
      { consumed: 20, remaining: 30, status: 'active' },
    ])
  })

  await t.test('a hold that was released after a part of it expired expires again', async (t) => {
    await grant(6, 'a', 100, clock.now() + 1000)
    const held = await ledger.hold({ ...ref(6), amount: 60, key: 'six hold', kind: 'test.hold' })
    clock.shiftWallClock(1000)
    await points.expire()
    await ledger.release({ holdId: held.holdId, key: 'six release' })
    t.same(await balance(6), [60, 0])
    await points.expire()
    t.same(await balance(6), [0, 0])
    const keys = await rows(`select idem_key from money_journal where kind = 'points.expire' order by id desc limit 2`)
    assertMembers(t, keys, [{ idem_key: /^member-points:expire:\d+:40$/ }, { idem_key: /^member-points:expire:\d+$/ }])
  })

  await t.test('P-004 a grant that the ledger posts itself has a source and a default expiry', async (t) => {
    await ledger.credit({ ...ref(7), amount: 12, key: 'direct', kind: 'test.grant' })
    const [lot] = await rows('select source_type, expires_at from points_source where user_id = 7')
    t.same(lot, { source_type: 'ledger', expires_at: clock.now() + 365 * day })
  })

  await t.test('I14 a spend uses only active sources, in the order of their expiry', async (t) => {
    let run = 0
    const command = fc.oneof(
      fc.record({ what: fc.constant('grant' as const), amount: fc.integer({ min: 1, max: 30 }), lasts: fc.nat(4) }),
      fc.record({ what: fc.constant('wait' as const), amount: fc.integer({ min: 1, max: 3 }), lasts: fc.constant(0) }),
      fc.record({
        what: fc.constant('spend' as const),
        amount: fc.integer({ min: 1, max: 70 }),
        lasts: fc.constant(0),
      }),
    )
    const property = fc.asyncProperty(fc.array(command, { minLength: 8, maxLength: 16 }), async (commands) => {
      const userId = 1000 + ++run
      const live: { id: number; left: number; expiresAt: number }[] = []
      for (const [index, { what, amount, lasts }] of commands.entries()) {
        if (what === 'wait') clock.shiftWallClock(amount * 10)
        if (what === 'grant') {
          // Several sources expire at the same time, and some never expire.
          const expiresAt = lasts === 4 ? never : clock.now() + 10 * (1 + lasts)
          live.push({ id: await grant(userId, `i14 ${index}`, amount, expiresAt), left: amount, expiresAt })
        }
        if (what !== 'spend') continue
        const free = live.filter(({ left, expiresAt }) => left > 0 && expiresAt > clock.now())
        free.sort((a, b) => a.expiresAt - b.expiresAt || a.id - b.id)
        const key = `i14 ${userId} ${index}`
        const outcome = await spend(userId, amount, key).catch((error: { reason?: string }) => error.reason)
        const expected: [number, number][] = []
        if (free.reduce((sum, { left }) => sum + left, 0) >= amount) {
          let requested = amount
          for (const lot of free) {
            const taken = Math.min(lot.left, requested)
            if (taken > 0) expected.push([lot.id, taken])
            lot.left -= taken
            requested -= taken
          }
        } else if (outcome !== 'money.balance-insufficient') throw new Error(`a spend beyond what lives: ${outcome}`)
        const uses = await rows(
          `select u.source_id, u.amount from points_source_use u join money_journal j on j.id = u.journal_id
           where j.idem_key = ? order by u.source_id`,
          [key],
        )
        const taken = uses.map(({ source_id, amount }) => [source_id, amount])
        if (JSON.stringify(taken) !== JSON.stringify(expected.sort(([a], [b]) => a - b))) {
          throw new Error(`taken ${JSON.stringify(taken)}, not ${JSON.stringify(expected)}`)
        }
      }
    })
    await fc.assert(property, { numRuns: 12 })
    t.ok(run >= 12)
  })

  await t.test('a spend from hundreds of sources needs few statements', async (t) => {
    for (const [index, count] of [1, 10, 100, 700].entries()) {
      const userId = 80 + index
      await grantMany(product, `many ${count}`, [userId], count, clock.now() + 1000)
      const statements = await countStatements(product, () => spend(userId, count, `many ${count}`))
      t.ok(statements <= 10 + Math.ceil(count / 500) * 3, `${count} sources: ${statements} statements`)
      t.same(await balance(userId), [1, 0])
    }
  })
})

onDatabase(
  t,
  'P-042 points of a rule without an expiry never expire, whatever the default expiry is',
  async (t, at) => {
    const clock = manualClock(june(1))
    const product = await startPoints(t, at, { clock })
    const admin = await product.administrator()
    const ada = await product.member('ada')
    const rule = { code: 'check-in', type: 'check-in', config: { points: 9, expiresInDays: null }, version: 1 }
    t.equal((await admin.call('POST', 'admin/member-points/rules', rule)).code, '200')
    clock.shiftWallClock(1)
    t.equal((await ada.call('POST', 'member-points/users/me/check-in')).code, '200')
    await product.points.rewardLottery(ada.id, 'usual', 20)
    t.same(await product.rows('select source_type, expires_at from points_source order by id'), [
      { source_type: 'check-in', expires_at: never },
      { source_type: 'marketing-lottery', expires_at: clock.now() + 365 * day },
    ])
  },
)

onDatabase(t, 'P-038 a requested scan pauses when its time is over', async (t, at) => {
  const clock = manualClock(june(1))
  const product = await startPoints(t, at, { clock })
  await grantMany(product, 'budget', [1], 700, june(2))
  clock.shiftWallClock(2 * day)
  const admin = await product.administrator()
  const query = product.db.query.bind(product.db)
  const monotonic = clock.monotonic.bind(clock)
  let passedMs = 0
  // Each page of sources is made to take the maximum time of a request.
  Object.assign(clock, { monotonic: () => monotonic() + passedMs })
  Object.defineProperty(product.db, 'query', {
    configurable: true,
    value: (sql: string, ...more: never[]) => {
      if (sql.includes('from points_source') && sql.includes('order by expires_at, id')) passedMs += 10_000
      return query(sql, ...more)
    },
  })
  const { data } = await admin.call('POST', 'admin/member-points/expire-batches/run', {})
  t.same([data.status, data.scanned], ['running', 500])
})

/** Counts the statements that the work sends through the database service. */
async function countStatements({ db }: Pick<Points, 'db'>, work: () => Promise<unknown>): Promise<number> {
  let count = 0
  const owner = db as unknown as Record<string, (...all: never[]) => unknown>
  const counted =
    (run: (...all: never[]) => unknown) =>
    (...all: never[]) => {
      count++
      return run(...all)
    }
  const names = ['query', 'execute'] as const
  const before = names.map((name) => owner[name])
  for (const name of names) {
    const run = (owner[name] as (...all: never[]) => unknown).bind(db)
    Object.defineProperty(owner, name, { configurable: true, value: counted(run) })
  }
  try {
    await work()
  } finally {
    for (const [index, name] of names.entries()) {
      Object.defineProperty(owner, name, { configurable: true, value: before[index] })
    }
  }
  return count
}

onEachDatabase(t, 'P-038 P-040 P-041 scans of many accounts, interrupted and concurrent', async (t, at) => {
  const clock = manualClock(june(1))
  const product = await startPoints(t, at, { clock })
  const second = await startPoints(t, at, { clock })
  const { points, rows, balance, ledger, ref, db } = product
  const [grant, spend, spendThere] = [granter(product), spender(product), spender(second)]
  t.afterEach(async () => t.same(await brokenRules(product), []))
  const total = async (column: string) =>
    Number((await rows(`select sum(${column}) as total from points_source`))[0]?.['total'] ?? 0)

  await t.test('X6 a scan and fifty spends at the same time, on two instances', async (t) => {
    const due = clock.now() + 1000
    await grantMany(product, 'x6', [1], 500, due)
    clock.shiftWallClock(999)
    const early = Array.from({ length: 25 }, (_, index) =>
      reasonOf((index % 2 ? spend : spendThere)(1, 10, `early ${index}`)),
    )
    const outcomes = await Promise.all(early)
    clock.shiftWallClock(1)
    const [, late] = await Promise.all([
      Promise.all([points.expire(), second.points.expire()]),
      Promise.all(
        Array.from({ length: 25 }, (_, index) => reasonOf((index % 2 ? spend : spendThere)(1, 10, `late ${index}`))),
      ),
    ])
    t.same(new Set(outcomes), new Set(['done']))
    t.same(new Set(late), new Set(['409 money.balance-insufficient']), 'all at the moment of expiry are refused')
    t.same([await total('consumed'), await total('expired')], [250, 250])
    t.same(await balance(1), [1, 0], 'but for the one that never lapses')
  })

  await t.test('X8 two concurrent runs: one does the scan, and the totals are the same', async (t) => {
    const before = await total('expired')
    const recorded = async () =>
      (await rows('select sum(points) as points, sum(expired) as sources from points_expire_batch'))[0]
    const { points: pointsBefore, sources: sourcesBefore } = (await recorded()) as Record<string, number>
    const users = Array.from({ length: 15 }, (_, index) => 100 + index)
    await grantMany(product, 'x8', users, 700, clock.now() + 1)
    clock.shiftWallClock(1)
    await Promise.all([points.expire(), second.points.expire(), points.expire(), second.points.expire()])
    await points.expire()
    t.equal((await total('expired')) - before, 700)
    const { points: pointsAfter, sources: sourcesAfter } = (await recorded()) as Record<string, number>
    const differences = [Number(pointsAfter) - Number(pointsBefore), Number(sourcesAfter) - Number(sourcesBefore)]
    t.same(differences, [700, 700], 'the records of the scans say the same')
    t.same(await rows(`select id from points_expire_batch where status <> 'completed'`), [])
  })

  await t.test('I12 spends, holds, releases and scans in any order, on two instances', async (t) => {
    let run = 0
    const command = fc.record({
      what: fc.constantFrom('grant', 'spend', 'hold', 'end', 'scan', 'wait'),
      user: fc.integer({ min: 0, max: 2 }),
      amount: fc.integer({ min: 1, max: 40 }),
      there: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(command, { minLength: 10, maxLength: 40 }), async (commands) => {
        run++
        const base = 100_000 * run
        const holds: number[] = []
        const work = commands.map(({ what, user, amount, there }, index) => async () => {
          const [userId, key] = [base + user, `${run} ${index}`]
          if (what === 'grant') await grant(userId, key, amount, clock.now() + amount * 10)
          else if (what === 'spend') await (there ? spendThere : spend)(userId, amount, key)
          else if (what === 'hold') {
            holds.push((await ledger.hold({ ...ref(userId), amount, key, kind: 'test.hold' })).holdId)
          } else if (what === 'end') {
            const holdId = holds.pop()
            if (holdId !== undefined && there) await ledger.release({ holdId, key })
            else if (holdId !== undefined) await ledger.capture({ holdId, amount: 1, key, kind: 'test.capture' })
          } else if (what === 'scan') await (there ? second : product).points.expire()
          else clock.shiftWallClock(50)
        })
        for (let from = 0; from < work.length; from += 6) {
          await Promise.all(work.slice(from, from + 6).map((one) => reasonOf(one())))
        }
        const broken = await brokenRules(product)
        if (broken.length > 0) throw new Error(broken.join('\n'))
      }),
      { numRuns: 4 },
    )
    t.ok(run >= 4)
  })

  await t.test('points by day: each entry counts once, whatever order is used', async (t) => {
    const counted = () => rows('select day, granted, consumed, reversed, expired from points_day order by day')
    const other = await grant(7, 'another day', 11, clock.now() + day)
    t.ok(other)
    await points.countDays()
    t.same(await counted(), [], 'what was written a moment ago may have company that commits later')
    clock.shiftWallClock(601_000)
    await Promise.all([points.countDays(), second.points.countDays(), points.countDays(), second.points.countDays()])
    await points.countDays()
    const moved = async (what: string) =>
      Number(
        (
          await rows(
            `select sum(abs(d_available + d_frozen)) as n from money_entry where asset is not null and ${what}`,
          )
        )[0]?.['n'],
      )
    const sums = (column: string) => counted().then((days) => days.reduce((sum, one) => sum + Number(one[column]), 0))
    t.equal(await sums('granted'), await moved('d_available + d_frozen > 0'))
    t.equal(await sums('expired'), await moved(`kind = 'points.expire'`))
    t.equal(await sums('consumed'), await moved(`d_available + d_frozen < 0 and kind <> 'points.expire'`))
    t.ok((await sums('consumed')) > 0 && (await sums('expired')) > 0)
    t.same(await rows('select asset from points_day_position'), [{ asset }])
    const before = await counted()
    clock.shiftWallClock(day)
    const today = new Date(clock.now()).toISOString().slice(0, 10)
    await grant(7, 'the next day', 13, never)
    await grant(7, 'and once more', 4, never)
    await spend(7, 2, 'the next day')
    clock.shiftWallClock(601_000)
    await second.points.countDays()
    const lapsed = before.some(({ expired }) => Number(expired) > 0)
    t.ok(lapsed)
    t.match((await counted()).at(-1), { day: today, granted: 17, consumed: 2, reversed: 0 })
    t.same((await counted()).slice(0, before.length), before, 'earlier days stay')
  })

  await t.test('records of scans are removed after their retention, except one that is not finished', async (t) => {
    const purge = product.running
      .service(declaredTasks)
      .scheduledTasks.find(({ name }) => name === 'member-points.purge')
    const signal = new AbortController().signal
    const records = async () => (await rows('select status from points_expire_batch')).map(({ status }) => status)
    await db.execute(
      `update points_expire_batch set status = 'running', open_asset = asset where id = (select id from (select max(id) as id from points_expire_batch) last)`,
    )
    const all = await records()
    t.ok(all.length > 2)
    clock.shiftWallClock(398 * day)
    await purge?.run(signal)
    t.same(await records(), all)
    clock.shiftWallClock(3 * day)
    await purge?.run(signal)
    t.same(await records(), ['running'])
  })
})

onEachDatabase(t, 'P-041 an account that the ledger rejects does not prevent others from expiring', async (t, at) => {
  const clock = manualClock(june(1))
  const product = await startPoints(t, at, { clock })
  const { rows, ledger, ref, points, balance } = product
  const grant = granter(product)
  for (const userId of [1, 2, 3]) await grant(userId, 'a', 10, june(2))
  const closed = await ledger.find(ref(2))
  await ledger.setStatus(closed?.id ?? 0, 'closed')
  clock.shiftWallClock(day)
  await points.expire()
  t.same(await rows('select expired, refused, points from points_expire_batch'), [
    { expired: 2, refused: 1, points: 20 },
  ])
  t.same(
    [await balance(1), await balance(2), await balance(3)],
    [
      [0, 0],
      [10, 0],
      [0, 0],
    ],
  )
})

onDatabase(t, 'P-041 a source whose key another posting has used does not stop a scan', async (t, at) => {
  const clock = manualClock(june(1))
  const product = await startPoints(t, at, { clock })
  const { rows, ledger, ref, points, balance } = product
  const grant = granter(product)
  await grant(1, 'a', 10, june(2))
  const blocked = await grant(2, 'a', 10, june(2))
  await grant(3, 'a', 10, june(2))
  await ledger.credit({ ...ref(4), amount: 1, key: `member-points:expire:${blocked}`, kind: 'test.grant' })
  clock.shiftWallClock(day)
  await points.expire()
  t.same(await rows('select status, expired, refused, points from points_expire_batch'), [
    { status: 'completed', expired: 2, refused: 1, points: 20 },
  ])
  t.same([await balance(1), await balance(3)], Array(2).fill([0, 0]))
})

onDatabase(t, 'P-044 P-045 the scheduled scan', async (t, at) => {
  const clock = manualClock(june(1))
  const renamed = await startPoints(t, at, {
    clock,
    config: { 'platform.member-points.expire.task-name': 'member-points.nightly' },
  })
  const tasks = renamed.running.service(scheduler)
  t.match(await tasks.get('member-points.nightly'), { plugin: 'member-points', autoStartup: false, nextRunAt: null })
  t.equal(await reasonOf(tasks.get('member-points.expire')), '404 scheduler.task-unknown')
  await granter(renamed)(1, 'a', 10, june(2))
  clock.shiftWallClock(2 * day)
  await clock.advance(5_000)
  t.same(await renamed.rows('select id from points_expire_batch'), [], 'switched off, nothing runs by itself')

  const usual = await startPoints(t, at, { clock, config: { 'platform.member-points.expire.auto-startup': true } })
  t.match(await usual.running.service(scheduler).get('member-points.expire'), { autoStartup: true })
})
