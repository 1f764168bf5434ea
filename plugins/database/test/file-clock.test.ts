/** Tests the clock of SQLite with injected wall clocks and monotonic clocks. */
import assert from 'node:assert/strict'
import { type ManualClock, manualClock } from '@plinth/dev/testing'
import fc from 'fast-check'
import t from 'tap'
import { FileClock, type StoredTime } from '../src/time/file-clock.ts'

const minute = 60_000
const hour = 60 * minute
const year = 366 * 24 * hour
const toleranceMs = 30_000
const startMs = Date.UTC(2026, 0, 1)

/** The row of the table `database_clock`, with the conditions of its statements. */
function memoryStore() {
  let row: StoredTime | undefined
  return {
    load: async () => row,
    raise: async (time: StoredTime) => {
      if (row === undefined || (row.confirmations === time.confirmations && row.decidedAt < time.decidedAt)) row = time
    },
    confirm: async (decidedAt: number) => {
      row = { decidedAt, confirmations: (row?.confirmations ?? 0) + 1 }
    },
  }
}
type Store = ReturnType<typeof memoryStore>

async function start(store: Store, host: ManualClock, isCommand = false) {
  const clock = new FileClock({ clock: host, store, toleranceMs, isCommand })
  await clock.check()
  return clock
}

t.test('whatever the wall clocks of two instances do, time passes as the monotonic clock does', async () => {
  const shift = fc.oneof(
    fc.integer({ min: -2 * toleranceMs, max: 2 * toleranceMs }),
    fc.constantFrom(0, hour, 23 * hour, 24 * hour, 46 * hour, year, -hour, -year),
  )
  const action = fc.record({
    instance: fc.nat(1),
    /** Difference of the wall clock from the right time; undefined if it does not change. */
    shift: fc.option(shift, { nil: undefined }),
    advance: fc.constantFrom(0, 1_000, minute, 75_000, 5 * hour),
    isChecked: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 1, maxLength: 30 }), async (actions) => {
      const store = memoryStore()
      const hosts = [manualClock(startMs), manualClock(startMs)] as const
      const clocks = [await start(store, hosts[0]), await start(store, hosts[1])] as const
      const shifts = [0, 0]
      let right = startMs
      for (const { instance, shift, advance, isChecked } of actions) {
        const before = shifts[instance] ?? 0
        shifts[instance] = shift ?? before
        hosts[instance]?.shiftWallClock((shift ?? before) - before)
        for (const host of hosts) await host.advance(advance)
        right += advance
        if (isChecked) await clocks[instance]?.check()
        for (const [index, clock] of clocks.entries()) {
          const ms = shifts[index] ?? 0
          const kind = ms > toleranceMs ? 'ahead' : ms < -toleranceMs ? 'behind' : undefined
          const time = kind === undefined ? right + ms : right
          assert.deepEqual([clock.now(), clock.expiryNow(), clock.problem?.kind], [time, time, kind])
        }
        assert.ok(((await store.load())?.decidedAt ?? 0) <= right, 'no instance stores a later time')
      }
    }),
    { numRuns: 200 },
  )
})

t.test('only a start trusts a pause, and a command stores no time', async (t) => {
  const store = memoryStore()
  await start(store, manualClock(startMs))
  const hostAt = (ms: number) => manualClock(startMs + ms)
  t.match((await start(store, hostAt(24 * hour + 1))).problem, { kind: 'ahead', differenceMs: 24 * hour + 1 })
  t.match((await start(store, hostAt(hour), true)).problem, { kind: 'ahead', differenceMs: hour })
  t.equal((await store.load())?.decidedAt, startMs)

  const host = hostAt(24 * hour)
  const started = await start(store, host)
  t.equal(started.problem, undefined)
  t.equal((await store.load())?.decidedAt, startMs + 24 * hour)
  host.shiftWallClock(24 * hour)
  t.match(await started.check(), { kind: 'ahead', differenceMs: 24 * hour }, 'a step adds nothing to the pause')
})

t.test('after a suspend, one confirmation serves all instances', async (t) => {
  const store = memoryStore()
  const hosts = [manualClock(startMs), manualClock(startMs)] as const
  const [one, other] = [await start(store, hosts[0]), await start(store, hosts[1])]
  // The monotonic clock stands still while the machine is suspended.
  for (const host of hosts) host.shiftWallClock(8 * hour)
  t.strictSame([(await one.check())?.kind, (await other.check())?.kind], ['ahead', 'ahead'])
  t.equal(one.now(), startMs)
  t.equal(await one.confirm(), startMs + 8 * hour)
  for (const host of hosts) await host.advance(minute)
  t.same([await one.check(), await other.check()], [undefined, undefined])
  t.same([one.now(), other.now()], [hosts[0].now(), hosts[1].now()])
})

t.test('each change of the state is reported at once', async (t) => {
  const host = manualClock(startMs)
  const clock = await start(memoryStore(), host)
  const states: string[] = []
  clock.onChange((problem) => states.push(problem?.kind ?? 'agrees'))
  for (const shift of [hour, 0, 22 * hour, -23 * hour, -2 * hour, 2 * hour]) {
    host.shiftWallClock(shift)
    clock.now()
  }
  t.same(states, ['ahead', 'agrees', 'behind', 'agrees'])
})
