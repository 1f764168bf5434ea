import { database } from '@plinth/database'
import { events } from '@plinth/events'
import { adminPages, attention, charts, http, labelSources, metrics, site } from '@plinth/http'
import { i18n } from '@plinth/i18n'
import { identity, verificationCodeSender } from '@plinth/iam'
import { definePlugin, kernel, type NotificationMessage, notificationChannel, optional } from '@plinth/kernel'
import { templates } from '@plinth/template'
import { messagePages, sendCharts, sendPages, sendsNeedAttention } from './admin-pages.ts'
import { ChannelEntries } from './channels/channel-entries.ts'
import { ChannelOverview } from './channels/channel-overview.ts'
import { channelPages, channelsNeedAttention } from './channels/channel-pages.ts'
import { channelRoutes } from './channels/channel-routes.ts'
import { ChannelTests } from './channels/channel-tests.ts'
import { ChannelTexts } from './channels/channel-texts.ts'
import { ChannelVerifier } from './channels/channel-verifier.ts'
import { config } from './config.ts'
import { notification } from './contract.ts'
import { verdictOn } from './delivery/automatic-retry.ts'
import { MessageList } from './delivery/message-list.ts'
import { carriedBy, messagePart, retryDue } from './delivery/message-part.ts'
import { MessageQueue } from './delivery/message-queue.ts'
import { messageRoutes } from './delivery/message-routes.ts'
import { PartDelivery } from './delivery/part-delivery.ts'
import { QuietUsers } from './delivery/quiet-users.ts'
import { entities } from './entities.ts'
import { AdministratorsSend } from './facade/administrators-send.ts'
import { ChannelNotification } from './facade/channel-notification.ts'
import { Outgoing, type Renderer } from './facade/outgoing.ts'
import { previewRoutes } from './facade/preview-route.ts'
import { sendRoutes } from './facade/send-routes.ts'
import { notificationSender } from './facade/verification-code-sender.ts'
import { messages } from './failures.ts'
import { notificationPreferences } from './inbox/contract.ts'
import { channelLabels, messageLabels } from './label-sources.ts'
import { localized } from './localized-text.ts'
import { createSendLog } from './migrations/0001-create-send-log.ts'
import { indexSendLog } from './migrations/0002-index-send-log.ts'
import { countSendLog } from './migrations/0003-count-send-log.ts'
import { indexRetryable } from './migrations/0004-index-retryable.ts'
import { recordBeforeSending } from './migrations/0005-record-before-sending.ts'
import { createMessage } from './migrations/0006-create-message.ts'
import { indexClaims } from './migrations/0007-index-claims.ts'
import { rememberClaimed } from './migrations/0008-remember-claimed.ts'
import { permissions } from './permissions.ts'
import { Rendering } from './rendering.ts'
import { sendLogMetrics, sendMetrics } from './send-log/metrics.ts'
import { purge, settle } from './send-log/purge-task.ts'
import { SendRecorder } from './send-log/recorder.ts'
import { SendLogRetries } from './send-log/retries.ts'
import { sendLogRoutes } from './send-log/routes.ts'
import { SendLogReader } from './send-log/send-log-reader.ts'

