/**
 * Property tests of `UnchangedTaskWatch`, which decides from the row of a task when the task runs. Clocks and instances are
 * simulated.
 */
import { leaseTimeLimits } from '@plinth/coordination'
import { manualClock } from '@plinth/dev/testing'
import type { BoundScheduledTask } from '@plinth/kernel/host'
import fc from 'fast-check'
import t from 'tap'
import type { TaskRow } from '../src/entities.ts'
import { UnchangedTaskWatch } from '../src/task-dispatch.ts'

const delayMs = 60_000
const task = { name: 'probe', fixedDelayMs: () => delayMs, autoStartup: () => true } as BoundScheduledTask
const times = leaseTimeLimits(30_000)

const rowOf = (changes: Partial<TaskRow>): TaskRow => ({
  name: 'probe',
  paused: false,
  requested: false,
  holder: null,
  fence: 1,
  beat: 0,
  endedAt: null,
  runId: null,
  ...changes,
})

t.test(
  'A11 whatever happens to the wall clock, a run starts its delay after the observed end of the previous one',
  (t) => {
    const day = 86_400_000
    const step = fc.record({ advance: fc.integer({ min: 1, max: 20_000 }), shift: fc.integer({ min: -day, max: day }) })
    return fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 30 }),
        fc.integer({ min: 0, max: 1000 }),
        async (steps, pollMs) => {
          const clock = manualClock()
          const watch = new UnchangedTaskWatch(clock, times)
          const held = rowOf({ holder: 'other' })
          watch.judge(task, held, clock.monotonic())
          await clock.advance(pollMs)
          // The run ends between two polls. The end time was written by a host whose clock may be wrong by days.
          const endedAt = clock.monotonic()
          const row = rowOf({ beat: 1, endedAt: new Date(clock.now() + (steps[0]?.shift ?? 0)) })
          await clock.advance(pollMs)
          for (const { advance, shift } of steps) {
            clock.shiftWallClock(shift)
            const now = clock.monotonic()
            const standing = watch.judge(task, row, now)
            const sinceEnd = now - endedAt
            if (standing.action === 'run') t.ok(sinceEnd + pollMs >= delayMs, `not early: ${sinceEnd}`)
            else t.ok(sinceEnd - pollMs < delayMs, `not late: ${sinceEnd}`)
            if (standing.action === 'wait') t.ok(standing.ms > 0 && standing.ms <= delayMs)
            await clock.advance(advance)
          }
        },
      ),
      { numRuns: 200 },
    )
  },
)

t.test('A11 a lease is taken over after it was unchanged for its time, and not before its owner gives up', (t) => {
  const events = fc.array(fc.record({ wait: fc.integer({ min: 1, max: 25_000 }), beats: fc.boolean() }), {
    minLength: 1,
    maxLength: 40,
  })
  return fc.assert(
    fc.asyncProperty(events, fc.integer({ min: 1, max: times.maxPollMs }), async (waits, pollMs) => {
      const clock = manualClock()
      const watch = new UnchangedTaskWatch(clock, times)
      let row = rowOf({ holder: 'other' })
      let lastBeat = clock.monotonic()
      let nextEvent = 0
      let eventAt = waits[0]?.wait ?? 0
      for (let look = 0; look < 60; look++) {
        const standing = watch.judge(task, row, clock.monotonic())
        const silent = clock.monotonic() - lastBeat
        if (standing.action === 'take-away') {
          t.ok(silent >= times.lapseMs && silent > times.giveUpMs + times.beatMs, `after ${silent} ms of silence`)
          t.ok(silent <= 30_000 * 0.8, 'in time for the rest of the work')
          return
        }
        t.equal(standing.action, 'wait')
        if (standing.action === 'wait') await clock.advance(Math.min(pollMs, standing.ms))
        if (clock.monotonic() >= eventAt) {
          if (waits[nextEvent]?.beats) {
            row = { ...row, beat: row.beat + 1 }
            lastBeat = clock.monotonic()
          }
          eventAt += waits[++nextEvent]?.wait ?? Number.POSITIVE_INFINITY
        }
      }
    }),
    { numRuns: 200 },
  )
})

t.test('A11 the parts of a lease leave time for the signal, for noticing and for the work', async (t) => {
  for (const leaseMs of [1000, 30_000, 3_600_000]) {
    const { beatMs, giveUpMs, lapseMs, maxPollMs } = leaseTimeLimits(leaseMs)
    t.ok(2 * beatMs < giveUpMs, 'one sign of life may fail')
    t.ok(lapseMs - giveUpMs >= 0.2 * leaseMs - 1)
    t.ok(lapseMs + maxPollMs <= 0.8 * leaseMs + 1)
  }
})
