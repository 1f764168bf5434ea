/** Tests what a drain reports about work that does not end. */

import { rejectsWith } from '@plinth/dev/testing'
import { systemClock } from '@plinth/kernel'
import { pino } from 'pino'
import t from 'tap'
import { LeasedRun, LeasedRuns, leaseTimeLimits } from '../src/index.ts'

t.test('a drain that ends early lists the runs that do not react to their stop signal', async (t) => {
  const work = Promise.withResolvers<boolean>()
  const runs = new LeasedRuns<string>({
    subject: 'scheduled task',
    about: (task) => ({ task, owner: 'acme.import' }),
    newRun: () => new LeasedRun(),
    attempt: () => work.promise,
    concurrency: 1,
    times: leaseTimeLimits(60_000),
    clock: systemClock,
    log: pino({ level: 'silent' }),
    onEnded: () => {},
  })
  const run = runs.run('acme.import.orders')
  await rejectsWith(t, runs.drain(AbortSignal.abort()), {
    message: 'A scheduled task does not react to its stop signal: {"task":"acme.import.orders","owner":"acme.import"}.',
  })
  work.resolve(false)
  await run
  await runs.drain(AbortSignal.abort())
})
