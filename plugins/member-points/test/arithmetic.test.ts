/** Tests rules that need no database: consecutive days, points of orders, and points that refunds take back. */
import { createDayFormatter } from '@plinth/site'
import fc from 'fast-check'
import t from 'tap'
import { checkInPoints, checkInStreakOn, daysBetween, type LastCheckIn } from '../src/check-in/check-ins.ts'
import { orderPoints, pointsToReverse, splitReversal } from '../src/orders/order-rewards.ts'
import { findSettingProblem } from '../src/rules/rule-types.ts'

/** Day 3 of each cycle of 7 days adds 10 points, and day 7 adds 30. */
const rule = {
  points: 5,
  cycleDays: 7,
  bonuses: [
    { day: 3, points: 10 },
    { day: 7, points: 30 },
  ],
}

/** Checks in at these times. Returns the streak and points of each check-in, or `A` for a repeated one. */
function checkIns(zone: string, moments: readonly string[]) {
  const dayOf = createDayFormatter(() => zone)
  let last: LastCheckIn | undefined
  const responses: (string | readonly [streak: number, points: number])[] = []
  for (const moment of moments) {
    const day = dayOf(new Date(moment))
    const streak = checkInStreakOn(day, last)
    if (streak !== undefined) last = { day, streak }
    responses.push(streak === undefined ? 'A' : [streak, checkInPoints(rule, streak)])
  }
  return responses
}
const at = (...days: string[]) => days.map((day) => `${day}T02:00:00Z`)
const shanghai = 'Asia/Shanghai'

t.test('P-018 P-020 P-021 consecutive days in the calendar of the programme', async (t) => {
  for (const [name, zone, moments, expected] of [
    [
      'C1',
      shanghai,
      at('2026-01-30', '2026-01-31', '2026-02-01'),
      [
        [1, 5],
        [2, 5],
        [3, 15],
      ],
    ],
    [
      'C2 a leap year',
      shanghai,
      at('2024-02-28', '2024-02-29', '2024-03-01'),
      [
        [1, 5],
        [2, 5],
        [3, 15],
      ],
    ],
    [
      'C3',
      shanghai,
      at('2025-02-28', '2025-03-01'),
      [
        [1, 5],
        [2, 5],
      ],
    ],
    [
      'C4 one millisecond apart, two days',
      shanghai,
      ['2026-03-01T15:59:59.999Z', '2026-03-01T16:00:00.000Z'],
      [
        [1, 5],
        [2, 5],
      ],
    ],
    [
      'C5 a day of 23 hours',
      'America/New_York',
      ['2026-03-07T23:30:00-05:00', '2026-03-08T00:30:00-05:00', '2026-03-09T00:10:00-04:00'],
      [
        [1, 5],
        [2, 5],
        [3, 15],
      ],
    ],
    [
      'C6 a day of 25 hours, twice in it',
      'America/New_York',
      ['2026-11-01T00:30:00-04:00', '2026-11-01T23:30:00-05:00', '2026-11-02T00:30:00-05:00'],
      [[1, 5], 'A', [2, 5]],
    ],
    [
      'C8 eight days',
      shanghai,
      at(...Array.from({ length: 8 }, (_, day) => `2026-04-0${1 + day}`)),
      [
        [1, 5],
        [2, 5],
        [3, 15],
        [4, 5],
        [5, 5],
        [6, 5],
        [7, 35],
        [8, 5],
      ],
    ],
    [
      'C9 a day is missed',
      shanghai,
      at('2026-05-01', '2026-05-02', '2026-05-04'),
      [
        [1, 5],
        [2, 5],
        [1, 5],
      ],
    ],
    ['C10 twice', shanghai, ['2026-05-01T02:00:00.000Z', '2026-05-01T02:00:00.001Z'], [[1, 5], 'A']],
    [
      'C12 the turn of the year',
      shanghai,
      at('2026-12-31', '2027-01-01'),
      [
        [1, 5],
        [2, 5],
      ],
    ],
  ] as const) {
    t.same(checkIns(zone, moments), expected, name)
  }
  t.equal(
    checkInStreakOn('2026-05-01', { day: '2026-05-02', streak: 4 }),
    undefined,
    'C7 C11 a day that comes again gives nothing',
  )
})

const zones = [
  'UTC',
  shanghai,
  'America/New_York',
  'Europe/Berlin',
  'Pacific/Apia',
  'Asia/Kathmandu',
  'America/Sao_Paulo',
]