/** Sends messages through the channels that other plugins bring; with a database it keeps a send log. */
export default definePlugin({
  id: 'notification',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: {
    kernel,
    http: optional(http),
    metrics: optional(metrics),
    database: optional(database),
    events: optional(events),
    preferences: optional(notificationPreferences),
    identity: optional(identity),
    i18n: optional(i18n),
    site: optional(site),
    templates: optional(templates),
  },
  provides: [notification],
  extensionPoints: [notificationChannel],
  contributes: [
    optional(verificationCodeSender),
    optional(adminPages),
    optional(attention),
    optional(charts),
    optional(labelSources),
  ],
  config,
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
    rememberClaimed,
  ],
  entities,
  scheduledTasks: [purge, settle],
  messages,
  setup({ services, config, clock, log, redact, provide, contribute, contributions, contributor, onDrain, onStop }) {
    const { kernel, http, database: db, events, preferences } = services
    const settings = {
      enabled: config.get('platform.notification.enabled'),
      defaultChannel: config.get('platform.notification.default-channel'),
      sendDeadlineMs: config.get('platform.notification.send-deadline'),
    }
    const sendDeadlineMs = () => settings.sendDeadlineMs
    const retrySettings = () => ({
      enabled: events !== undefined && config.get('platform.notification.retry.enabled'),
      maxAttempts: config.get('platform.notification.retry.max-attempts'),
      firstDelayMs: config.get('platform.notification.retry.first-delay'),
      factor: config.get('platform.notification.retry.factor'),
      longestDelayMs: config.get('platform.notification.retry.longest-delay'),
    })
    const channels = contributions(notificationChannel)
    const lost = db && services.metrics && sendLogMetrics(services.metrics)
    const meter = services.metrics && sendMetrics(services.metrics)
    onStop(() => {
      lost?.stop()
      meter?.stop()
    })
    const retryLater = async (logId: number, delayMs: number) => events?.publish(retryDue, { logId }, { delayMs })
    const recorder =
      db &&
      new SendRecorder({
        ...{ db, clock, log, redact, countLost: lost?.countLost },
        longestSendMs: () => sendDeadlineMs() + recordSlackMs,
        judge: (code, result, row) => verdictOn(result, row, channels.get(code), retrySettings(), Math.random),
        retryLater,
      })
    const { i18n: translator } = services
    const rendering = new Rendering({
      ...{ templates: services.templates, translator, log },
      settings: () => ({
        validates: config.get('platform.notification.template.validate-before-send'),
        failsOnMissing: config.get('platform.notification.template.fail-on-missing-variables'),
      }),
    })
    const render: Renderer = (message, channel, traits) => rendering.fill(message, channel, traits)
    const hintText = (hint: string) => translator?.resolve(translator.negotiate(undefined), hint) ?? hint
    const subjectOf = (message: NotificationMessage) =>
      (translator === undefined ? message : localized(message, translator)).subject
    const outgoing = new Outgoing({ channels, settings, preferences, render, hintText, subjectOf, meter, clock, log })
    const queue = db && new MessageQueue({ db, events, outgoing, subjectOf, redact, clock })
    const facade = new ChannelNotification({ channels, settings, outgoing, recorder, queue })
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

    provide(notification, facade)
    contribute(verificationCodeSender, 'notification', notificationSender(facade, translator, services.site))
    const quiet = new QuietUsers({ preferences, clock })
    const administrators = new AdministratorsSend({ notification: facade, quiet })
    http?.addRoutes(sendRoutes, { notification: facade, administrators, identity: services.identity })
    http?.addRoutes(previewRoutes, { outgoing, rendering })
    const entries = new ChannelEntries({
      channels,
      contributor: (code) => contributor(notificationChannel, code),
      plugins: () => kernel.plugins,
      log,
    })
    const texts = new ChannelTexts(translator)
    const verifier = new ChannelVerifier({ entries, kernel, texts, redact, clock, log })
    onStop(() => verifier.stop())
    http?.addRoutes(channelRoutes, {
      overview: new ChannelOverview({ entries, settings, clock, log: db && recorder && { db, recorder } }),
      verifier,
      tests: new ChannelTests({
        ...{ entries, notification: facade, quiet, recorder, kernel, site: services.site, texts, clock },
      }),
      identity: services.identity,
    })
    contribute(labelSources, 'notification.channel', channelLabels(facade))
    if (meter) for (const chart of sendCharts) contribute(charts, chart.id, chart)
    if (db && recorder) {
      for (const page of [...sendPages, ...messagePages, ...channelPages]) contribute(adminPages, page.id, page)
      for (const one of [...sendsNeedAttention, ...channelsNeedAttention]) contribute(attention, one.id, one)
      for (const [kind, source] of Object.entries(messageLabels(db))) contribute(labelSources, kind, source)
      const retries = new SendLogRetries({ db, clock, log, kernel, outgoing, recorder, sendDeadlineMs, retryLater })
      http?.addRoutes(sendLogRoutes, { recorder, reader: new SendLogReader(db, clock), retries })
      http?.addRoutes(messageRoutes, { recorder, list: new MessageList(db) })
      if (events) {
        const parts = new PartDelivery({ db, events, outgoing, recorder, quiet, clock })
        events.on(messagePart, 'notification.deliver', ({ payload }, { signal }) =>
          parts.deliver({ ...payload, recipients: carriedBy(payload) }, signal),
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

/** Milliseconds after the deadline of its channel at which a send has come to an end for sure. */
const recordSlackMs = 30_000
