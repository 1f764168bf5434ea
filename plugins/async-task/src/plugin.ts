import { backOffice, labelSources } from '@plinth/admin'
import {
  checkQueueServer,
  createEngine,
  leaseTimeLimits,
  RunEngine,
  UnchangedRowWatch,
  verifyEngine,
  WakeUpSignal,
} from '@plinth/coordination'
import { database } from '@plinth/database'
import { events } from '@plinth/events'
import { http, metrics } from '@plinth/http'
import { i18n } from '@plinth/i18n'
import { accounts, identity } from '@plinth/iam'
import { auditTexts, definePlugin, healthCheck, kernel, optional, personalData, tracing } from '@plinth/kernel'
import { instanceName, pluginData } from '@plinth/kernel/host'
import { sharedStore } from '@plinth/shared-store'
import { storage } from '@plinth/storage'
import { needsAttention, pages } from './admin-pages.ts'
import { Artifacts, artifactDirectory } from './artifacts.ts'
import { keys } from './config.ts'
import { asyncTaskFailed, asyncTasks } from './contract.ts'
import { audited, businessError, createFailurePublisher, messages } from './declarations.ts'
import { entities, pluginTasks, taskTables } from './entities.ts'
import { createAsyncTask } from './migrations/0001-create-async-task.ts'
import { addTurnTables } from './migrations/0002-take-turns.ts'
import { indexFilters } from './migrations/0003-index-filters.ts'
import { addColumnStatistics } from './migrations/0004-count-pairs.ts'
import { routes } from './routes.ts'
import { TaskAccess, urlGuardName } from './task-access.ts'
import { TaskDispatch } from './task-dispatch.ts'
import { TaskRows } from './task-rows.ts'
import { createActiveOwnerCheck, createRunMetrics, TaskRunner } from './task-runner.ts'
import { TaskService } from './task-service.ts'
import { TaskTypes, typeLabels } from './task-types.ts'
import { purgeFinishedTasks } from './tasks.ts'

/** Queued tasks with progress, cancellation and a result file (decision A13). */
export default definePlugin({
  id: 'async-task',
  version: '1.0.0',
  businessErrors: [businessError],
  kernel: '^1.0.0',
  requires: {
    kernel,
    database,
    storage,
    http: optional(http),
    metrics: optional(metrics),
    i18n: optional(i18n),
    events: optional(events),
    sharedStore: optional(sharedStore),
    identity: optional(identity),
    accounts: optional(accounts),
    tracing: optional(tracing),
  },
  provides: [asyncTasks],
  contributes: [
    auditTexts.of(audited),
    healthCheck,
    personalData,
    pluginData,
    ...backOffice({ pages, attention: needsAttention }),
    optional(labelSources),
  ],
  config: keys,
  configGroups: { 'async-task': { en: 'Background tasks', 'zh-CN': '后台任务' } },
  migrations: [createAsyncTask, addTurnTables, indexFilters, addColumnStatistics],
  entities,
  messages,
  scheduledTasks: [purgeFinishedTasks],
  async setup({ services, config, log, redact, roles, provide, contribute, onReady, onDrain, onStop }) {
    const { kernel: product, database: db, storage, i18n } = services
    const { clock } = db
    const leaseMs = config.get('platform.async-task.lease')
    const times = leaseTimeLimits(leaseMs)
    const permissions = new Set(product.plugins.flatMap(({ permissions = [] }) => permissions.map(({ code }) => code)))
    const types = new TaskTypes((code) => permissions.has(code))
    const isActiveOwner = createActiveOwnerCheck(services.accounts)
    const rows = new TaskRows(db, clock, instanceName())
    const artifacts = new Artifacts(storage)
    const publishFailure = createFailurePublisher(services.events)
    services.events?.declarePublished(asyncTaskFailed)
    const redis = services.sharedStore?.redis
    const about = { subject: 'asynchronous tasks', clock, log }

    let worker: RunEngine | undefined
    const wake = () => worker?.wake()
    const wakeUp = new WakeUpSignal({ ...about, messages: services.sharedStore, channel: 'async-task.wake-up', wake })
    onStop(() => wakeUp.stop())
    const limits = () => ({
      capacity: config.get('platform.async-task.queue.capacity'),
      perOwner: config.get('platform.async-task.queue.per-owner'),
    })
    const tasks = new TaskService({ db, types, rows, limits, onChanged: () => wakeUp.send() })
    provide(asyncTasks, tasks)
    contribute(personalData, 'async-task', taskTables(db, artifacts))
    contribute(pluginData, 'async-tasks', pluginTasks(db, artifacts, product.plugins))
    contribute(labelSources, 'async-task.type', typeLabels(types))
    if (services.http !== undefined) {
      const access = new TaskAccess({ tasks, types, product, identity: services.identity })
      storage.guardUrls(urlGuardName, access.guard, artifactDirectory)
      services.http.addRoutes(routes, {
        product,
        tasks,
        readers: access,
        storage,
        clock,
        nameOf: (type) => types.find(type)?.type.displayName ?? type,
        translate: (...text) => i18n?.translate(...text),
        urlLifetimeMs: () => config.get('platform.async-task.download-url.lifetime'),
      })
    }
    config.onVerify('platform.async-task.engine', (engine) => verifyEngine('async-task', engine, redis))
    const checkQueue = () => checkQueueServer('async-task', config.get('platform.async-task.engine'), redis)
    if (roles.has('worker')) await checkQueue()
    // A command, such as `plinth doctor`, predicts whether a worker starts.
    else if (!roles.has('web')) contribute(healthCheck, 'async-task.queue', checkQueue)
    if (!roles.has('worker')) return

    const counts = services.metrics && createRunMetrics(services.metrics, db)
    const slots = {
      database: config.get('platform.async-task.concurrency'),
      network: config.get('platform.async-task.network-concurrency'),
    }
    const runner = new TaskRunner({
      types,
      rows,
      artifacts,
      times,
      clock,
      log,
      slots,
      publishFailure,
      isActiveOwner,
      metrics: counts,
      redact,
      tracer: services.tracing?.tracer,
      onEnded: wake,
      deadlineMs: () => config.get('platform.async-task.deadline'),
    })
    const { runs } = runner
    const engine = createEngine({
      engine: config.get('platform.async-task.engine'),
      server: redis,
      queueName: 'async-task',
      leaseMs,
      concurrency: slots.database + slots.network,
      clock,
      log,
    })
    const dispatch = new TaskDispatch({
      types,
      rows,
      watch: new UnchangedRowWatch(clock, times.lapseMs),
      runs,
      freeOf: (lane) => runner.freeOf(lane),
      artifacts,
      engine,
      publishFailure,
      isActiveOwner,
      maxAttempts: () => config.get('platform.async-task.max-attempts'),
      clock,
      log,
    })
    worker = new RunEngine({
      ...about,
      engine,
      times,
      runs,
      wakeUp,
      run: (taskId) => runs.run(Number(taskId)),
      look: (pollMs) => dispatch.look(pollMs),
      pollIntervalMs: () => config.get('platform.async-task.poll-interval'),
    })
    worker.attach({ onReady, onDrain, onStop })
  },
})