t.test('P-020 in every time zone: each day once, and a streak is as long as its days', async (t) => {
  const from = Date.UTC(2011, 0, 1)
  fc.assert(
    fc.property(
      fc.constantFrom(...zones),
      fc.integer({ min: 0, max: 20 * 365 }),
      fc.array(fc.integer({ min: 0, max: 60 * 3_600_000 }), { minLength: 1, maxLength: 60 }),
      (zone, start, gaps) => {
        const dayOf = createDayFormatter(() => zone)
        let moment = from + start * 86_400_000
        let last: LastCheckIn | undefined
        const days = new Set<string>()
        for (const gap of gaps) {
          const day = dayOf(new Date(moment))
          const streak = checkInStreakOn(day, last)
          if ((streak === undefined) !== days.has(day)) return false
          if (streak !== undefined) {
            const passed = last === undefined ? 0 : daysBetween(last.day, day)
            if (streak !== (passed === 1 ? (last?.streak ?? 0) + 1 : 1)) return false
            last = { day, streak }
            days.add(day)
          }
          moment += gap
        }
        return true
      },
    ),
  )
  t.equal(
    createDayFormatter(() => 'Pacific/Apia')(new Date('2011-12-30T10:00:00Z')),
    '2011-12-31',
    'a day that never was',
  )
})

/** Returns the points that each refund of one order takes back. */
function wantsOf(paid: number, granted: number, refunds: readonly number[]) {
  let [refunded, target] = [0, 0]
  return refunds.map((refund) => {
    refunded += refund
    const next = pointsToReverse({ paid, refunded, granted })
    const want = next - target
    target = next
    return want
  })
}

t.test('P-023 P-029 P-031 points of orders, and the points that refunds claim back', async (t) => {
  for (const [name, paid, rate, refunds, granted, wants] of [
    ['R1', 10_000, { points: 1, perAmount: 100 }, [3333, 3333, 3334], 100, [33, 33, 34]],
    ['R2', 9999, { points: 1, perAmount: 100 }, [3333, 3333, 3333], 99, [33, 33, 33]],
    ['R3', 999, { points: 1, perAmount: 100 }, [333, 333, 333], 9, [3, 3, 3]],
    ['R4 nothing is lost in small parts', 100, { points: 1, perAmount: 100 }, [33, 33, 34], 1, [0, 0, 1]],
    ['R5 all at once', 10_000, { points: 1, perAmount: 100 }, [10_000], 100, [100]],
    ['R6', 1, { points: 7, perAmount: 1 }, [1], 7, [7]],
    ['R12', 2900, { points: 1, perAmount: 300 }, [1000, 1000, 900], 9, [3, 3, 3]],
    ['M5', 99, { points: 1, perAmount: 100 }, [99], 0, [0]],
  ] as const) {
    t.equal(orderPoints(paid, rate), granted, name)
    t.same(wantsOf(paid, granted, refunds), wants, name)
  }
  t.equal(orderPoints(0, { points: 1, perAmount: 100 }), 0, 'P-025 no cash, no points')
  t.equal(
    orderPoints(Number.MAX_SAFE_INTEGER, { points: 1_000_000_000, perAmount: 1 }),
    1_000_000_000,
    'and no fortune',
  )
  t.equal(orderPoints(10_000, { points: 1, perAmount: 1, maxPoints: 70 }), 70)
  const large = { paid: Number.MAX_SAFE_INTEGER, refunded: Number.MAX_SAFE_INTEGER - 1, granted: 1_000_000_000 }
  t.equal(pointsToReverse(large), 999_999_999, 'exact beyond what a float can multiply')
})

const order = fc
  .record({ paid: fc.integer({ min: 1, max: 1_000_000 }), cuts: fc.array(fc.double({ min: 0, max: 1, noNaN: true })) })
  .map(({ paid, cuts }) => {
    const marks = [0, ...cuts.map((cut) => Math.floor(cut * paid)).sort((a, b) => a - b), paid]
    return { paid, parts: marks.slice(1).map((mark, index) => mark - (marks[index] ?? 0)) }
  })

