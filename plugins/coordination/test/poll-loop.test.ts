import { PollLoop } from '@plinth/coordination'
import { manualClock } from '@plinth/dev/testing'
import { omitUndefined } from '@plinth/kernel'
import fc from 'fast-check'
import pino from 'pino'
import t from 'tap'

const log = pino({ level: 'silent' })

function startLoop(look: () => Promise<number>, idleMs?: number) {
  const clock = manualClock()
  const looks: number[] = []
  const loop = new PollLoop(
    omitUndefined({
      look: () => {
        looks.push(clock.monotonic())
        return look()
      },
      pollMs: () => 1000,
      idleMs: idleMs === undefined ? undefined : () => idleMs,
      subject: 'things',
      clock,
      log,
    }),
  )
  loop.start()
  return { clock, looks, loop }
}

t.test('without events the pauses double up to the idle pause, and begin again after a wake-up', async (t) => {
  const { clock, looks, loop } = startLoop(async () => Number.POSITIVE_INFINITY, 5000)
  await clock.advance(20_000)
  t.same(looks, [0, 1000, 3000, 7000, 12_000, 17_000])
  loop.wake()
  await clock.advance(4000)
  t.same(looks.slice(6), [20_000, 21_000, 23_000])
  await loop.stop()
  await clock.advance(60_000)
  t.equal(looks.length, 9, 'a loop that was stopped looks no more')
  t.equal(clock.sleepers, 0)
})

t.test('without an idle pause the loop polls once per interval', async (t) => {
  const { clock, looks, loop } = startLoop(async () => Number.POSITIVE_INFINITY)
  await clock.advance(5000)
  t.same(looks, [0, 1000, 2000, 3000, 4000, 5000])
  await loop.stop()
})

t.test(
  'the loop never polls later than the due time or the idle pause, and never more often than the interval allows',
  async (t) => {
    const response = fc.oneof(
      fc.constant(Number.POSITIVE_INFINITY),
      fc.integer({ min: 1, max: 20_000 }),
      fc.constant('fails' as const),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(response, { minLength: 1, maxLength: 40 }), async (responses) => {
        let next = 0
        const { clock, looks, loop } = startLoop(async () => {
          const reported = responses[next++] ?? Number.POSITIVE_INFINITY
          if (reported === 'fails') throw new Error('no answer')
          return reported
        }, 5000)
        await clock.advance(60_000)
        await loop.stop()
        for (const [index, reported] of responses.entries()) {
          const [at, then] = [looks[index], looks[index + 1]]
          if (at === undefined || then === undefined) return
          const pause = then - at
          if (reported === 'fails') t.equal(pause, 1000, 'tries again')
          else
            t.ok(pause <= Math.min(reported, 5000) && pause >= Math.min(reported, 1000), `${pause} after ${reported}`)
        }
      }),
      { numRuns: 100 },
    )
  },
)

t.test('a wake-up during a poll is not lost', async (t) => {
  let finish = () => {}
  const { clock, looks, loop } = startLoop(
    () =>
      new Promise((resolve) => {
        finish = () => resolve(Number.POSITIVE_INFINITY)
      }),
    5000,
  )
  await clock.advance(0)
  loop.wake()
  finish()
  await clock.advance(0)
  t.equal(looks.length, 2)
  finish()
  await loop.stop()
})
