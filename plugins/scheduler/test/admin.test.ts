import { database as databaseService } from '@plinth/database'
import { assertMembers, until } from '@plinth/dev/testing'
import { onDatabase } from '@plinth/dev/testing/database'
import { headerPermissionGuard } from '@plinth/dev/testing/http'
import httpPlugin, { http } from '@plinth/http'
import i18nPlugin from '@plinth/i18n'
import { type AuditEntry, definePlugin } from '@plinth/kernel'
import { auditTrail } from '@plinth/kernel/host'
import { scheduler } from '@plinth/scheduler'
import t from 'tap'
import { Probe, probePlugin, secret } from './fixtures/probe-task.ts'
import { startScheduler } from './fixtures/products.ts'

const root = '/api/v1/admin/scheduler/tasks'
const url = `${root}/probe.task`

const trail: AuditEntry[] = []

/** Stores the audit. */
const keeper = definePlugin({
  id: 'keeper',
  version: '1.0.0',
  kernel: '^1.0.0',
  contributes: [auditTrail],
  setup({ contribute }) {
    contribute(auditTrail, 'keeper', {
      async record(entry) {
        if (entry.traceId === 'no-trail') throw new Error('the trail is full')
        trail.push(entry)
      },
    })
  },
})

onDatabase(t, 'A11 operators see, run, pause and resume tasks', async (t, db) => {
  const probe = new Probe()
  const { running, clock } = await startScheduler(t, db, {
    plugins: [httpPlugin, i18nPlugin, headerPermissionGuard, keeper, probePlugin(probe)],
    config: {
      'platform.http.port': 0,
      'platform.http.response-check': true,
      'platform.scheduler.lease': '1h',
      'platform.scheduler.history.size': 10,
    },
  })
  const server = running.service(http)
  trail.length = 0
  const call = async (method: 'GET' | 'POST', path: string, permission: string, language = 'en', traceId = 'test') => {
    const headers = { 'x-grants': permission, 'accept-language': language, 'x-trace-id': traceId }
    return (await server.inject({ method, url: path, headers })).json()
  }
  const view = (path: string, language?: string) => call('GET', path, 'scheduler:task:view', language)
  const act = (path: string) => call('POST', path, 'scheduler:task:run')
  const ended = (count: number) =>
    until(async () => (await view(`${url}/runs?outcome=succeeded`)).data.total === count, `run ${count}`)

  await ended(1)
  const [state] = (await view(root)).data
  t.hasStrict(state, {
    name: 'probe.task',
    plugin: 'probe',
    displayName: 'Probe',
    fixedDelayMs: 60_000,
    autoStartup: true,
    paused: false,
    running: false,
    requested: false,
    lastRun: { task: 'probe.task', cause: 'delay', outcome: 'succeeded', durationMs: 0, error: null },
    nextRunAt: new Date(clock.now() + 60_000).toISOString(),
  })
  t.equal((await view(root, 'zh-CN')).data[0].displayName, '探测')
  for (const [keyword, language, count] of [
    ['PROB', 'en', 1],
    ['be.ta', 'en', 1],
    ['探', 'zh-CN', 1],
    ['探', 'en', 0],
  ] as const) {
    const { data } = await view(`${root}?keyword=${encodeURIComponent(keyword)}`, language)
    t.equal(data.length, count, `${keyword} in ${language}`)
  }

  t.hasStrict(await act(`${url}/pause`), { code: '200', data: { paused: true, nextRunAt: null } })
  t.hasStrict(await act(`${url}/run-now`), { code: '200', data: { requested: true } })
  await ended(2)
  assertMembers(t, (await view(`${url}/runs?size=1`)).data, {
    total: 2,
    page: 1,
    size: 1,
    items: [{ cause: 'request' }],
  })
  const [last] = (await view(`${url}/runs?size=1`)).data.items
  const moment = new Date(clock.now()).toISOString()
  t.match(last, { instance: new RegExp(`:${process.pid}:`), startedAt: moment, endedAt: moment })
  t.hasStrict(await act(`${url}/resume`), { code: '200', data: { paused: false } })

  probe.isQuick = false
  await act(`${url}/run-now`)
  await until(() => probe.begun.length === 3, 'the third begins')
  const rejected = await act(`${url}/run-now`)
  t.hasStrict(rejected, { code: '409', data: { reason: 'scheduler.task-running' } })
  t.match(rejected.message, '"probe.task"')
  assertMembers(t, (await view(root)).data, [
    { running: true, nextRunAt: null, lastRun: { outcome: null, endedAt: null } },
  ])
  probe.end(new Error(`refused: ${secret}`))
  await until(async () => (await view(`${url}/runs?outcome=failed`)).data.total === 1, 'the third fails')
  const failed = await view(`${url}/runs?outcome=failed`)
  assertMembers(t, failed.data.items, [{ outcome: /^failed$/, error: /^refused: / }])
  t.notMatch(JSON.stringify(failed), secret)
  t.hasStrict((await view(url)).data, { name: 'probe.task', lastRun: { outcome: 'failed' } }, 'one task by its name')
  const runs = '/api/v1/admin/scheduler/runs'
  t.same((await view(`${runs}?task=probe.task&outcome=failed`)).data.items, failed.data.items, 'runs of all tasks')
  t.match((await view(runs)).data, { total: 3 })
  t.match((await view(`${runs}?task=nobody`)).data, { total: 0 })
  t.hasStrict(await view(`${root}/nobody`), { code: '404', data: { reason: 'scheduler.task-unknown' } })

  for (const path of [root, url, runs, `${url}/runs`]) {
    t.equal((await call('GET', path, 'scheduler:task:run')).code, '403', `${path} is for who may view`)
  }
  for (const action of ['run-now', 'pause', 'resume']) {
    t.equal((await call('POST', `${url}/${action}`, 'scheduler:task:view')).code, '403', `${action} for who may run`)
    t.hasStrict(await act(`${root}/nobody/${action}`), { code: '404', data: { reason: 'scheduler.task-unknown' } })
  }
  t.match(await view(`${root}/nobody/runs`), { code: /^404$/, message: 'The scheduled task "nobody" does not exist.' })
  for (const query of ['outcome=nice', 'size=0', 'size=201', 'page=0', 'page=x']) {
    t.equal((await view(`${url}/runs?${query}`)).code, '400', query)
  }
  assertMembers(t, (await view(root)).data, [{ running: false, requested: false }], 'refused requests ask for nothing')
  t.equal(probe.begun.length, 3)

  clock.shiftWallClock(60_000)
  assertMembers(t, (await view(root)).data, [{ overdue: false }], 'due, and not for long')

  const actions = ['pause', 'run-now', 'resume', 'run-now'].map((action) => `scheduled-task.${action}`)
  t.same(
    trail.map(({ action, subject, actor, traceId }) => ({ action, subject, actor, traceId })),
    actions.map((action) => ({ action, subject: 'probe.task', actor: { name: 'anonymous' }, traceId: 'test' })),
    'what was done is in the audit, and nothing else',
  )
  t.equal((await call('POST', `${url}/pause`, 'scheduler:task:run', 'en', 'no-trail')).code, '500')
  t.equal((await running.service(scheduler).get('probe.task')).paused, false, 'what leaves no trace does not happen')

  const metrics = (await server.inject('/metrics')).body
  t.match(metrics, /scheduler_task_runs_total\{task="probe.task",outcome="succeeded"\} 2/)
  t.match(metrics, /scheduler_task_runs_total\{task="probe.task",outcome="failed"\} 1/)
  t.match(metrics, /scheduler_task_run_seconds_total\{task="probe.task",outcome="failed"\} 0/)

  probe.isQuick = true
  for (let count = 4; count <= 30; count++) {
    await until(async () => !(await running.service(scheduler).get('probe.task')).running, 'it has ended')
    await act(`${url}/run-now`)
    await until(() => probe.begun.length === count, `run ${count}`)
  }
  await until(async () => (await view(`${url}/runs`)).data.total === 10, 'old runs are removed')

  const all = (await view(`${url}/runs`)).data.items.map(({ id }: { id: number }) => id)
  const walked: number[] = []
  let cursor: string | null = ''
  while (cursor !== null && walked.length < 200) {
    const at: string = cursor === '' ? '' : `&cursor=${cursor}`
    const { data } = await view(`${url}/runs?size=3&outcome=succeeded${at}`)
    walked.push(...data.items.map(({ id }: { id: number }) => id))
    cursor = data.next
  }
  t.same(walked, all, 'a walk by the cursor meets each run once, the newest first')
  t.equal((await view(`${url}/runs?count=none`)).data.total, null)
  t.equal((await view(`${url}/runs?cursor=nonsense`)).code, '400')

  if (db.dialect !== 'sqlite') return
  const database = running.service(databaseService)
  for (const [condition, index] of [
    ['', 'scheduler_run_task_id_index'],
    [`and outcome = 'failed' `, 'scheduler_run_task_outcome_index'],
  ]) {
    const plan = await database.query<{ detail: string }>(
      `explain query plan select * from scheduler_run where task = ? ${condition}order by id desc limit 20`,
      ['probe.task'],
    )
    t.match(plan.map(({ detail }) => detail).join(), new RegExp(`^SEARCH scheduler_run USING INDEX ${index} `))
  }
})
