import { AsyncResource } from 'node:async_hooks'
import { asyncTaskFailed, type TaskContext, taskType } from '@plinth/async-task'
import { assertMembers, manualClock, rejectsWith, throwsWith, until } from '@plinth/dev/testing'
import { onDatabase, onSqlite } from '@plinth/dev/testing/database'
import { events } from '@plinth/events'
import { BusinessError, definePlugin, key } from '@plinth/kernel'
import { declaredTasks } from '@plinth/kernel/host'
import type { Disk } from '@plinth/storage'
import { pino } from 'pino'
import t from 'tap'
import { Type } from 'typebox'
import { diskPlugin, memoryDisk } from '../../storage/test/fixtures/memory-disk.ts'
import type { TaskRow } from '../src/entities.ts'
import { LeasedTaskRun } from '../src/run.ts'
import { TaskRows } from '../src/task-rows.ts'
import { Probe, reportTaskType, startTasks } from './fixtures/product.ts'

const minute = 60_000
const hour = 60 * minute
const owner = { ownerId: 7 }

/** Returns a logger and a function that returns the lines with a message. */
function logLines() {
  const lines: Record<string, unknown>[] = []
  const logger = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line)) })
  return { logger, logged: (text: string) => lines.filter(({ msg }) => msg === text) }
}

onDatabase(t, 'a task runs, shows its progress, and leaves its file', async (t, db) => {
  const seen: TaskContext[] = []
  const steps = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const
  const { tasks, clock, reaches, passed, storage, paths } = await startTasks(t, db, {
    handle: (tasks) =>
      tasks.handle(reportTaskType, async ({ rows }, context) => {
        seen.push(context)
        context.progress(40.9, { en: 'counting', 'zh-CN': '统计中' })
        await steps[0].promise
        context.progress(250, 'x'.repeat(300))
        context.progress(80)
        await steps[1].promise
        const lines = Array.from({ length: rows }, (_, index) => index)
        await context.writeCsv({ name: 'rules "1".CSV' }, [{ title: 'n', value: (n: number) => n }], lines)
      }),
  })
  const queued = await tasks.submit(reportTaskType, { rows: 3 }, { ...owner, locale: 'zh-CN' })
  t.hasStrict(queued, {
    type: 'shop.report',
    ownerId: 7,
    status: 'queued',
    progress: 0,
    note: null,
    attempts: 0,
    failure: null,
    artifact: null,
    startedAt: null,
    finishedAt: null,
    cancelRequested: false,
    createdAt: new Date(clock.now()),
  })
  const { id } = queued
  await until(async () => (await tasks.get(id)).progress === 40, 'progress is shown')
  t.hasStrict(await tasks.get(id), { status: 'running', attempts: 1, note: { en: 'counting', 'zh-CN': '统计中' } })
  assertMembers(t, seen, [{ taskId: id, ownerId: 7, locale: 'zh-CN', attempt: 1 }])

  steps[0].resolve()
  await passed()
  t.equal((await tasks.get(id)).progress, 40, 'at most once a second')
  await clock.advance(1000)
  await until(async () => (await tasks.get(id)).progress === 80, 'the last progress is shown')
  t.equal((await tasks.get(id)).note, 'x'.repeat(200), 'the note stays, and is cut')

  steps[1].resolve()
  const done = await reaches(id, 'succeeded')
  t.match(done, { progress: 100, failure: null, attempts: 1, finishedAt: new Date(clock.now()) })
  t.match(done.artifact, { name: 'rules "1".CSV', size: 17, disk: 'local', path: `async-task/${id}/1.csv` })
  t.same(await paths(), [`async-task/${id}/1.csv`])
  const { content } = await storage.open('local', done.artifact?.path ?? '')
  t.equal(Buffer.concat(await content.toArray()).toString(), '\ufeff"n"\r\n0\r\n1\r\n2\r\n')
  seen[0]?.progress(1)
  await rejectsWith(t, seen[0]?.writeArtifact({ name: 'late.txt' }, (async function* () {})()) as Promise<void>, {
    code: 'PLINTH_ASYNC_TASK_ARTIFACT',
    message: /the task has ended/,
  })
  await rejectsWith(t, tasks.get(1), { code: '404', reason: 'async-task.unknown' })
})

