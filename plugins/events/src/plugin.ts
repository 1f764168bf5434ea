import { database } from '@plinth/database'
import { http, metrics } from '@plinth/http'
import { definePlugin, kernel, optional } from '@plinth/kernel'
import { sharedStore } from '@plinth/shared-store'
import { Backlog } from './backlog.ts'
import { keys } from './config.ts'
import { events } from './contract.ts'
import { Deliverer } from './deliverer.ts'
import { deliveryMetrics } from './delivery-metrics.ts'
import { Dispatcher } from './dispatcher.ts'
import { entities } from './entities.ts'
import { EventsService } from './events-service.ts'
import { messages } from './failures.ts'
import { HandlerRegistry } from './handler-registry.ts'
import { createOutbox } from './migrations/0001-create-outbox.ts'
import { indexTurns } from './migrations/0002-index-turns.ts'
import { OutboxAdmin } from './outbox-admin.ts'
import { OutboxStore } from './outbox-store.ts'
import { databaseTime } from './outbox-time.ts'
import { OutboxWriter } from './outbox-writer.ts'
import { permissions } from './permissions.ts'
import { purgeTask } from './purge-task.ts'
import { addOutboxRoutes } from './routes.ts'
import { WakeUps } from './wake-ups.ts'

/** Typed events: told in the process, or kept in the outbox and delivered after the commit (K-013). */
export default definePlugin({
  id: 'events',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: {
    ...{ kernel, database, http: optional(http), metrics: optional(metrics) },
    sharedStore: optional(sharedStore),
  },
  provides: [events],
  config: keys,
  permissions,
  migrations: [createOutbox, indexTurns],
  entities,
  messages,
  scheduledTasks: [purgeTask],
  setup({ services, config, clock, log, redact, roles, provide, onReady, onDrain, onStop }) {
    const { kernel, database: db, http, metrics, sharedStore } = services
    const handlerDeadlineMs = () => config.get('platform.events.handler-deadline')
    const leaseMs = config.get('platform.events.dispatcher.lease')

    const handlers = new HandlerRegistry(db, clock)
    const store = new OutboxStore(db, clock, databaseTime(db, clock), () =>
      Math.max(leaseMs, config.get('platform.events.retry.max-delay')),
    )
    // On the database a message would cost as much as the look that it saves.
    const wakeUps = sharedStore?.driver === 'redis' ? new WakeUps(sharedStore, clock, log) : undefined
    const backlog = new Backlog(db, clock)
    const measured =
      metrics === undefined ? undefined : deliveryMetrics(metrics, backlog, (type) => handlers.knows(type))
    if (measured !== undefined) onStop(measured.stop)
    const count = measured?.count ?? (() => {})
    const writer = new OutboxWriter({
      db,
      clock,
      committed: (hint) => (dispatcher === undefined ? wakeUps?.announce() : dispatcher.wake(hint)),
      // While plugins are still set up, handlers may follow.
      isUnheard: (type) => dispatcher?.isRunning === true && !handlers.knows(type),
      passed: (type) => count(type, 'delivered'),
    })
    const deliverer = new Deliverer({
      db,
      store,
      handlers,
      publish: (ref, payload, options) => writer.publish(ref, payload, options),
      settings: () => ({
        leaseMs,
        handlerDeadlineMs: handlerDeadlineMs(),
        maxAttempts: config.get('platform.events.retry.max-attempts'),
        initialDelayMs: config.get('platform.events.retry.initial-delay'),
        maxDelayMs: config.get('platform.events.retry.max-delay'),
      }),
      redact,
      count,
      random: Math.random,
      clock,
      log,
    })
    const delivers = roles.has('worker') && config.get('platform.events.dispatcher.auto-startup')
    const dispatcher = delivers
      ? new Dispatcher({
          store,
          deliverer,
          concurrency: config.get('platform.events.dispatcher.concurrency'),
          pollIntervalMs: () => config.get('platform.events.dispatcher.poll-interval'),
          clock,
          log,
        })
      : undefined
    const service = new EventsService({ db, handlers, writer, dispatcher, handlerDeadlineMs, redact, clock, log })

    provide(events, service)
    const admin = new OutboxAdmin({ db, store, backlog, replayed: () => dispatcher?.wake() })
    if (http !== undefined) addOutboxRoutes({ http, product: kernel, db, admin, redact, log })

    onReady(async () => {
      dispatcher?.start()
      if (dispatcher !== undefined) await wakeUps?.listen(() => dispatcher.wake())
    })
    onDrain((signal) => service.drain(signal))
    // What requests emitted that ended after that.
    onStop(() => service.settled())
    if (wakeUps !== undefined) onStop(() => wakeUps.stop())
  },
})
