import { until } from '@plinth/dev/testing'
import { onDatabase } from '@plinth/dev/testing/database'
import { event } from '@plinth/events'
import t from 'tap'
import { Type } from 'typebox'
import { startEvents } from './fixtures/product.ts'

const noted = event('test.noted', Type.Object({ note: Type.String() }))
const poolSize = 3
const stuck = poolSize + 2
/**
 * Deadline by the clock of the test. Database transactions are limited in real time, and the limit must be long enough
 * on a busy host.
 */
const deadlineMs = 600_000

onDatabase(t, 'K-013 transactional handlers that never end hold no connection', async (t, at) => {
  const resume = Promise.withResolvers<void>()
  const late: Promise<unknown>[] = []
  const begun = Promise.withResolvers<void>()
  const product = await startEvents(t, at, {
    config: {
      'platform.database.pool-size': poolSize,
      'platform.events.dispatcher.concurrency': stuck,
      'platform.events.handler-deadline': `${deadlineMs}ms`,
      'platform.events.retry.max-attempts': 1,
    },
    handlers: (events) =>
      events.on(
        noted,
        'test.write',
        async ({ id, payload }, { signal }) => {
          // Checked before `product.effect`. While its statement runs, the test advances the clock, possibly past the
          // deadline of this handler.
          t.equal(signal.aborted, false)
          await product.effect('write', id, payload.note)
          if (payload.note !== 'stuck') return
          late.push(resume.promise.then(() => product.effect('write', id, 'late')).catch((error: unknown) => error))
          begun.resolve()
          await new Promise(() => {})
        },
        { transaction: true },
      ),
  })
  const { events, clock, states, effects } = product
  for (let n = 0; n < stuck; n++) await events.publish(noted, { note: 'stuck' })
  let isIdle = false
  const idle = events.idle().then(() => {
    isIdle = true
  })
  await begun.promise
  // A handler that waits for a connection has a later deadline, and the database needs time to provide the connection.
  await until(
    async () => {
      await clock.advance(deadlineMs / 30)
      return isIdle
    },
    'no handler runs',
    0,
  )
  await idle
  await events.publish(noted, { note: 'healthy' }, { key: 'k' })
  await events.idle()
  t.match(await states(), { failed: stuck })
  t.same(await effects('write'), ['healthy'], 'what they wrote is rolled back, and others go on')
  t.equal(late.length > 0, true)
  resume.resolve()
  for (const error of await Promise.all(late)) t.match(error, { message: `did not finish within ${deadlineMs} ms` })
  t.same(await effects('write'), ['healthy'], 'what they write later goes nowhere')
  await events.publish(noted, { note: 'after' })
  await events.idle()
  t.same(await effects('write'), ['healthy', 'after'])
})