onDatabase(t, 'a task is queued if and only if the transaction around it commits', async (t, db) => {
  const probe = new Probe()
  const {
    tasks,
    reaches,
    passed,
    db: database,
  } = await startTasks(t, db, { handle: (tasks) => tasks.handle(reportTaskType, probe.handle) })
  // Runs outside of the transaction, on another connection. SQLite has only one connection, so nothing can be read
  // before the commit.
  const othersPass = db.dialect === 'sqlite' ? async () => {} : AsyncResource.bind(passed)
  const rolledBack = database.transactional(async () => {
    await tasks.submit(reportTaskType, { rows: 1 }, owner)
    throw new Error('no')
  })
  await rejectsWith(t, rolledBack, { message: 'no' })
  t.equal((await tasks.list({}, { size: 10, count: 'exact' })).total, 0)
  const { id } = await database.transactional(async () => {
    const task = await tasks.submit(reportTaskType, { rows: 1 }, owner)
    await othersPass()
    t.equal(probe.runs.length, 0, 'not before the commit')
    return task
  })
  ;(await probe.begun(1)).end.resolve()
  t.match(await reaches(id, 'succeeded'), { artifact: null })
})

onSqlite(t, 'an error of a handler fails the task; the owner sees only business errors', async (t, db) => {
  const secret = 'hush-hush-42'
  const reported: { readonly taskId: number; readonly error: string }[] = []
  const listener = definePlugin({
    id: 'listener',
    version: '1.0.0',
    kernel: '^1.0.0',
    requires: { events },
    config: { 'platform.listener.secret': key.string({ title: 'Secret', default: secret, sensitive: true }) },
    setup: ({ services }) =>
      services.events.on(asyncTaskFailed, 'listener', ({ payload }) => {
        reported.push(payload)
      }),
  })
  const thrown: unknown[] = [
    new Error(`no access with ${secret} to /etc/passwd\0 ${'😀'.repeat(600)}`),
    new BusinessError('409', `The rule {{code}} is gone, ${secret}`, {
      reason: 'shop.rule-gone',
      params: { code: 'x' },
    }),
    new BusinessError('500', 'Without a reason'),
    'a text',
  ]
  const { logger, logged } = logLines()
  const {
    tasks,
    reaches,
    paths,
    events: bus,
  } = await startTasks(t, db, {
    logger,
    plugins: [listener],
    handle: (tasks) =>
      tasks.handle(reportTaskType, async (_, context) => {
        const content = (async function* () {
          yield 'half a result'
        })()
        await context.writeArtifact({ name: 'a.txt' }, content)
        throw thrown.shift()
      }),
  })
  const failures: unknown[] = []
  const ids: number[] = []
  for (let count = thrown.length; count > 0; count--) {
    const { id } = await tasks.submit(reportTaskType, { rows: 1 }, owner)
    ids.push(id)
    const { failure, artifact } = await reaches(id, 'failed')
    t.equal(artifact, null)
    failures.push(failure)
  }
  assertMembers(t, failures, [
    {
      reason: /^async-task\.failed$/,
      message: 'The task failed.',
      messageKey: 'messages.async-task.failed',
      params: {},
    },
    {
      reason: /^shop\.rule-gone$/,
      message: /^The rule/,
      messageKey: 'messages.shop.rule-gone',
      params: { code: /^x$/ },
    },
    { reason: /^async-task\.failed$/, message: 'Without a reason', messageKey: undefined },
    { reason: /^async-task\.failed$/, message: 'The task failed.' },
  ])
  t.notMatch(JSON.stringify(failures), secret)
  await until(async () => (await paths()).length === 0, 'no file of a failed task stays')
  await bus.idle()
  // Events without a key may be delivered in any order.
  reported.sort((one, other) => one.taskId - other.taskId)
  assertMembers(t, reported, [
    { type: 'shop.report', ownerId: 7, reason: /^async-task\.failed$/, attempts: 1, error: /^no access with (?!hush)/ },
    { reason: /^shop\.rule-gone$/ },
    { error: 'Without a reason' },
    { error: 'a text' },
  ])
  t.notMatch(JSON.stringify(reported), secret)
  t.equal([...(reported[0]?.error ?? '')].length, 500)
  assertMembers(
    t,
    logged('a task failed'),
    ids.map((taskId) => ({ level: 50, taskId, type: 'shop.report' })),
  )
  t.match(logged('a task failed')[1], { err: { reason: /^shop\.rule-gone$/ } })
})

