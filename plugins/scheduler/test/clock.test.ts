/** Tests that irreversible tasks do not run on an instance whose clock differs from the time of the database. */
import databasePlugin, { database } from '@plinth/database'
import { assertMembers, type KeyValues, until } from '@plinth/dev/testing'
import {
  createShiftedClock,
  onEachServer,
  onSqlite,
  startMigrated,
  type TestDatabase,
} from '@plinth/dev/testing/database'
import { headerPermissionGuard } from '@plinth/dev/testing/http'
import httpPlugin, { http } from '@plinth/http'
import i18nPlugin from '@plinth/i18n'
import { type AuditEntry, definePlugin, defineProduct, healthCheck, type Plugin } from '@plinth/kernel'
import { auditTrail } from '@plinth/kernel/host'
import schedulerPlugin, { scheduler } from '@plinth/scheduler'
import sharedStorePlugin from '@plinth/shared-store'
import t, { type Test } from 'tap'
import { markerTask } from './fixtures/marker-task.ts'

const day = 24 * 3_600_000
const shifts = { hour: 3_600_000, day: day + 1, month: 30 * day, year: 366 * day }
const task = 'destroyer.task'

/** Returns a plugin with an irreversible task. The task counts the runs on its instance. */
function destroyer() {
  const counts = { runs: 0 }
  const plugin = definePlugin({
    id: 'destroyer',
    version: '1.0.0',
    kernel: '^1.0.0',
    scheduledTasks: [
      {
        name: task,
        displayName: 'Destroy',
        fixedDelay: 100,
        autoStartup: true,
        irreversible: true,
        run: () => {
          counts.runs += 1
        },
      },
    ],
  })
  return { plugin, counts }
}

const anyPort = { 'platform.http.port': 0 }

async function startInstance(
  t: Test,
  db: TestDatabase,
  shiftMs: number,
  plugins: readonly Plugin[] = [],
  values: KeyValues = {},
) {
  const host = createShiftedClock(shiftMs)
  const { plugin, counts } = destroyer()
  const marker = markerTask()
  const product = defineProduct({
    name: 'test',
    plugins: [databasePlugin, sharedStorePlugin, schedulerPlugin, plugin, marker.plugin, ...plugins],
    config: {
      ...db.config,
      ...values,
      'platform.scheduler.poll-interval': '200ms',
      'platform.kernel.setup-deadline': '5m',
      'platform.kernel.stop-deadline': '1m',
    },
  })
  const running = await startMigrated(product, { clock: host })
  t.teardown(() => running.stop('test ended'))
  const schedules = running.service(scheduler)
  const warnings = async () => {
    const report = await running.contributions(healthCheck).get('database')?.(new AbortController().signal)
    return report?.warnings ?? []
  }
  return { running, host, counts, marker, warnings, scheduler: schedules, clock: running.service(database).clock }
}

onEachServer(t, 'an irreversible task runs if the clocks agree, and waits if they differ', async (t, db) => {
  const wrong = await startInstance(t, db, shifts.year)
  await wrong.marker.passed(wrong.scheduler)
  t.match(await wrong.scheduler.get(task), { irreversible: true, heldBack: true, overdue: false, lastRun: null })
  t.match(await wrong.scheduler.get(wrong.marker.name), { irreversible: false, heldBack: false })
  t.equal(wrong.counts.runs, 0)
  assertMembers(t, await wrong.warnings(), [/ahead of the database's clock/])

  const right = await startInstance(t, db, 0)
  await until(() => right.counts.runs > 2, 'the other instance runs it')
  t.equal(wrong.counts.runs, 0)
  t.same(await right.warnings(), [])
  await right.running.stop('done')

  await wrong.scheduler.runNow(task)
  await wrong.marker.passed(wrong.scheduler)
  t.equal(wrong.counts.runs, 0, 'a request of an operator waits too')
  wrong.host.shiftMs = 0
  await until(() => wrong.counts.runs > 0, 'it runs again when the clocks agree')
  t.same(await wrong.warnings(), [])
})

const trail: AuditEntry[] = []
const keeper = definePlugin({
  id: 'keeper',
  version: '1.0.0',
  kernel: '^1.0.0',
  contributes: [auditTrail],
  setup: ({ contribute }) => contribute(auditTrail, 'keeper', { record: async (entry) => void trail.push(entry) }),
})

onSqlite(t, 'on SQLite an operator confirms a clock that is not trusted', async (t, db) => {
  const one = await startInstance(t, db, 0, [httpPlugin, i18nPlugin, headerPermissionGuard, keeper], anyPort)
  const server = one.running.service(http)
  const path = '/api/v1/admin/scheduler/clock'
  const call = async (method: 'GET' | 'POST', url: string, permission: string) =>
    (await server.inject({ method, url, headers: { 'x-grants': permission } })).json()
  const view = () => call('GET', path, 'scheduler:task:view')
  const confirm = () => call('POST', `${path}/confirm`, 'scheduler:clock:confirm')

  await until(() => one.counts.runs > 0, 'it runs')
  t.hasStrict(await view(), { data: { state: 'agrees', remedy: null, differenceMs: 0, problems: 0 } })
  t.hasStrict(await confirm(), { code: '409', data: { reason: 'scheduler.clock-agrees' } })

  one.host.shiftMs = shifts.year
  await one.marker.passed(one.scheduler)
  const before = one.counts.runs
  await one.marker.passed(one.scheduler)
  t.equal(one.counts.runs, before)
  const differs = await view()
  t.hasStrict(differs, { data: { state: 'ahead', remedy: 'confirm', problems: 1 } })
  const { differenceMs, hostTime, expiryTime } = differs.data
  const isNear = (one: number, other: number) => Math.abs(one - other) < 60_000
  t.ok(isNear(differenceMs, shifts.year), `${differenceMs} ms`)
  t.ok(isNear(Date.parse(hostTime), Date.now() + shifts.year), hostTime)
  t.ok(isNear(Date.parse(expiryTime), Date.now()), 'nothing expires by the clock that is not trusted')
  assertMembers(t, await one.warnings(), [/plinth database confirm-clock/])

  t.hasStrict(await call('POST', `${path}/confirm`, 'scheduler:task:run'), { code: '403' })
  t.same(trail, [])
  t.hasStrict(await confirm(), { code: '200', data: { state: 'agrees', problems: 0 } })
  assertMembers(t, trail, [{ action: 'database-clock.confirm', summary: { state: 'ahead' } }])
  await until(() => one.counts.runs > before, 'it runs again')
  t.same(await one.warnings(), [])
})

onEachServer(t, 'the time of a server cannot be confirmed', async (t, db) => {
  const one = await startInstance(t, db, -shifts.month, [httpPlugin, i18nPlugin, headerPermissionGuard], anyPort)
  const headers = { 'x-grants': 'scheduler:clock:confirm' }
  const url = '/api/v1/admin/scheduler/clock/confirm'
  const response = await one.running.service(http).inject({ method: 'POST', url, headers })
  t.hasStrict(response.json(), { code: '409', data: { reason: 'scheduler.clock-of-server' } })
})
