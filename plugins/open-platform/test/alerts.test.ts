import { assertMembers, until } from '@plinth/dev/testing'
import { onDatabase } from '@plinth/dev/testing/database'
import eventsPlugin, { events, openKeyAbnormal, openRateLimited } from '@plinth/events'
import { definePlugin } from '@plinth/kernel'
import { sharedStore } from '@plinth/shared-store'
import t from 'tap'
import { alertWindowMs } from '../src/applications/application-alerts.ts'
import { describeOutcome, shop, startOpen } from './fixtures/product.ts'

onDatabase(t, 'operators are told about rejected applications, once per window each', async (t, at) => {
  const reported: [string, unknown][] = []
  const listener = definePlugin({
    id: 'test.operations',
    version: '1.0.0',
    kernel: '^1.0.0',
    requires: { events },
    setup({ services }) {
      services.events.on(openRateLimited, 'test.limited', ({ payload }) => void reported.push(['limited', payload]))
      services.events.on(openKeyAbnormal, 'test.key', ({ payload }) => void reported.push(['key', payload]))
    },
  })
  const { adminToken, createApp, signed, call, running, clock } = await startOpen(t, at, {
    plugins: [shop, eventsPlugin, listener],
  })
  /**
   * Waits until all events have arrived. An alert starts only after the response, so the event loop runs a few times
   * first.
   */
  const received = async () => {
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
    await running.service(events).idle()
    return reported.splice(0)
  }
  const admin = await adminToken()
  const app = await createApp(admin, { rateLimitPerMinute: 1, name: 'Partner' })
  const other = await createApp(admin, { rateLimitPerMinute: 1, name: 'Other' })
  const limited = { appName: 'Partner', appId: app.id, route: '/api/v1/open/whoami' }

  for (let count = 0; count < 4; count++) await signed(app)
  await until(() => reported.length > 0, 'operations are told')
  t.same(await received(), [['limited', limited]], 'of three denials one is told')
  await signed(other)
  await signed(other)
  await until(() => reported.length > 0, 'operations are told')
  assertMembers(t, await received(), [['limited', { appId: other.id }]], 'each application has a window of its own')

  const forged = { ...app, secret: 'x'.repeat(54) }
  for (let count = 0; count < 3; count++) {
    t.equal(describeOutcome(await signed(forged)), '401 open-platform.signature-invalid')
  }
  t.equal(describeOutcome(await signed({ ...forged, appKey: 'nobody' })), '401 open-platform.signature-invalid')
  await until(() => reported.length > 0, 'operations are told')
  const wrong = await received()
  assertMembers(t, wrong, [['key', { appId: app.id, appName: 'Partner', reason: /wrong signature/ }]])
  t.notMatch(JSON.stringify(wrong), app.secret)

  await clock.advance(alertWindowMs + 1)
  // PostgreSQL and MariaDB measure the window of alerts with their own clocks, so the test deletes the entry instead of
  // moving the time.
  await running.service(sharedStore).delete(`open-platform:alert:key-abnormal:${app.id}`)
  t.equal((await call('POST', `/api/v1/admin/open-platform/apps/${app.id}/disable`, admin)).code, '200')
  await signed(app)
  await until(() => reported.length > 0, 'operations are told')
  assertMembers(t, await received(), [['key', { appId: app.id, reason: /disabled/ }]], 'the next window')
})