t.test('P-029 P-031 I10 I13 refunds take back the granted points, in any parts and order', async (t) => {
  t.same(wantsOf(10, 7, [5, 5]), [3, 4])
  fc.assert(
    fc.property(
      order,
      fc.integer({ min: 0, max: 100_000 }),
      fc.array(fc.nat()),
      ({ paid, parts }, granted, shuffle) => {
        const wants = wantsOf(paid, granted, parts)
        let sum = 0
        for (const [index, want] of wants.entries()) {
          sum += want
          const refunded = parts.slice(0, index + 1).reduce((total, part) => total + part, 0)
          if (want < 0 || sum > granted || (refunded < paid && sum > (granted * refunded) / paid)) return false
        }
        const mixed = parts.map((part, index) => ({ part, by: shuffle[index] ?? 0 })).sort((a, b) => a.by - b.by)
        const other = wantsOf(
          paid,
          granted,
          mixed.map(({ part }) => part),
        )
        return sum === granted && other.reduce((total, want) => total + want, 0) === granted
      },
    ),
  )
})

t.test(
  'P-029 R7 R10 points that cannot be taken are a shortfall, and expired points are not taken twice',
  async (t) => {
    const spent = { granted: 100, expired: 0, held: 0 }
    t.same(splitReversal(50, 20, { ...spent, settled: 0 }, {}), { deducted: 20, claimed: 0, shortfall: 30, owed: 0 })
    t.same(splitReversal(50, 0, { ...spent, settled: 20 }, {}), { deducted: 0, claimed: 0, shortfall: 50, owed: 0 })
    const later = { recovery: 'future-grants' } as const
    t.same(splitReversal(50, 20, { ...spent, settled: 0 }, later), {
      deducted: 20,
      claimed: 0,
      shortfall: 30,
      owed: 30,
    })
    t.same(splitReversal(50, 0, { ...spent, settled: 50 }, later), { deducted: 0, claimed: 0, shortfall: 50, owed: 50 })
    const lapsed = { granted: 100, expired: 100, held: 0, settled: 0 }
    t.same(splitReversal(100, 500, lapsed, later), { deducted: 0, claimed: 0, shortfall: 100, owed: 0 })
    t.same(splitReversal(100, 500, lapsed, { recoverExpired: true }), {
      deducted: 100,
      claimed: 0,
      shortfall: 0,
      owed: 0,
    })
    t.same(splitReversal(50, 500, { granted: 100, expired: 40, held: 0, settled: 50 }, {}), {
      deducted: 10,
      claimed: 0,
      shortfall: 40,
      owed: 0,
    })
    const held = { ...spent, settled: 0, held: 70 }
    t.same(splitReversal(100, 20, held, {}), { deducted: 20, claimed: 70, shortfall: 10, owed: 0 })
    t.same(splitReversal(100, 20, held, later), { deducted: 20, claimed: 70, shortfall: 10, owed: 10 })
    t.same(splitReversal(50, 0, held, later), { deducted: 0, claimed: 50, shortfall: 0, owed: 0 })
    fc.assert(
      fc.property(
        fc.record({
          wanted: fc.nat(1000),
          spendable: fc.nat(1000),
          granted: fc.nat(1000),
          expired: fc.nat(1000),
          held: fc.nat(1000),
        }),
        fc.nat(1000),
        fc.boolean(),
        ({ wanted, spendable, granted, expired, held }, settled, recoverExpired) => {
          const order = { granted, expired: Math.min(granted, expired), settled, held }
          const split = splitReversal(wanted, spendable, order, { recoverExpired, recovery: 'future-grants' })
          return (
            split.deducted + split.claimed + split.shortfall === wanted &&
            split.claimed <= held &&
            split.deducted <= spendable &&
            split.deducted + split.claimed + split.owed + settled <= Math.max(granted, settled) &&
            split.owed <= split.shortfall
          )
        },
      ),
    )
  },
)

t.test('P-053 settings that the type of a rule does not know are rejected by name', async (t) => {
  const config = { points: 5 }
  t.equal(findSettingProblem('check-in', { ...rule }), undefined)
  t.same(findSettingProblem('check-in', {}), { field: 'config.points', rule: 'required' })
  t.same(findSettingProblem('task', { ...config, perAmount: 1 }), { field: 'config.perAmount', rule: 'not-allowed' })
  t.same(findSettingProblem('order', config), { field: 'config.perAmount', rule: 'required' })
  const twice = [
    { day: 2, points: 1 },
    { day: 2, points: 1 },
  ]
  t.same(findSettingProblem('check-in', { ...config, bonuses: twice }), {
    field: 'config.bonuses[1].day',
    rule: 'repeated',
  })
  const late = [{ day: 8, points: 1 }]
  t.same(findSettingProblem('check-in', { ...config, bonuses: late }), {
    field: 'config.bonuses[0].day',
    rule: 'beyond-cycle',
  })
})
