import { backOffice, labelSources } from '@plinth/admin'
import { webhookEventTypes } from '@plinth/events'
import { verificationCodeSender } from '@plinth/iam'
import { auditTexts, definePlugin, notificationChannel, optional, personalData, type ServicesOf } from '@plinth/kernel'
import { createDayFormatter } from '@plinth/site'
import { templateUses } from '@plinth/template'
import { sendCharts, sendLogTiles, sendPages, sendsNeedAttention, sendTimelines } from './admin-pages.ts'
import { channelPages, channelsNeedAttention, channelTiles } from './channels/channel-pages.ts'
import { channelRoutes } from './channels/channel-routes.ts'
import { keys } from './config.ts'
import { notification, sendDeliveries } from './contract.ts'
import { audited, businessError, messages, permissions } from './declarations.ts'
import { MessageKeys } from './delivery/message-keys.ts'
import { messagePages } from './delivery/message-pages.ts'
import { fromStoredRecipients, messagePart } from './delivery/message-part.ts'
import { MessageList, messageRoutes } from './delivery/message-routes.ts'
import { PartDelivery } from './delivery/part-delivery.ts'
import { entities } from './entities.ts'
import { sendRoutes } from './facade/send-routes.ts'
import { notificationSender } from './facade/verification-code-sender.ts'
import { channelLabels, messageLabels } from './label-sources.ts'
import { createSendLog } from './migrations/0001-create-send-log.ts'
import { indexSendLog } from './migrations/0002-index-send-log.ts'
import { countSendLog } from './migrations/0003-count-send-log.ts'
import { indexRetryable } from './migrations/0004-index-retryable.ts'
import { recordBeforeSending } from './migrations/0005-record-before-sending.ts'
import { createMessage } from './migrations/0006-create-message.ts'
import { indexClaims } from './migrations/0007-index-claims.ts'
import { storeClaimedState } from './migrations/0008-remember-claimed.ts'
import { nameRecipients } from './migrations/0009-name-recipients.ts'
import { indexScheduled } from './migrations/0010-index-scheduled.ts'
import { linkClaim } from './migrations/0011-link-claim.ts'
import { indexKeptMessages } from './migrations/0012-index-kept-messages.ts'
import { addDeliveryState } from './migrations/0013-add-delivery-state.ts'
import { addAddressKey } from './migrations/0014-add-address-key.ts'
import { addMessageKeys } from './migrations/0015-add-message-keys.ts'
import { figureCharts, sendTiles } from './overview.ts'
import { notificationTables } from './personal-data.ts'
import { SendLogDeliveries } from './send-log/delivery-states.ts'
import { sendFailed, sendSucceeded } from './send-log/end-events.ts'
import { figureRoutes } from './send-log/figure-routes.ts'
import { sendLogMetrics, sendMetrics } from './send-log/metrics.ts'
import { SendLogRetries } from './send-log/retries.ts'
import { sendLogRoutes } from './send-log/routes.ts'
import { SendLogReader } from './send-log/send-log-reader.ts'
import { retryDue } from './send-log/send-log-writer.ts'
import { findInterruptedSends, purgeSendLog } from './send-log/tasks.ts'
import { UnknownSends } from './send-log/unknown-sends.ts'
import { templateTestRoutes, waitingMessages } from './template-tests.ts'
import { webhookEvents } from './webhook-events.ts'
import { type NotificationServices, requires, resolvers } from './wiring.ts'

type Services = ServicesOf<typeof requires>