onSqlite(t, 'parameters must fit the type, when a task is queued and when it runs', async (t, db) => {
  const stranger = taskType('shop.stranger', { displayName: 'Stranger', params: Type.Object({}) })
  const {
    tasks,
    reaches,
    db: database,
  } = await startTasks(t, db, {
    handle(tasks) {
      tasks.handle(reportTaskType, () => {})
      throwsWith(t, () => tasks.handle(reportTaskType, () => {}), { code: 'PLINTH_ASYNC_TASK_TYPE_TAKEN' })
      const unknown = { displayName: 'x', params: Type.Object({}), readPermission: 'shop:nobody:declares' }
      throwsWith(t, () => tasks.handle(taskType('shop.guarded', unknown), () => {}), {
        code: 'PLINTH_ASYNC_TASK_PERMISSION',
        message: /shop:nobody:declares/,
      })
    },
  })
  const misfit = { code: 'PLINTH_ASYNC_TASK_PARAMS' }
  await rejectsWith(t, tasks.submit(reportTaskType, { rows: -1 }, owner), { ...misfit, message: /\/rows/ })
  await rejectsWith(
    t,
    tasks.submit(reportTaskType, { rows: 1, large: 'x'.repeat(70_000) } as { rows: number }, owner),
    misfit,
  )
  await rejectsWith(t, tasks.submit(reportTaskType, undefined as never, owner), misfit)
  await rejectsWith(t, tasks.submit(reportTaskType, { rows: 1n } as never, owner), misfit)
  await rejectsWith(t, tasks.submit(stranger, {}, owner), { code: 'PLINTH_ASYNC_TASK_TYPE_UNKNOWN' })
  t.equal((await tasks.list({}, { size: 10, count: 'exact' })).total, 0)
  for (const id of ['export', 'Shop.export', 'shop.', `shop.${'x'.repeat(60)}`]) {
    t.throws(() => taskType(id, { displayName: 'x', params: Type.Object({}) }), RangeError)
  }

  const { id } = await tasks.submit(reportTaskType, { rows: 1 }, owner)
  await reaches(id, 'succeeded')
  await database.execute(`update async_task set status = 'queued', params = ? where id = ?`, ['{"rows":"many"}', id])
  const again = await tasks.submit(reportTaskType, { rows: 1 }, owner)
  await reaches(again.id, 'succeeded')
  t.hasStrict(await reaches(id, 'failed'), { failure: { reason: 'async-task.params-outdated' } })

  await database.execute(
    `insert into async_task (id, type, owner_id, locale, params, status, cancel_requested, progress, attempts, fence, beat,
       created_at) values (1, 'shop.gone', 7, 'en', '{}', 'queued', ?, 0, 0, 0, 0, ?)`,
    [false, new Date()],
  )
  const last = await tasks.submit(reportTaskType, { rows: 1 }, owner)
  await reaches(last.id, 'succeeded')
  t.hasStrict(
    await tasks.get(1),
    { status: 'queued', attempts: 0 },
    'a task of a plugin that is not there waits for it',
  )
  t.hasStrict(await tasks.cancel(1), { status: 'cancelled' }, 'and can be cancelled')

  const rows = new TaskRows(database, manualClock(), 'another instance')
  t.equal(await rows.requestCancel(id), false, 'a task that ended in the meantime is not asked to end')
})

