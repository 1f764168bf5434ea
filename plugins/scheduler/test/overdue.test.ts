/**
 * Tests due tasks that do not start. If the queue does not respond, the instance runs the task directly. If nothing
 * starts it, this is reported.
 */

import { BullmqEngine, type QueueServer } from '@plinth/coordination'
import { manualClock, rejectsWith, until } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import { createRedisNamespace, skipRedis } from '@plinth/dev/testing/shared-store'
import httpPlugin, { http } from '@plinth/http'
import i18nPlugin from '@plinth/i18n'
import { healthCheck } from '@plinth/kernel'
import { Queue } from 'bullmq'
import { Redis } from 'ioredis'
import pino from 'pino'
import t, { type Test } from 'tap'
import { Probe, probePlugin } from './fixtures/probe-task.ts'
import { startScheduler } from './fixtures/products.ts'
import { bullmq } from './fixtures/redis.ts'

async function sqlite(t: Test) {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  return db
}

t.test('a run that the queue accepts and nobody begins is started directly', { skip: skipRedis }, async (t) => {
  const space = createRedisNamespace()
  t.teardown(() => space.drop())
  const connection = { host: '127.0.0.1', port: 6379 }
  const queue = new Queue('scheduler', { connection, prefix: `{${space.keyPrefix}}`, skipVersionCheck: true })
  t.teardown(() => queue.close())
  await queue.pause()
  const probe = new Probe()
  const { clock } = await startScheduler(t, await sqlite(t), {
    plugins: [probePlugin(probe)],
    config: { ...space.config, ...bullmq },
  })
  await until(async () => (await queue.count()) === 1, 'the run is offered')
  t.equal(probe.begun.length, 0, 'first it is for all instances')
  await until(async () => {
    await clock.advance(1000)
    return probe.begun.length === 1
  }, 'it begins all the same')
  t.ok((probe.begun[0] ?? 0) >= 5000, `after ${probe.begun[0]} ms`)
})

t.test('a due task that nobody begins is overdue until it is paused', async (t) => {
  const db = await sqlite(t)
  const probe = new Probe()
  const worker = await startScheduler(t, db, { plugins: [probePlugin(probe)] })
  await until(async () => (await worker.scheduler.get('probe.task')).lastRun?.outcome === 'succeeded', 'it has run')
  await worker.running.stop('nobody is left who runs it')
  const clock = manualClock(worker.clock.now())
  const web = await startScheduler(t, db, { plugins: [probePlugin(probe)], clock, roles: ['web'] })
  const isOverdue = async () => (await web.scheduler.list()).find(({ name }) => name === 'probe.task')?.overdue
  t.equal(await isOverdue(), false)
  clock.shiftWallClock(61_000)
  t.equal(await isOverdue(), false, 'due, and not for long')
  clock.shiftWallClock(3_600_000)
  t.equal(await isOverdue(), true)
  await web.scheduler.runNow('probe.task')
  t.same(
    (await web.scheduler.get('probe.task')).nextRunAt,
    new Date(clock.now()),
    'a requested run is due now, not when the schedule was',
  )
  await web.scheduler.pause('probe.task')
  t.equal(await isOverdue(), false)
})

t.test('requesting a run wakes the workers, however long they pause', { skip: skipRedis }, async (t) => {
  const space = createRedisNamespace()
  t.teardown(() => space.drop())
  const db = await sqlite(t)
  const probe = new Probe()
  const { config } = space
  const { clock } = await startScheduler(t, db, { plugins: [probePlugin(probe)], config })
  const web = await startScheduler(t, db, { plugins: [probePlugin(probe)], config, roles: ['web'] })
  await until(async () => (await web.scheduler.get('probe.task')).lastRun?.outcome === 'succeeded', 'it has run')
  await clock.advance(30_000)
  await web.scheduler.runNow('probe.task')
  // The clock of the worker does not advance, so without a message the worker would sleep forever.
  await until(() => probe.begun.length === 2, 'it runs again')
})

t.test('a draining instance takes nothing more from the queue', { skip: skipRedis }, async (t) => {
  const space = createRedisNamespace()
  t.teardown(() => space.drop())
  const ran: Record<'leaving' | 'staying', string[]> = { leaving: [], staying: [] }
  const start = async (name: keyof typeof ran) => {
    const connect: QueueServer['connect'] = (options) => new Redis({ port: 6379, disconnectTimeout: 500, ...options })
    const engine = new BullmqEngine({
      queueName: 'drained',
      server: {
        connect,
        evictionPolicy: async () => 'noeviction',
        keyPrefix: space.keyPrefix,
        commandTimeoutMs: 30_000,
      },
      leaseMs: 60_000,
      concurrency: 4,
      clock: manualClock(),
      log: pino({ level: 'silent' }),
    })
    await engine.start(async (task) => {
      ran[name].push(task)
    })
    t.teardown(() => engine.stop())
    return engine
  }
  const leaving = await start('leaving')
  leaving.dispatch('first', 'first')
  await until(() => ran.leaving.length === 1, 'it works before')
  await leaving.drain()
  const staying = await start('staying')
  const tasks = Array.from({ length: 30 }, (_, index) => `task-${index}`)
  for (const task of tasks) staying.dispatch(task, task)
  await until(() => ran.staying.length === tasks.length, 'all runs go to the other instance')
  t.same(ran.staying.toSorted(), tasks.toSorted(), 'each once')
  t.same(ran.leaving, ['first'])
})

t.test('a due task that cannot begin makes the health check of a worker fail and is measured', async (t) => {
  const { running, clock, db, scheduler } = await startScheduler(t, await sqlite(t), {
    roles: ['worker'],
    plugins: [httpPlugin, i18nPlugin, probePlugin(new Probe())],
    config: { 'platform.http.port': 0, 'platform.scheduler.lease': '30s' },
  })
  const check = async () => running.contributions(healthCheck).get('scheduler')?.(new AbortController().signal)
  const seconds = async () => {
    const { body } = await running.service(http).inject('/metrics')
    return Number(/^scheduler_task_overdue_seconds (\S+)$/m.exec(body)?.[1])
  }
  const later = async () => {
    await clock.advance(1000)
    return seconds()
  }
  await until(async () => (await scheduler.get('probe.task')).lastRun?.outcome === 'succeeded', 'it has run')
  await check()

  await db.execute('alter table scheduler_run rename to hidden_run')
  await clock.advance(60_000)
  await until(async () => (await later()) > 10, 'it is overdue')
  await check()
  await until(async () => (await later()) > 30, 'it is overdue for longer than a lease')
  await rejectsWith(t, check(), { message: /"probe\.task" has been due for 3\d s/ })
  t.equal((await running.service(http).inject('/health/ready')).statusCode, 503)

  await db.execute('alter table hidden_run rename to scheduler_run')
  await until(async () => (await later()) === 0, 'it has begun')
  await check()
})