/** Sends messages through channels. In a product with a database, the plugin has a send log. */
export default definePlugin({
  id: 'notification',
  version: '1.0.0',
  businessErrors: [businessError],
  kernel: '^1.0.0',
  requires,
  provides: [notification, sendDeliveries],
  extensionPoints: [notificationChannel],
  contributes: [
    auditTexts.of(audited),
    personalData.of(({ database }: Services) => database && { notification: notificationTables(database) }),
    optional(verificationCodeSender),
    optional(webhookEventTypes.of(webhookEvents)),
    optional(templateUses),
    ...backOffice({
      pages: ({ database }: Services) => database && [...sendPages, ...messagePages, ...channelPages],
      attention: ({ database }: Services) => database && [...sendsNeedAttention, ...channelsNeedAttention],
      charts: ({ metrics, database }: Services) => [...(metrics ? sendCharts : []), ...(database ? figureCharts : [])],
      tiles: ({ database }: Services) => database && [...sendTiles, ...sendLogTiles, ...channelTiles],
      timelines: ({ database }: Services) => database && sendTimelines,
    }),
    optional(labelSources),
  ],
  config: keys,
  configGroups: { notification: { en: 'Notifications', 'zh-CN': '通知' } },
  permissions,
  migrations: [
    createSendLog,
    indexSendLog,
    countSendLog,
    indexRetryable,
    recordBeforeSending,
    createMessage,
    indexClaims,
    storeClaimedState,
    nameRecipients,
    indexScheduled,
    linkClaim,
    indexKeptMessages,
    addDeliveryState,
    addAddressKey,
    addMessageKeys,
  ],
  entities,
  scheduledTasks: [purgeSendLog, findInterruptedSends],
  messages,
  setup({
    services,
    config,
    clock: processClock,
    log,
    redact,
    wire,
    provide,
    contribute,
    contributions,
    contributor,
    onDrain,
    onStop,
  }) {
    const { kernel, http, metrics, database: db, events, i18n: translator, site } = services
    const clock = db?.clock ?? processClock
    events?.declarePublished(sendSucceeded, sendFailed)
    const settings = {
      enabled: config.get('platform.notification.enabled'),
      defaultChannel: config.get('platform.notification.default-channel'),
      sendDeadlineMs: config.get('platform.notification.send-deadline'),
    }
    const lost = db && metrics && sendLogMetrics(metrics)
    const meter = metrics && sendMetrics(metrics)
    onStop(() => {
      lost?.stop()
      meter?.stop()
    })
    const given = {
      ...services,
      db,
      translator,
      config,
      clock,
      log,
      redact,
      settings,
      meter,
      tracer: services.tracing?.tracer,
      countLost: lost?.countLost,
      channels: contributions(notificationChannel),
      contributor: (code: string) => contributor(notificationChannel, code),
    }
    const parts = wire<NotificationServices>()(given, resolvers)
    const { outgoing, recorder, verifier, writer } = parts
    if (settings.enabled) outgoing.checkDefaultChannel(settings.defaultChannel)

    config.onChange('platform.notification.enabled', (enabled) => {
      if (enabled) outgoing.checkDefaultChannel(settings.defaultChannel)
      settings.enabled = enabled
    })
    config.onVerify('platform.notification.default-channel', (code) => outgoing.checkDefaultChannel(code))
    config.onChange('platform.notification.default-channel', (code) => {
      outgoing.checkDefaultChannel(code)
      settings.defaultChannel = code
    })
    config.onChange('platform.notification.send-deadline', (deadlineMs) => {
      settings.sendDeadlineMs = deadlineMs
    })

    provide(notification, parts.notification)
    const deliveries = db && new SendLogDeliveries({ db, events, suppressions: services.suppressions })
    const unknown = deliveries && new UnknownSends({ db, clock, channels: given.channels, deliveries, log })
    provide(sendDeliveries, {
      apply: async (report) => deliveries?.apply(report),
      expect: (sends) => deliveries?.expect(sends),
      askProviders: async (signal) => unknown?.ask(signal),
    })
    contribute(verificationCodeSender, 'notification', notificationSender(parts.notification, translator, site))
    http?.addRoutes(sendRoutes, parts)
    onStop(() => verifier.stop())
    http?.addRoutes(channelRoutes, parts)
    contribute(labelSources, 'notification.channel', channelLabels(parts.notification))
    const { templates, identity } = services
    if (templates) http?.addRoutes(templateTestRoutes, { templates, identity, notification: parts.notification })
    if (db && recorder && writer && deliveries) {
      contribute(templateUses, 'notification.messages', waitingMessages(db))
      http?.addRoutes(figureRoutes, { db, dayOf: site?.dayOf ?? createDayFormatter(() => 'UTC') })
      for (const [kind, source] of Object.entries(messageLabels(db))) contribute(labelSources, kind, source)
      const retries = new SendLogRetries({ ...parts, db, recorder, writer })
      const reader = new SendLogReader(db, clock, deliveries)
      http?.addRoutes(sendLogRoutes, { recorder, reader, retries, deliveries, translator })
      http?.addRoutes(messageRoutes, {
        recorder,
        kernel,
        list: new MessageList({ db, kernel, clock }),
        keys: new MessageKeys({ db, clock }),
      })
      if (events) {
        const delivery = new PartDelivery({ ...parts, db, events, recorder, writer })
        events.on(messagePart, 'notification.deliver', ({ payload }, { signal }) =>
          delivery.deliver({ ...payload, recipients: fromStoredRecipients(payload) }, signal),
        )
        events.on(retryDue, 'notification.retry', ({ payload }) => retries.retryByItself(payload.logId))
      }
    }
    onDrain(async () => {
      await outgoing.drain()
      await recorder?.written()
    })
    onStop(async () => {
      outgoing.stop()
      await recorder?.close()
    })
  },
})