onSqlite(t, 'a file has a name, and a task has one file', async (t, db) => {
  const problems: unknown[] = []
  const content = async function* () {
    yield 'x'
  }
  const attempt = (work: Promise<void>) => work.catch((error: unknown) => problems.push((error as Error).message))
  const { tasks, reaches } = await startTasks(t, db, {
    handle: (tasks) =>
      tasks.handle(reportTaskType, async (_, context) => {
        for (const name of ['', 'x'.repeat(201), 'a\nb']) await attempt(context.writeArtifact({ name }, content()))
        const first = context.writeArtifact({ name: '../../a b/报告' }, content())
        await attempt(context.writeArtifact({ name: 'second' }, content()))
        await first
        await attempt(context.writeArtifact({ name: 'third' }, content()))
      }),
  })
  const { id } = await tasks.submit(reportTaskType, { rows: 1 }, owner)
  const { artifact } = await reaches(id, 'succeeded')
  t.match(artifact, { name: '../../a b/报告', path: `async-task/${id}/1`, size: 1 })
  assertMembers(t, problems, [...Array(3).fill(/not a valid file name/), ...Array(2).fill(/already has a file/)])
})

onDatabase(t, 'cancelling ends a waiting task immediately and aborts the signal of a running task', async (t, db) => {
  const probe = new Probe()
  const { tasks, clock, reaches, passed } = await startTasks(t, db, {
    config: { 'platform.async-task.concurrency': 1, 'platform.async-task.lease': '1h' },
    handle: (tasks) => tasks.handle(reportTaskType, probe.handle),
  })
  const first = await tasks.submit(reportTaskType, { rows: 1 }, owner)
  const second = await tasks.submit(reportTaskType, { rows: 2 }, owner)
  const run = await probe.begun(1)
  t.hasStrict(await tasks.cancel(second.id), { status: 'cancelled', finishedAt: new Date(clock.now()) })
  t.hasStrict(await tasks.cancel(second.id), { status: 'cancelled' }, 'cancelling twice is cancelling once')

  t.hasStrict(await tasks.cancel(first.id), { status: 'running', cancelRequested: true })
  await until(() => run.signal.aborted, 'the signal aborts')
  t.match(run.signal.reason, { message: 'The task was cancelled.' })
  t.hasStrict(await tasks.cancel(first.id), { status: 'running', cancelRequested: true })
  run.end.resolve()
  t.match(await reaches(first.id, 'cancelled'), { cancelRequested: false, failure: null, artifact: null })

  const third = await tasks.submit(reportTaskType, { rows: 3 }, owner)
  const stubborn = await probe.begun(2)
  await tasks.cancel(third.id)
  await until(() => stubborn.signal.aborted, 'the signal aborts')
  for (let again = 0; again < 5; again++) {
    t.hasStrict(
      await tasks.cancel(third.id),
      { status: 'running' },
      'a handler has time to end, however often it is told',
    )
  }
  await clock.advance(30_000)
  await reaches(third.id, 'cancelled')
  const fourth = await tasks.submit(reportTaskType, { rows: 4 }, owner)
  const next = await probe.begun(3)
  t.pass('a handler that never ends holds up nobody')
  next.end.resolve()
  await reaches(fourth.id, 'succeeded')
  stubborn.end.resolve()
  await rejectsWith(t, tasks.cancel(fourth.id), { code: '409', reason: 'async-task.finished' })
  await rejectsWith(t, tasks.cancel(1), { code: '404', reason: 'async-task.unknown' })
  await passed()
  t.equal((await tasks.get(third.id)).status, 'cancelled')
})

