import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { database } from '@plinth/database'
import { events } from '@plinth/events'
import { http, metrics } from '@plinth/http'
import { declaredTasks, definePlugin, healthCheck, kernel, optional } from '@plinth/kernel'
import { PollLoop, sharedStore, WakeUp } from '@plinth/shared-store'
import { bullmqEngine } from './bullmq-engine.ts'
import { keys } from './config.ts'
import { scheduler } from './contract.ts'
import { embeddedEngine } from './embedded-engine.ts'
import { entities } from './entities.ts'
import { schedulerError } from './errors.ts'
import { failureEvents } from './failure-events.ts'
import { messages } from './failures.ts'
import { leaseTimes } from './lease-times.ts'
import { changeSets } from './migrations/index.ts'
import { permissions } from './permissions.ts'
import { addRoutes } from './routes.ts'
import { runMetrics } from './run-metrics.ts'
import { SchedulerService } from './scheduler-service.ts'
import { TaskDispatch } from './task-dispatch.ts'
import { TaskRows } from './task-rows.ts'
import { TaskRunner } from './task-runner.ts'
import { TaskWatch } from './task-watch.ts'

/** Runs the scheduled tasks of all plugins, each on one instance at a time (K-011, K-018, decision A11). */
export default definePlugin({
  id: 'scheduler',
  version: '1.0.0',
  kernel: '^1.0.0',
  carriesOut: ['scheduledTasks'],
  requires: {
    kernel,
    declaredTasks,
    database,
    http: optional(http),
    metrics: optional(metrics),
    events: optional(events),
    sharedStore: optional(sharedStore),
  },
  provides: [scheduler],
  contributes: [healthCheck],
  config: keys,
  permissions,
  migrations: changeSets,
  entities,
  messages,
  setup({ plugin, services, config, clock, log, redact, roles, provide, contribute, onReady, onDrain, onStop }) {
    const { kernel: product, database: db } = services
    const tasks = services.declaredTasks.scheduledTasks
    const byName = new Map(tasks.map((task) => [task.name, task]))
    const leaseMs = config.get('platform.scheduler.lease')
    const times = leaseTimes(leaseMs)
    const instance = `${hostname().slice(0, 64)}:${process.pid}:${randomBytes(6).toString('hex')}`
    const rows = new TaskRows(db, clock, instance)

    let loop: PollLoop | undefined
    const wakeUp = new WakeUp({
      ...{ store: services.sharedStore, channel: 'scheduler.wake-up', log },
      wake: () => loop?.wake(),
    })
    const service = new SchedulerService({ tasks, rows, db, clock, onChanged: () => wakeUp.send() })
    onStop(() => wakeUp.stop())
    provide(scheduler, service)
    if (services.http !== undefined) addRoutes(services.http, plugin.id, service, product)
    config.onVerify('platform.scheduler.engine', (engine) => {
      if (engine === 'bullmq' && services.sharedStore?.redis === undefined)
        throw schedulerError('PLINTH_SCHEDULER_NO_REDIS')
    })

    if (!roles.has('worker') || tasks.length === 0) return

    const counts = services.metrics && runMetrics(services.metrics, () => dispatch.overdue()?.ms ?? 0)
    const watch = new TaskWatch(clock, times)
    const runner = new TaskRunner({
      ...{ rows, watch, times, clock, log, metrics: counts },
      publishFailure: services.events && failureEvents(services.events, db),
      redact,
      historySize: () => config.get('platform.scheduler.history.size'),
      onEnded: () => loop?.wake(),
    })
    const engines = {
      embedded: embeddedEngine,
      bullmq: () => {
        const server = services.sharedStore?.redis
        if (server === undefined) throw schedulerError('PLINTH_SCHEDULER_NO_REDIS')
        return bullmqEngine({ queueName: 'scheduler', server, leaseMs, concurrency: tasks.length, clock, log })
      },
    }
    const engine = engines[config.get('platform.scheduler.engine')]()
    const pollMs = () => Math.min(config.get('platform.scheduler.poll-interval'), times.longestPollMs)
    const dispatch = new TaskDispatch({ tasks, rows, watch, runner, engine, pollMs, clock, log })
    const idleMs = () => times.longestIdleMs
    loop = new PollLoop({ look: () => dispatch.look(), pollMs, idleMs, subject: 'scheduled tasks', clock, log })
    // What serves requests as well goes on serving them: there the metric alone reports it.
    if (!roles.has('web')) {
      contribute(healthCheck, 'scheduler', () => {
        const overdue = dispatch.overdue()
        if (overdue === undefined || overdue.ms <= leaseMs) return
        const seconds = Math.round(overdue.ms / 1000)
        throw new Error(
          `The scheduled task "${overdue.task}" has been due for ${seconds} s, and no instance begins it.`,
        )
      })
    }

    onReady(async () => {
      await engine.start(async (name) => {
        const task = byName.get(name)
        if (task !== undefined) await runner.run(task)
      })
      await wakeUp.listen()
      loop.start()
    })
    onDrain(async (signal) => {
      await wakeUp.stop()
      await loop.stop()
      await Promise.all([engine.drain(), runner.drain(signal)])
    })
    onStop(async () => {
      await loop.stop()
      runner.stop()
      await engine.stop()
      counts?.stop()
    })
  },
})
