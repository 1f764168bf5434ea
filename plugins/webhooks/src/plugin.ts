import { backOffice, labelSources } from '@plinth/admin'
import { WakeUpSignal } from '@plinth/coordination'
import { database, type WithDatabase } from '@plinth/database'
import {
  events,
  type WebhookEventType,
  webhookEndpointFailing,
  webhookEndpointSuspended,
  webhookEventTypes,
} from '@plinth/events'
import { http, metrics } from '@plinth/http'
import { identity } from '@plinth/iam'
import { type AuditTexts, auditTexts, definePlugin, kernel, optional, personalData, tracing } from '@plinth/kernel'
import { outgoingHttp } from '@plinth/outgoing-http'
import { sharedStore } from '@plinth/shared-store'
import { configCentre, PluginEncryption, PluginEncryptionKey } from '@plinth/system-config'
import { needsAttention, pages } from './admin-pages.ts'
import { keys, secretKeyName } from './config.ts'
import { auditedByHand, businessError, messages, permissions } from './declarations.ts'
import { deliveries } from './deliveries.ts'
import { DeliveryStore } from './delivery-store.ts'
import { endpointRoutes } from './endpoint-routes.ts'
import { endpoints } from './endpoints.ts'
import { tables, webhookTables } from './entities.ts'
import { FanOut } from './fan-out.ts'
import { webhookLabels } from './label-sources.ts'
import { webhookMetrics } from './metrics.ts'
import { createWebhooks } from './migrations/0001-create-webhooks.ts'
import { addTrace } from './migrations/0002-add-trace.ts'
import { EndpointSecrets } from './secrets.ts'
import { Sender } from './sender.ts'
import { purgeDeliveries } from './tasks.ts'

const { facts, actions, ...endpointTexts } = endpoints.audited['webhook-endpoint'] as AuditTexts
const audited = {
  ...deliveries.audited,
  'webhook-endpoint': {
    ...endpointTexts,
    facts: { ...facts, ...auditedByHand.facts },
    actions: { ...actions, ...auditedByHand.actions },
  },
}

/** Outgoing webhooks: other programs receive events of the product as signed HTTP requests. */
export default definePlugin({
  id: 'webhooks',
  title: { en: 'Webhooks', 'zh-CN': 'Webhook' },
  version: '1.0.0',
  businessErrors: [businessError],
  kernel: '^1.0.0',
  requires: {
    kernel,
    http,
    database,
    identity,
    events,
    outgoingHttp,
    configCentre,
    metrics: optional(metrics),
    sharedStore: optional(sharedStore),
    tracing: optional(tracing),
  },
  extensionPoints: [webhookEventTypes],
  contributes: [
    auditTexts.of(audited),
    personalData.of(({ database }: WithDatabase) => ({ webhooks: webhookTables(database) })),
    ...backOffice({ pages, attention: needsAttention }),
    optional(labelSources),
  ],
  config: keys,
  configGroups: { webhooks: { en: 'Webhooks', 'zh-CN': 'Webhook 推送' } },
  permissions,
  migrations: [createWebhooks, addTrace],
  entities: tables.map(({ entity }) => entity),
  messages,
  scheduledTasks: [purgeDeliveries],
  setup({ plugin: { id: plugin }, services, config, log, roles, contribute, contributions, onReady, onDrain, onStop }) {
    const { http, database: db, identity, events, outgoingHttp, configCentre, metrics, sharedStore } = services
    const { clock } = db
    const tracer = services.tracing?.tracer
    const types: ReadonlyMap<string, WebhookEventType> = contributions(webhookEventTypes)
    const stored = () => config.get(secretKeyName)
    const box = new PluginEncryption(
      new PluginEncryptionKey({ plugin, name: secretKeyName, centre: configCentre, stored }),
    )
    const secrets = new EndpointSecrets({ box, clock, log })
    const store = new DeliveryStore({ db, events, random: Math.random })
    const meter = metrics && webhookMetrics(metrics)
    const sends = roles.has('worker') && config.get('platform.webhooks.auto-startup')
    const sender = sends
      ? new Sender({
          store,
          secrets,
          types,
          identity,
          http: outgoingHttp,
          clock,
          log,
          tracer,
          slots: {
            total: config.get('platform.webhooks.concurrency'),
            endpoint: config.get('platform.webhooks.endpoint-concurrency'),
          },
          pollMs: () => config.get('platform.webhooks.poll-interval'),
          count: (type, outcome) => meter?.count(type, outcome),
        })
      : undefined
    const wakeUp = new WakeUpSignal({
      // Without Redis, a message would cost as much as the poll that it saves.
      messages: sharedStore?.driver === 'redis' ? sharedStore : undefined,
      channel: 'webhooks.added',
      subject: 'webhook deliveries',
      wake: () => sender?.wake(),
      clock,
      log,
    })
    const added = () => wakeUp.send()
    const fanOut = new FanOut({
      db,
      identity,
      types,
      suspend: (id, reason) => store.suspend(id, reason),
      added,
      tracer,
    })
    for (const [name, type] of types) {
      events.on(
        type.event,
        `webhooks.${handlerNameOf(name)}`,
        (delivery) => fanOut.deliver(name, type, delivery as never),
        {
          transaction: true,
        },
      )
    }
    events.declarePublished(webhookEndpointFailing, webhookEndpointSuspended)

    const parts = { db, fanOut, http: outgoingHttp, types }
    const maxEndpoints = () => config.get('platform.webhooks.max-endpoints')
    for (const [kind, source] of Object.entries(webhookLabels(db, types))) contribute(labelSources, kind, source)
    http.addRoutes(endpointRoutes, { services, parts, secrets, maxEndpoints, added })
    http.addRoutes(endpoints.routes, { services, parts })
    http.addRoutes(deliveries.routes, { services, parts: { db, identity, types, added } })

    onReady(async () => {
      sender?.start()
      if (sender !== undefined) await wakeUp.listen()
    })
    onDrain(async (signal) => {
      await sender?.drain(signal)
      await wakeUp.stop()
    })
    onStop(() => meter?.stop())
  },
})

/** Names of handlers contain hyphens instead of underscores. */
const handlerNameOf = (type: string): string => type.replaceAll('_', '-')