onSqlite(t, 'a task that runs too long fails, whether its handler obeys the signal or not', async (t, db) => {
  const probe = new Probe()
  const { logger, logged } = logLines()
  const { tasks, clock, reaches, passed } = await startTasks(t, db, {
    logger,
    config: { 'platform.async-task.lease': '1h', 'platform.async-task.deadline': '10m' },
    handle: (tasks) => tasks.handle(reportTaskType, probe.handle),
  })
  const obedient = await tasks.submit(reportTaskType, { rows: 1 }, owner)
  const run = await probe.begun(1)
  const stubborn = await tasks.submit(reportTaskType, { rows: 1 }, owner)
  await probe.begun(2)
  await clock.advance(10 * minute - 1)
  await passed()
  t.notOk(run.signal.aborted)
  await clock.advance(1)
  t.match(run.signal.reason, { message: 'The task ran for too long.' })
  run.end.resolve()
  t.hasStrict(await reaches(obedient.id, 'failed'), { failure: { reason: 'async-task.deadline' } })
  t.equal((await tasks.get(stubborn.id)).status, 'running')
  await clock.advance(30_000)
  t.hasStrict(await reaches(stubborn.id, 'failed'), { failure: { reason: 'async-task.deadline' } })
  assertMembers(t, logged('a task does not react to its stop signal; its result will be ignored'), [
    { level: 50, taskId: stubborn.id, type: 'shop.report' },
  ])
  probe.runs[1]?.end.resolve()
})

t.test('the progress of a task is a whole percentage, and a note is cut in each language', (t) => {
  const run = new LeasedTaskRun(manualClock())
  const { progress } = run.context({ id: 1, attempts: 0 } as TaskRow, async () => {
    throw new Error('writes nothing')
  })
  for (const [percent, expected] of [
    [40.9, 40],
    [-5, 0],
    [250, 100],
    [Number.NaN, 0],
  ] as const) {
    progress(percent, { en: 'x'.repeat(201), 'zh-CN': '汉'.repeat(201) })
    t.same(run.standing, { progress: expected, note: { en: 'x'.repeat(200), 'zh-CN': '汉'.repeat(200) } })
  }
  t.end()
})

onDatabase(t, 'a full queue rejects tasks, for all owners and for a single owner', async (t, db) => {
  const probe = new Probe()
  const { tasks, reaches } = await startTasks(t, db, {
    config: {
      'platform.async-task.concurrency': 1,
      'platform.async-task.queue.capacity': 4,
      'platform.async-task.queue.per-owner': 3,
    },
    handle: (tasks) => tasks.handle(reportTaskType, probe.handle),
  })
  const submit = (ownerId: number) => tasks.submit(reportTaskType, { rows: 1 }, { ownerId })
  const first = await submit(1)
  const run = await probe.begun(1)
  await submit(1)
  await submit(1)
  await rejectsWith(t, submit(1), { code: '429', reason: 'async-task.owner-limit', message: /3 unfinished/ })
  await submit(2)
  await submit(2)
  await rejectsWith(t, submit(2), { code: '429', reason: 'async-task.queue-full' })
  t.equal((await tasks.list({}, { size: 10, count: 'exact' })).total, 5, 'what was refused is not there')
  run.end.resolve()
  await reaches(first.id, 'succeeded')
  await probe.begun(2)
  await submit(2)
  t.equal(probe.maxConcurrent, 1)
  probe.release()
})

