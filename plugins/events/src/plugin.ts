import { backOffice, labelSources } from '@plinth/admin'
import { databaseTime, WakeUpSignal } from '@plinth/coordination'
import { database, type WithDatabase } from '@plinth/database'
import { http, metrics } from '@plinth/http'
import { auditTexts, definePlugin, kernel, optional, personalData, tracing } from '@plinth/kernel'
import { pluginData } from '@plinth/kernel/host'
import { sharedStore } from '@plinth/shared-store'
import { needsAttention, outboxTiles, pages } from './admin-pages.ts'
import { Backlog, deliveryMetrics } from './backlog.ts'
import { keys } from './config.ts'
import { events, outboxDeliveryFailed } from './contract.ts'
import { audited, businessError, messages, permissions } from './declarations.ts'
import { Deliverer } from './deliverer.ts'
import { Dispatcher } from './dispatcher.ts'
import { entities, eventData, eventTables } from './entities.ts'
import { EventsService } from './events-service.ts'
import { HandlerRegistry } from './handler-registry.ts'
import { createOutbox } from './migrations/0001-create-outbox.ts'
import { indexEventOrder } from './migrations/0002-index-turns.ts'
import { indexFilters } from './migrations/0003-index-filters.ts'
import { scheduleEvents } from './migrations/0004-schedule-events.ts'
import { addLanes } from './migrations/0005-add-lanes.ts'
import { addTraceparent } from './migrations/0006-add-traceparent.ts'
import { eventLabels, OutboxAdmin } from './outbox-admin.ts'
import { OutboxStore } from './outbox-store.ts'
import { OutboxWriter } from './outbox-writer.ts'
import { outboxRoutes } from './routes.ts'
import { purgeOutbox } from './tasks.ts'

/**
 * Typed events. They are emitted in this process, or stored in the outbox and delivered after the commit (requirement
 * K-013).
 */
export default definePlugin({
  id: 'events',
  version: '1.0.0',
  businessErrors: [businessError],
  kernel: '^1.0.0',
  requires: {
    kernel,
    database,
    http: optional(http),
    metrics: optional(metrics),
    sharedStore: optional(sharedStore),
    tracing: optional(tracing),
  },
  provides: [events],
  contributes: [
    auditTexts.of(audited),
    personalData.of(({ database }: WithDatabase) => ({ events: eventTables(database) })),
    pluginData,
    ...backOffice({ pages, attention: needsAttention, tiles: outboxTiles }),
    optional(labelSources),
  ],
  config: keys,
  configGroups: { events: { en: 'Events', 'zh-CN': '事件' } },
  permissions,
  migrations: [createOutbox, indexEventOrder, indexFilters, scheduleEvents, addLanes, addTraceparent],
  entities,
  messages,
  scheduledTasks: [purgeOutbox],
  setup({ services, config, log, redact, roles, provide, contribute, onReady, onDrain, onStop }) {
    const { kernel, database: db, http, metrics, sharedStore } = services
    const { clock } = db
    const tracer = services.tracing?.tracer
    const handlerDeadlineMs = () => config.get('platform.events.handler-deadline')
    const leaseMs = config.get('platform.events.dispatcher.lease')

    const handlers = new HandlerRegistry(db, clock)
    const time = databaseTime(db, clock)
    const store = new OutboxStore(db, clock, time, () =>
      Math.max(leaseMs, config.get('platform.events.retry.max-delay')),
    )
    const wakeUp = new WakeUpSignal({
      // Without Redis, a message would cost as much as the poll that it saves.
      messages: sharedStore?.driver === 'redis' ? sharedStore : undefined,
      channel: 'events.published',
      subject: 'new events',
      wake: () => dispatcher?.wake(),
      clock,
      log,
    })
    const backlog = new Backlog(db, clock)
    const count = metrics === undefined ? () => {} : deliveryMetrics(metrics, backlog, (type) => handlers.knows(type))
    const writer = new OutboxWriter({
      db,
      clock,
      time,
      committed: (hint) => {
        dispatcher?.wake(hint)
        // Another instance may have free slots.
        if (dispatcher === undefined || (hint !== undefined && dispatcher.isBusy(hint.lane))) wakeUp.tellOthers()
      },
      // During setup, handlers may still be added. So no event counts as unheard before the dispatcher runs.
      isUnheard: (type) => dispatcher?.isRunning === true && !handlers.knows(type),
      passed: (type) => count(type, 'delivered'),
      laneOf: (type) => handlers.laneOf(type),
      tracer,
    })
    const deliverer = new Deliverer({
      db,
      store,
      handlers,
      redact,
      count,
      random: Math.random,
      clock,
      log,
      tracer,
      publish: (ref, payload, options) => writer.publish(ref, payload, options),
      settings: () => ({
        leaseMs,
        handlerDeadlineMs: handlerDeadlineMs(),
        maxAttempts: config.get('platform.events.retry.max-attempts'),
        initialDelayMs: config.get('platform.events.retry.initial-delay'),
        maxDelayMs: config.get('platform.events.retry.max-delay'),
      }),
    })
    const delivers = roles.has('worker') && config.get('platform.events.dispatcher.auto-startup')
    const dispatcher = delivers
      ? new Dispatcher({
          store,
          deliverer,
          clock,
          log,
          slots: {
            database: config.get('platform.events.dispatcher.concurrency'),
            network: config.get('platform.events.dispatcher.network-concurrency'),
          },
          pollIntervalMs: () => config.get('platform.events.dispatcher.poll-interval'),
        })
      : undefined
    const service = new EventsService({ db, handlers, writer, dispatcher, handlerDeadlineMs, redact, clock, log })

    service.declarePublished(outboxDeliveryFailed)
    provide(events, service)
    const admin = new OutboxAdmin({ db, store, backlog, replayed: () => dispatcher?.wake() })
    contribute(pluginData, 'events', eventData(db, kernel.plugins))
    contribute(labelSources, 'events.event', eventLabels(db))
    http?.addRoutes(outboxRoutes, { product: kernel, db, admin, redact, log })

    onReady(async () => {
      service.logForeignSchemas()
      dispatcher?.start()
      if (dispatcher !== undefined) await wakeUp.listen()
    })
    onDrain((signal) => service.drain(signal))
    // Waits for handlers of events that requests emitted after the drain.
    onStop(() => service.settled())
    onStop(() => wakeUp.stop())
  },
})
