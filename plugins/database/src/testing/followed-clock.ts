import { type Clock, definePlugin, type Plugin, systemClock } from '@plinth/kernel'
import { addToTests } from '@plinth/kernel/testing'
import { followedClock } from '../time/database-clock.ts'

const hostClocks = new WeakSet<Clock>()

/**
 * Marks the clock of a test as the clock of a host. The database then has a separate time: a server its real one,
 * SQLite its stored one. For tests with different clocks. Without it, the time of the database follows the injected
 * clock of the test.
 */
export function hostClock<C extends Clock>(clock: C): C {
  hostClocks.add(clock)
  return clock
}

/**
 * The clock of a host whose wall clock a test can shift. It runs in real time, and `shiftMs` is added to the wall
 * clock.
 */
export interface ShiftedClock extends Clock {
  shiftMs: number
}

/** @param shiftMs milliseconds by which the wall clock of the host is ahead; negative: behind */
export function shiftedHost(shiftMs = 0): ShiftedClock {
  const clock = { ...systemClock, shiftMs, now: () => systemClock.now() + clock.shiftMs }
  return hostClock(clock)
}

/** Returns a plugin that lets the time of the database follow a clock. */
export const followsClock = (clock: Clock): Plugin =>
  definePlugin({
    id: 'followed-clock',
    version: '1.0.0',
    kernel: '^1.0.0',
    provides: [followedClock],
    setup: ({ provide }) => provide(followedClock, { now: () => clock.now() }),
  })

addToTests(({ plugins }, { clock = systemClock }) => {
  const isOwnTime = clock === systemClock || hostClocks.has(clock)
  return isOwnTime || !plugins.some(({ id }) => id === 'database') ? [] : [followsClock(clock)]
})