onDatabase(t, 'a task that a stopping instance returns is the next to begin', async (t, db) => {
  const config = { 'platform.async-task.concurrency': 1 }
  const begun: string[] = []
  const run = async ({ rows }: { rows: number }, { ownerId, signal }: TaskContext) => {
    begun.push(`${ownerId}-${rows}`)
    // The third task of the first owner runs until its instance stops.
    if (begun.length === 3) await until(() => signal.aborted, 'the instance stops')
  }
  const web = await startTasks(t, db, {
    config,
    roles: ['web'],
    handle: (tasks) => tasks.handle(reportTaskType, () => {}),
  })
  const submit = async (ownerId: number, rows: number) =>
    (await web.tasks.submit(reportTaskType, { rows }, { ownerId })).id
  for (const rows of [0, 1, 2]) await submit(1, rows)
  const start = () =>
    startTasks(t, db, { config, roles: ['worker'], handle: (tasks) => tasks.handle(reportTaskType, run) })
  const first = await start()
  await until(() => begun.length === 3, 'the third one begins')
  // The tasks of this owner have lower turn numbers than the third task, so they come first.
  await submit(2, 0)
  const last = await submit(2, 1)
  await first.running.stop('its time is over')
  await start()
  await web.reaches(last, 'succeeded')
  t.same(begun, ['1-0', '1-1', '1-2', '1-2', '2-0', '2-1'])
})

onDatabase(t, 'exactly as many concurrent submissions are accepted as the limits allow', async (t, db) => {
  const config = { 'platform.async-task.queue.capacity': 25, 'platform.async-task.queue.per-owner': 10 }
  const start = () =>
    startTasks(t, db, { config, roles: ['web'], handle: (tasks) => tasks.handle(reportTaskType, () => {}) })
  const instances = [await start(), await start()]
  const outcomes = async (owners: readonly number[]) => {
    const submits = owners.map(async (ownerId, index) =>
      (instances[index % 2] as (typeof instances)[0]).tasks.submit(reportTaskType, { rows: 1 }, { ownerId }).then(
        () => 'taken',
        (error: { reason?: string }) => error.reason ?? String(error),
      ),
    )
    const counts: Record<string, number> = {}
    for (const outcome of await Promise.all(submits)) counts[outcome] = (counts[outcome] ?? 0) + 1
    return counts
  }
  const same = Array.from({ length: 16 }, () => 7)
  t.same(await outcomes(same), { taken: 10, 'async-task.owner-limit': 6 })
  const different = Array.from({ length: 20 }, (_, index) => 100 + index)
  t.same(await outcomes(different), { taken: 15, 'async-task.queue-full': 5 })
  t.equal((await instances[0]?.tasks.list({}, { count: 'exact' }))?.total, 25, 'what was refused is not stored')
})

onDatabase(t, 'tasks of different owners alternate, however many tasks one owner has waiting', async (t, db) => {
  const begun: string[] = []
  const first = Promise.withResolvers<void>()
  const config = { 'platform.async-task.concurrency': 1, 'platform.async-task.queue.per-owner': 1000 }
  const started = await startTasks(t, db, {
    config,
    handle: (tasks) =>
      tasks.handle(reportTaskType, async ({ rows }, { ownerId }) => {
        begun.push(`${ownerId}-${rows}`)
        await first.promise
      }),
  })
  const { tasks, reaches, db: database } = started
  let last = 0
  const submit = async (ownerId: number, count: number) => {
    for (let rows = 0; rows < count; rows++) last = (await tasks.submit(reportTaskType, { rows }, { ownerId })).id
    return last
  }
  // A task without a handler comes first in the queue. It must not block other tasks.
  for (const id of [1, 2, 3, 4, 5]) {
    await database.execute(
      `insert into async_task (id, type, owner_id, locale, params, status, cancel_requested, progress, attempts, fence, beat,
         turn, created_at) values (?, 'shop.gone', 1, 'en', '{}', 'queued', ?, 0, 0, 0, 0, 900, ?)`,
      [id, false, new Date()],
    )
  }
  const lastOfMany = await submit(1, 30)
  await until(() => begun.length === 1, 'the first one begins')
  await submit(2, 3)
  await submit(3, 1)
  // A task that a stopping instance has returned. It already had its turn, so it comes first.
  const given = await submit(1, 1)
  await database.execute('update async_task set turn = 0 where id = ?', [given])
  first.resolve()
  await reaches(lastOfMany, 'succeeded')
  t.same(begun.slice(0, 10), ['1-0', '1-0', '1-1', '2-0', '3-0', '1-2', '2-1', '1-3', '2-2', '1-4'])
  t.equal(begun.length, 35)
})

