/** Tests the effect of each configuration key of member points. */

import { applyLiveValues, assertKeyEffect, assertMembers, type KeyValues, manualClock } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import { declaredTasks } from '@plinth/kernel/host'
import { scheduler } from '@plinth/scheduler'
import t from 'tap'
import { day, reasonOf, startPoints } from './fixtures/product.ts'

async function start(config: KeyValues = {}, clock = manualClock(Date.UTC(2026, 4, 30, 20))) {
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  return startPoints(t, at, { config, clock })
}

t.test('a check-in belongs to the day in the configured time zone', async (t) => {
  const { running, member } = await start()
  const [days] = await assertKeyEffect(t, 'platform.member-points.time-zone', {
    changed: 'Asia/Shanghai',
    async observe(values, key) {
      await applyLiveValues(running, values)
      const { call } = await member(`member-of-${values[key] ?? 'site'}`.toLowerCase().replace('/', '-'))
      return (await call('POST', 'member-points/users/me/check-in')).data.date
    },
  })
  t.match(days, { before: '2026-05-30', after: '2026-05-31' })
})

t.test('the record of a finished scan is stored as long as its retention', async (t) => {
  const { running, clock, points, rows } = await start()
  const tasks = running.service(declaredTasks).scheduledTasks
  const purge = tasks.find(({ name }) => name === 'member-points.purge')
  const [isStored] = await assertKeyEffect(t, 'platform.member-points.expire.retention', {
    changed: '30d',
    async observe(values) {
      await applyLiveValues(running, values)
      await points.expire()
      clock.shiftWallClock(31 * day)
      await purge?.run(new AbortController().signal)
      return (await rows('select id from points_expire_batch')).length > 0
    },
  })
  t.match(isStored, { before: true, after: false })
})

t.test('a manual adjustment of more points needs a fresh proof of identity', async (t) => {
  const { running, clock, administrator, member } = await start({ 'platform.iam.fresh-proof.enabled': true })
  const { call } = await administrator()
  const { id: userId } = await member('anna')
  await clock.advance(6 * 60_000)
  const [codes] = await assertKeyEffect(t, 'platform.member-points.fresh-proof-above', {
    compared: 500,
    changed: 499,
    async observe(values) {
      await applyLiveValues(running, values)
      const body = { userId, points: 500, reason: 'test' }
      return (await call('POST', 'admin/member-points/manual-adjustments', body)).code
    },
  })
  t.match(codes, { before: /^200$/, after: /^401$/ })
})

t.test('the scheduled scan has the configured name', async (t) => {
  const [reasons] = await assertKeyEffect(t, 'platform.member-points.expire.task-name', {
    changed: 'member-points.nightly',
    observe: async (config) => {
      const { running } = await start(config)
      const tasks = running.service(scheduler)
      const names = ['member-points.expire', 'member-points.nightly']
      return Promise.all(names.map((name) => reasonOf(tasks.get(name))))
    },
  })
  const unknown = '404 scheduler.task-unknown'
  assertMembers(t, reasons, { before: ['done', unknown], after: [unknown, 'done'] })
})
