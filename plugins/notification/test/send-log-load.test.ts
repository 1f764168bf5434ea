/**
 * Tests many concurrent sends on a real database. All of them must be in the send log. The rate is reported but not
 * checked.
 */

import { isProof, until } from '@plinth/dev/testing'
import { createDatabase, onDatabase, skipServer } from '@plinth/dev/testing/database'
import t from 'tap'
import { startSendLog } from './fixtures/send-log-product.ts'

const number = (rows: readonly { readonly n: unknown }[]) => Number(rows[0]?.n)

onDatabase(t, 'thousands of sends, hundreds at a time, are all in the send log', async (t, at) => {
  const { facade, db, running } = await startSendLog(t, at)
  const [seconds, each] = [5, isProof ? 2_000 : 400]
  const start = performance.now()
  for (let second = 0; second < seconds; second++) {
    const results = await Promise.all(
      Array.from({ length: each }, (_, index) =>
        facade.send({ content: `${second}.${index}` }, { channels: ['pager'] }),
      ),
    )
    t.ok(
      results.every(([result]) => result?.success),
      'every send has its result',
    )
  }
  const rate = (1_000 * seconds * each) / (performance.now() - start)
  t.comment(`${rate.toFixed(0)} sends a second`)
  await running.stop('everything is written')
  const again = await startSendLog(t, at)
  const rows = `select count(*) as n from notification_send_log where status = 'success'`
  t.equal(number(await again.db.query(rows)), seconds * each)
  t.equal(
    number(await again.db.query('select count(distinct message_id) as n from notification_send_log')),
    seconds * each,
  )
  t.not(db, again.db)
})

// Only PostgreSQL locks a table as long as the test needs.
const skip = await skipServer('postgresql')
t.test('a table that is blocked for 20 s delays no send and loses none', { skip, timeout: 600_000 }, async (t) => {
  const at = await createDatabase('postgresql')
  t.teardown(() => at.drop())
  const { facade, db, clock, summary } = await startSendLog(t, at)
  const [held, free] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const standing = db.transactional(async () => {
    await db.execute('lock table notification_send_log in access exclusive mode')
    held.resolve()
    await free.promise
  })
  await held.promise
  const [seconds, each] = [20, 100]
  for (let second = 0; second < seconds; second++) {
    const sent = Promise.all(Array.from({ length: each }, () => facade.send({ content: 'x' }, { channels: ['pager'] })))
    await clock.advance(1_000)
    t.ok((await sent).every(([result]) => result?.success))
  }
  free.resolve()
  await standing
  const rows = `select count(*) as n from notification_send_log where status = 'success'`
  await until(
    async () => {
      await clock.advance(1_000)
      return number(await db.query(rows)) >= seconds * each
    },
    'all messages are logged',
    0,
  )
  t.equal(number(await db.query(rows)), seconds * each)
  t.match(await summary(), { total: seconds * each, success: seconds * each })
})
