import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { database } from '@plinth/database'
import { events } from '@plinth/events'
import { http, metrics } from '@plinth/http'
import { i18n } from '@plinth/i18n'
import { accounts, identity } from '@plinth/iam'
import { definePlugin, kernel, optional } from '@plinth/kernel'
import { bullmqEngine, embeddedEngine, leaseTimes } from '@plinth/scheduler'
import { PollLoop, sharedStore, WakeUp } from '@plinth/shared-store'
import { storage } from '@plinth/storage'
import { Artifacts } from './artifacts.ts'
import { keys } from './config.ts'
import { asyncTasks } from './contract.ts'
import { entities } from './entities.ts'
import { asyncTaskError } from './errors.ts'
import { failureEvents } from './failure-events.ts'
import { messages } from './failures.ts'
import { LeaseWatch } from './lease-watch.ts'
import { changeSets } from './migrations/index.ts'
import { purgeTask } from './purge-task.ts'
import { addRoutes } from './routes.ts'
import { runMetrics } from './run-metrics.ts'
import { TaskAccess, urlGuardName } from './task-access.ts'
import { TaskDispatch } from './task-dispatch.ts'
import { activeOwners } from './task-owners.ts'
import { TaskRows } from './task-rows.ts'
import { TaskRunner } from './task-runner.ts'
import { TaskService } from './task-service.ts'
import { TaskTypes } from './task-types.ts'

/** Tasks that one look puts into the queue of BullMQ: far more than run at a time. */
const offersPerLook = 100

/** Queued tasks with progress, cancel and a file as their result (decision A13). */
export default definePlugin({
  id: 'async-task',
  version: '1.0.0',
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
  },
  provides: [asyncTasks],
  config: keys,
  migrations: changeSets,
  entities,
  messages,
  scheduledTasks: [purgeTask],
  setup({ plugin, services, config, clock, log, redact, roles, provide, onReady, onDrain, onStop }) {
    const { kernel: product, database: db, storage, i18n } = services
    const leaseMs = config.get('platform.async-task.lease')
    const times = leaseTimes(leaseMs)
    const instance = `${hostname().slice(0, 64)}:${process.pid}:${randomBytes(6).toString('hex')}`
    const permissions = new Set(product.plugins.flatMap(({ permissions = [] }) => permissions.map(({ code }) => code)))
    const types = new TaskTypes((code) => permissions.has(code))
    const isActiveOwner = activeOwners(services.accounts)
    const rows = new TaskRows(db, clock, instance)
    const artifacts = new Artifacts(storage)
    const publishFailure = failureEvents(services.events)

    let loop: PollLoop | undefined
    const wake = () => loop?.wake()
    const wakeUp = new WakeUp({ store: services.sharedStore, channel: 'async-task.wake-up', wake, log })
    onStop(() => wakeUp.stop())
    const limits = () => ({
      capacity: config.get('platform.async-task.queue.capacity'),
      perOwner: config.get('platform.async-task.queue.per-owner'),
    })
    const tasks = new TaskService({ db, types, rows, limits, onChanged: () => wakeUp.send() })
    provide(asyncTasks, tasks)
    if (services.http !== undefined) {
      const access = new TaskAccess({ tasks, types, product, identity: services.identity })
      storage.guardUrls(urlGuardName, access.guard)
      addRoutes({
        ...{ http: services.http, plugin: plugin.id, product, tasks, access, storage, clock },
        nameOf: (type) => types.find(type)?.type.displayName ?? type,
        translate: (...text) => i18n?.translate(...text),
        urlLifetimeMs: () => config.get('platform.async-task.download-url.lifetime'),
      })
    }
    config.onVerify('platform.async-task.engine', (engine) => {
      if (engine !== 'bullmq' || services.sharedStore?.redis !== undefined) return
      throw asyncTaskError('PLINTH_ASYNC_TASK_NO_REDIS')
    })
    if (!roles.has('worker')) return

    const counts = services.metrics && runMetrics(services.metrics, db)
    const concurrency = config.get('platform.async-task.concurrency')
    const runner = new TaskRunner({
      ...{ types, rows, artifacts, times, clock, log, concurrency, publishFailure, isActiveOwner, metrics: counts },
      deadlineMs: () => config.get('platform.async-task.deadline'),
      redact,
      onEnded: wake,
    })
    const engines = {
      embedded: () => ({ engine: embeddedEngine(), offers: () => runner.free }),
      bullmq: () => {
        const server = services.sharedStore?.redis
        if (server === undefined) throw asyncTaskError('PLINTH_ASYNC_TASK_NO_REDIS')
        const engine = bullmqEngine({ queueName: 'async-task', server, leaseMs, concurrency, clock, log })
        return { engine, offers: () => offersPerLook }
      },
    }
    const { engine, offers } = engines[config.get('platform.async-task.engine')]()
    const pollMs = () => Math.min(config.get('platform.async-task.poll-interval'), times.longestPollMs)
    const dispatch = new TaskDispatch({
      pollMs,
      ...{ types, rows, watch: new LeaseWatch(clock, times), runner, artifacts, engine, offers, publishFailure },
      isActiveOwner,
      maxAttempts: () => config.get('platform.async-task.max-attempts'),
      ...{ clock, log },
    })
    const idleMs = () => times.longestIdleMs
    loop = new PollLoop({ look: () => dispatch.look(), pollMs, idleMs, subject: 'asynchronous tasks', clock, log })

    onReady(async () => {
      await engine.start((taskId) => runner.run(Number(taskId)))
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
