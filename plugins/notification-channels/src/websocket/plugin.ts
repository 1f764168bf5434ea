import { events } from '@plinth/events'
import { http, metrics } from '@plinth/http'
import { i18n } from '@plinth/i18n'
import { identity } from '@plinth/iam'
import {
  categoryOf as builtInCategoryOf,
  type Inbox,
  inbox,
  inboxEmbedding,
  notificationCategories,
  notificationPreferences,
} from '@plinth/inbox'
import { definePlugin, notificationChannel, optional } from '@plinth/kernel'
import { sharedStore } from '@plinth/shared-store'
import { keys } from './config.ts'
import { ClientMessages } from './connections/client-messages.ts'
import { SocketTable } from './connections/socket-table.ts'
import { HandshakeForwarder } from './connections/upgrades.ts'
import { ConnectionUpkeep } from './connections/upkeep.ts'
import { presence, websocketGroupGuard } from './contract.ts'
import { businessError, messages } from './declarations.ts'
import { Endpoint, type EndpointSettings, path, routes } from './endpoint.ts'
import { socketMetrics } from './metrics.ts'
import { WebsocketChannel } from './pushes/channel.ts'
import { Deliverer } from './pushes/deliverer.ts'
import { FanOut, followInboxes } from './pushes/fan-out.ts'

/** Realtime connections, and pushes to them on all instances. */
export default definePlugin({
  id: 'notification-channels.websocket',
  version: '1.0.0',
  businessErrors: [businessError],
  kernel: '^1.0.0',
  requires: {
    http,
    identity,
    events: optional(events),
    inbox: optional(inbox),
    preferences: optional(notificationPreferences),
    categories: optional(notificationCategories),
    embedding: optional(inboxEmbedding),
    sharedStore: optional(sharedStore),
    i18n: optional(i18n),
    metrics: optional(metrics),
  },
  provides: [presence],
  extensionPoints: [websocketGroupGuard],
  contributes: [notificationChannel],
  config: keys,
  messages,
  setup({ services, config, clock, log, provide, contribute, contributions, onDrain, onStop }) {
    const { http, identity, events, preferences, sharedStore: store, i18n: translator } = services
    const key = 'platform.notification.channels.websocket'
    const enabled = () => config.get(`${key}.enabled`)
    const table = new SocketTable()
    const counters = socketMetrics(services.metrics, table)
    const present = services.inbox?.present ?? presentWithoutInbox(translator)
    const deliverer = new Deliverer({ table, enabled, present, preferences, metrics: counters, clock, log })
    const fanOut = new FanOut({ store, deliverer, sockets: () => table.all(), log })
    const upkeep = new ConnectionUpkeep({
      table,
      identity,
      clock,
      log,
      heartbeatMs: () => config.get(`${key}.heartbeat`),
      sessionCheckMs: () => config.get(`${key}.session-check`),
    })
    const clientMessages = new ClientMessages({
      table,
      clock,
      log,
      guards: contributions(websocketGroupGuard),
      publicGroups: () => config.get(`${key}.public-groups`),
      maxGroups: () => config.get(`${key}.max-groups`),
    })
    const settings: EndpointSettings = {
      get enabled() {
        return enabled()
      },
      get guestsEnabled() {
        return config.get(`${key}.guests.enabled`)
      },
      get maxSockets() {
        return config.get(`${key}.max-sockets`)
      },
      get maxSocketsPerUser() {
        return config.get(`${key}.max-sockets-per-user`)
      },
      get maxSocketsPerAddress() {
        return config.get(`${key}.max-sockets-per-address`)
      },
      get maxMessageRate() {
        return config.get(`${key}.max-message-rate`)
      },
      get maxBuffered() {
        return config.get(`${key}.max-buffered`)
      },
    }
    const upgrades = new HandshakeForwarder(path, config.get(`${key}.max-message-size`))
    const endpoint = new Endpoint({
      settings,
      upgrades,
      table,
      messages: clientMessages,
      upkeep,
      fanOut,
      identity,
      embedding: services.embedding,
      translator,
      clock,
      log,
      networkOf: http.networkOf,
      stoppedListening: http.stoppedListening,
      metrics: counters,
    })

    provide(presence, table)
    http.addRoutes(routes, { endpoint })
    http.register((app, _options, done) => {
      upgrades.attach(app)
      done()
    }, 'public')
    const categoryOf = (module: string) => services.categories?.of(module).code ?? builtInCategoryOf(module)
    if (events !== undefined && services.inbox !== undefined) followInboxes(events, fanOut, enabled, categoryOf)
    const isStoredOnTheWay = store?.driver === 'database'
    contribute(
      notificationChannel,
      'websocket',
      new WebsocketChannel({ deliverer, fanOut, categoryOf, isStoredOnTheWay, enabled, clock, log }),
    )
    config.onChange(`${key}.enabled`, (isOn) => {
      if (!isOn) endpoint.closeAll('switched-off')
    })
    onDrain((signal) => endpoint.drain(signal))
    onStop(async () => {
      upkeep.stop()
      endpoint.cutAll()
      await fanOut.stop()
    })
  },
})

type Texts = { resolve(locale: string, text: string, params?: Readonly<Record<string, string | number>>): string }

/** Presents contents in a product without an inbox. They have no attachments. */
function presentWithoutInbox(translator: Texts | undefined): Inbox['present'] {
  return async ({ variables, attachments: _, ...content }, locale) => {
    const shown = (text: string) => translator?.resolve(locale, text, variables) ?? text
    const [displaySubject, displayContent] = [shown(content.subject), shown(content.content)]
    return { ...content, displaySubject, displayContent, attachments: [] }
  }
}
