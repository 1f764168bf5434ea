/** Tests the effect of each configuration key of the open platform. */
import { database } from '@plinth/database'
import { assertKeyEffect, type KeyValues, manualClock, until } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import t from 'tap'
import { describeOutcome, startOpen } from './fixtures/product.ts'

async function sqlite() {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  return db
}

t.test('secrets of applications are encrypted with the key', async (t) => {
  const key = 'platform.open-platform.security.secret-key'
  const [one = '', other = ''] = [1, 2].map((byte) => Buffer.alloc(32, byte).toString('base64'))
  const [found] = await assertKeyEffect(t, 'platform.open-platform.security.secret-key', {
    compared: one,
    changed: other,
    observe: async (config) => {
      const [db, clock] = [await sqlite(), manualClock()]
      const first = await startOpen(t, db, { clock, config: { [key]: one } })
      const app = await first.createApp(await first.adminToken())
      await first.running.stop('another instance takes over')
      const second = await startOpen(t, db, { clock, config })
      return describeOutcome(await second.signed(app))
    },
  })
  t.same([found?.before, found?.after], ['200', '503 open-platform.secret-key-unusable'])
})

t.test('an application without its own limit has the default limit', async (t) => {
  const [codes] = await assertKeyEffect(t, 'platform.open-platform.security.default-rate-limit-per-minute', {
    changed: 2,
    observe: async (config) => {
      const { adminToken, createApp, signed } = await startOpen(t, await sqlite(), { config })
      const app = await createApp(await adminToken())
      const codes = []
      for (let count = 0; count < 3; count++) codes.push((await signed(app)).code)
      return codes.join(' ')
    },
  })
  t.match(codes, { before: '200 200 200', after: '200 200 429' })
})

t.test('calls are written after the interval, and stored as long as their retention', async (t) => {
  /** Returns the calls that are stored 3 s after a call, and the calls that are stored two days later. */
  const observe = async (config: KeyValues) => {
    const clock = manualClock()
    const { adminToken, createApp, signed, running } = await startOpen(t, await sqlite(), { clock, config })
    const stored = async () => (await running.service(database).query('select id from open_call')).length
    await signed(await createApp(await adminToken()))
    await clock.advance(3_000)
    for (let count = 0; count < 10; count++) await stored()
    const soon = await stored()
    await clock.advance(600_000)
    await until(async () => (await stored()) === 1, 'the call is written')
    clock.shiftWallClock(2 * 86_400_000)
    const purge = running.scheduledTasks.find(({ name }) => name === 'open-platform.purge')
    await purge?.run(new AbortController().signal)
    return { soon, late: await stored() }
  }
  const [intervals] = await assertKeyEffect(t, 'platform.open-platform.metering.flush-interval', {
    changed: '1m',
    observe,
  })
  t.match(intervals, { before: { soon: 1 }, after: { soon: 0 } })
  const [retention] = await assertKeyEffect(t, 'platform.open-platform.metering.retention', { changed: '1d', observe })
  t.match(retention, { before: { late: 1 }, after: { late: 0 } })
})