onDatabase(t, 'tasks begin in the order in which they were queued, no more than allowed at a time', async (t, db) => {
  const begun: number[] = []
  let atOnce = 0
  let most = 0
  const { tasks, reaches } = await startTasks(t, db, {
    config: { 'platform.async-task.concurrency': 2, 'platform.async-task.queue.per-owner': 100 },
    handle: (tasks) =>
      tasks.handle(reportTaskType, async ({ rows }) => {
        begun.push(rows)
        most = Math.max(most, ++atOnce)
        await until(() => begun.length > 1, 'two run at once')
        // Waits a little. A third task, which must not start yet, would start in this time.
        for (let looks = 0; looks < 5; looks++) await tasks.list({}, { size: 1, count: 'exact' })
        atOnce -= 1
      }),
  })
  const ids: number[] = []
  for (let rows = 0; rows < 12; rows++) ids.push((await tasks.submit(reportTaskType, { rows }, owner)).id)
  for (const id of ids) await reaches(id, 'succeeded')
  t.equal(most, 2)
  // If two tasks are taken together, one of them may start late. At most one other task can then overtake it.
  t.ok(
    begun.every((rows, place) => rows - begun.slice(0, place).filter((earlier) => earlier < rows).length <= 1),
    begun.join(),
  )
  const filter = { ownerId: 7, status: 'succeeded', type: 'shop.report' } as const
  const page = await tasks.list(filter, { size: 5, offset: 5, count: 'exact' })
  t.same(
    [page.total, page.items.map(({ id }) => id)],
    [12, ids.toReversed().slice(5, 10)],
    'listed with the newest first',
  )
  assertMembers(t, await tasks.list({ ownerId: 8 }), { items: [], total: null, next: null })
})

onDatabase(t, 'finished tasks are deleted with their files after their retention', async (t, db) => {
  const started = await startTasks(t, db, {
    config: { 'platform.async-task.retention': '1h' },
    handle: (tasks) =>
      tasks.handle(reportTaskType, async ({ rows }, context) => {
        if (rows > 0) await context.writeCsv({ name: 'a.csv' }, [], [])
      }),
  })
  const { tasks, clock, reaches, paths, running, storage, db: database } = started
  const purge = async () => {
    const task = running.service(declaredTasks).scheduledTasks.find(({ name }) => name === 'async-task.purge')
    await task?.run(new AbortController().signal)
  }
  const old = [
    await tasks.submit(reportTaskType, { rows: 1 }, owner),
    await tasks.submit(reportTaskType, { rows: 0 }, owner),
  ]
  for (const { id } of old) await reaches(id, 'succeeded')
  await storage.put('local', `async-task/${old[1]?.id}/9.csv`, 'left by a run that was lost')
  await database.execute('update async_task set artifact_disk = ? where id = ?', ['local', old[1]?.id as number])
  clock.shiftWallClock(hour)
  const young = await tasks.submit(reportTaskType, { rows: 1 }, owner)
  await reaches(young.id, 'succeeded')
  await purge()
  t.equal((await tasks.list({}, { size: 10, count: 'exact' })).total, 3, 'not before the time is over')
  clock.shiftWallClock(1)
  await purge()
  const { items } = await tasks.list({}, { size: 10, count: 'exact' })
  t.same(
    items.map(({ id }) => id),
    [young.id],
  )
  t.same(await paths(), [`async-task/${young.id}/1.csv`])
  clock.shiftWallClock(hour)
  await purge()
  t.equal((await tasks.list({}, { size: 10, count: 'exact' })).total, 0, 'a single old task is deleted too')
  t.same(await paths(), [])
})

