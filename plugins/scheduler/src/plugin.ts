import { backOffice, labelSources } from '@plinth/admin'
import {
  checkQueueServer,
  createEngine,
  leaseTimeLimits,
  RunEngine,
  verifyEngine,
  WakeUpSignal,
} from '@plinth/coordination'
import { database } from '@plinth/database'
import { events } from '@plinth/events'
import { http, metrics } from '@plinth/http'
import { auditTexts, definePlugin, healthCheck, kernel, optional, tracing } from '@plinth/kernel'
import { declaredTasks, instanceName, pluginData } from '@plinth/kernel/host'
import { sharedStore } from '@plinth/shared-store'
import { needsAttention, pages } from './admin-pages.ts'
import { clockRoutes } from './clock-routes.ts'
import { keys } from './config.ts'
import { scheduledTaskFailed, scheduler } from './contract.ts'
import { audited, businessError, messages, permissions, taskLabels } from './declarations.ts'
import { entities } from './entities.ts'
import { createScheduler } from './migrations/0001-create-scheduler.ts'
import { indexOutcomes } from './migrations/0002-index-outcomes.ts'
import { routes } from './routes.ts'
import { SchedulerService } from './scheduler-service.ts'
import { TaskDispatch, UnchangedTaskWatch } from './task-dispatch.ts'
import { TaskRows, taskData } from './task-rows.ts'
import { createFailurePublisher, createRunMetrics, TaskRunner } from './task-runner.ts'

/**
 * Runs the scheduled tasks of all plugins, each on one instance at a time (requirements K-011, K-018; decision A11).
 */
export default definePlugin({
  id: 'scheduler',
  version: '1.0.0',
  businessErrors: [businessError],
  kernel: '^1.0.0',
  implements: ['scheduledTasks'],
  requires: {
    kernel,
    declaredTasks,
    database,
    http: optional(http),
    metrics: optional(metrics),
    events: optional(events),
    sharedStore: optional(sharedStore),
    tracing: optional(tracing),
  },
  provides: [scheduler],
  contributes: [
    auditTexts.of(audited),
    healthCheck,
    pluginData,
    ...backOffice({ pages, attention: needsAttention }),
    optional(labelSources),
  ],
  config: keys,
  configGroups: { scheduler: { en: 'Schedules', 'zh-CN': '定时任务' } },
  permissions,
  migrations: [createScheduler, indexOutcomes],
  entities,
  messages,
  async setup({
    services,
    config,
    clock: processClock,
    log,
    redact,
    roles,
    provide,
    contribute,
    onReady,
    onDrain,
    onStop,
  }) {
    const { kernel: product, database: db } = services
    const { clock } = db
    const tasks = services.declaredTasks.scheduledTasks
    const leaseMs = config.get('platform.scheduler.lease')
    const times = leaseTimeLimits(leaseMs)
    const rows = new TaskRows(db, clock, instanceName())
    const redis = services.sharedStore?.redis
    const about = { subject: 'scheduled tasks', clock, log }

    let worker: RunEngine | undefined
    const wake = () => worker?.wake()
    const wakeUp = new WakeUpSignal({ ...about, messages: services.sharedStore, channel: 'scheduler.wake-up', wake })
    const service = new SchedulerService({ tasks, rows, db, clock, leaseMs, onChanged: () => wakeUp.send() })
    onStop(() => wakeUp.stop())
    provide(scheduler, service)
    services.events?.declarePublished(scheduledTaskFailed)
    contribute(labelSources, 'scheduler.task', taskLabels(tasks))
    contribute(pluginData, 'scheduled-tasks', taskData(db, tasks))
    services.http?.addRoutes(routes, { scheduler: service, product })
    services.http?.addRoutes(clockRoutes, { db, hostNow: () => processClock.now(), product })
    config.onVerify('platform.scheduler.engine', (engine) => verifyEngine('scheduler', engine, redis))
    const checkQueue = () => checkQueueServer('scheduler', config.get('platform.scheduler.engine'), redis)
    if (roles.has('worker')) await checkQueue()
    // A command, such as `plinth doctor`, predicts whether a worker starts.
    else if (!roles.has('web')) contribute(healthCheck, 'scheduler.queue', checkQueue)

    if (!roles.has('worker') || tasks.length === 0) return

    const counts = services.metrics && createRunMetrics(services.metrics, () => dispatch.overdue()?.ms ?? 0)
    const watch = new UnchangedTaskWatch(clock, times)
    const runner = new TaskRunner({
      tasks,
      rows,
      watch,
      times,
      clock,
      log,
      redact,
      tracer: services.tracing?.tracer,
      metrics: counts,
      onEnded: wake,
      publishFailure: services.events && createFailurePublisher(services.events, db),
      historySize: () => config.get('platform.scheduler.history.size'),
    })
    const { runs } = runner
    const engine = createEngine({
      engine: config.get('platform.scheduler.engine'),
      server: redis,
      queueName: 'scheduler',
      leaseMs,
      concurrency: tasks.length,
      clock,
      log,
    })
    const dispatch = new TaskDispatch({ tasks, rows, watch, runs, engine, clock, log })
    worker = new RunEngine({
      ...about,
      engine,
      times,
      runs,
      wakeUp,
      run: (name) => runs.run(name),
      look: (pollMs) => dispatch.look(pollMs),
      pollIntervalMs: () => config.get('platform.scheduler.poll-interval'),
    })
    // A process that serves requests has no health check for overdue tasks, because it must continue to serve. There,
    // only a metric reports overdue tasks.
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
    worker.attach({ onReady, onDrain, onStop })
  },
})