onSqlite(t, 'a disk that fails is logged, and the files of a task are removed later', async (t, db) => {
  const disk = memoryDisk('private')
  let isBroken = true
  const failing: Disk = {
    ...disk,
    list: (directory) => {
      if (isBroken) throw new Error('disk away')
      return disk.list(directory)
    },
  }
  const { logger, logged } = logLines()
  const locales: string[] = []
  const { tasks, clock, reaches, running } = await startTasks(t, db, {
    logger,
    plugins: [diskPlugin('memory', failing)],
    config: { 'platform.async-task.retention': '1h', 'platform.storage.local-disk': 'memory' },
    handle: (tasks) =>
      tasks.handle(reportTaskType, async ({ rows }, context) => {
        locales.push(context.locale)
        await context.writeCsv({ name: `${'a'.repeat(182)}.${'b'.repeat(16 + rows)}` }, [], [])
      }),
  })
  const submit = async (rows: number, locale?: string) =>
    reaches((await tasks.submit(reportTaskType, { rows }, { ...owner, ...(locale ? { locale } : {}) })).id, 'succeeded')
  const first = await submit(0)
  t.equal(first.artifact?.path, `async-task/${first.id}/1.${'b'.repeat(16)}`)
  const second = await submit(1, 'x'.repeat(35))
  t.equal(second.artifact?.path, `async-task/${second.id}/1`, 'the extension is too long')
  const third = await submit(1, 'x'.repeat(36))
  t.same(locales, ['en', 'x'.repeat(35), 'en'])
  const ids = [first.id, second.id, third.id]
  const problems = ids.map((taskId) => ({ level: 40, taskId, reason: 'disk away' }))
  const unused = 'unused files of a task could not be removed'
  await until(() => logged(unused).length === 3, 'three problems are logged')
  assertMembers(t, logged(unused), problems)

  clock.shiftWallClock(hour + 1)
  const purge = running.service(declaredTasks).scheduledTasks.find(({ name }) => name === 'async-task.purge')
  await purge?.run(new AbortController().signal)
  assertMembers(t, logged('files of an old task could not be removed'), problems)
  t.equal((await tasks.list({}, { count: 'exact' })).total, 3, 'tasks whose files remain are kept')
  isBroken = false
  await purge?.run(new AbortController().signal)
  t.equal((await tasks.list({}, { count: 'exact' })).total, 0)
  t.equal(disk.files.size, 0)
})

onSqlite(t, 'deleting tasks without files reads no directory', async (t, db) => {
  const disk = memoryDisk('private')
  let looks = 0
  const counting: Disk = {
    ...disk,
    list: (directory) => {
      looks += 1
      return disk.list(directory)
    },
  }
  const { tasks, clock, running } = await startTasks(t, db, {
    plugins: [diskPlugin('memory', counting)],
    config: {
      'platform.async-task.retention': '1h',
      'platform.async-task.queue.per-owner': 1000,
      'platform.storage.local-disk': 'memory',
    },
    handle: (tasks) =>
      tasks.handle(reportTaskType, async ({ rows }, context) => {
        if (rows > 0) await context.writeCsv({ name: 'a.csv' }, [], [])
        if (rows > 1) throw new Error('after its file')
      }),
  })
  const ids: number[] = []
  for (let count = 0; count < 70; count++)
    ids.push((await tasks.submit(reportTaskType, { rows: count % 35 }, owner)).id)
  for (const id of ids) await until(async () => (await tasks.get(id)).finishedAt !== null, `${id} ends`)
  clock.shiftWallClock(hour + 1)
  const withFile = 68
  looks = 0
  const task = running.service(declaredTasks).scheduledTasks.find(({ name }) => name === 'async-task.purge')
  await task?.run(new AbortController().signal)
  t.equal((await tasks.list({}, { count: 'exact' })).total, 0)
  t.equal(disk.files.size, 0)
  t.equal(looks, withFile, 'one for each of those that began a file')
})
