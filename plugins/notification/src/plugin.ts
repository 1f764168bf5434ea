import { database } from '@plinth/database'
import { http, metrics, site } from '@plinth/http'
import { i18n } from '@plinth/i18n'
import { identity, verificationCodeSender } from '@plinth/iam'
import { definePlugin, kernel, notificationChannel, optional } from '@plinth/kernel'
import { config } from './config.ts'
import { notification } from './contract.ts'
import { SendLog, SendLogCount } from './entities.ts'
import { messages } from './failures.ts'
import { createSendLog } from './migrations/0001-create-send-log.ts'
import { indexSendLog } from './migrations/0002-index-send-log.ts'
import { countSendLog } from './migrations/0003-count-send-log.ts'
import { indexRetryable } from './migrations/0004-index-retryable.ts'
import { permissions } from './permissions.ts'
import { purge } from './purge-task.ts'
import { sendRoutes } from './routes.ts'
import { SendLogReader } from './send-log.ts'
import { sendLogMetrics } from './send-log-metrics.ts'
import { SendLogRetries } from './send-log-retries.ts'
import { sendLogRoutes } from './send-log-routes.ts'
import { SendRecorder } from './send-recorder.ts'
import { ChannelNotification } from './service.ts'
import { notificationSender } from './verification-code-sender.ts'

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
    identity: optional(identity),
    i18n: optional(i18n),
    site: optional(site),
  },
  provides: [notification],
  extensionPoints: [notificationChannel],
  contributes: [optional(verificationCodeSender)],
  config,
  permissions,
  migrations: [createSendLog, indexSendLog, countSendLog, indexRetryable],
  entities: [SendLog, SendLogCount],
  scheduledTasks: [purge],
  messages,
  setup({ services, config, clock, log, redact, provide, contribute, contributions, onDrain, onStop }) {
    const { kernel, http, database: db } = services
    const settings = {
      enabled: config.get('platform.notification.enabled'),
      defaultChannel: config.get('platform.notification.default-channel'),
      sendDeadlineMs: config.get('platform.notification.send-deadline'),
    }
    const lost = db && services.metrics && sendLogMetrics(services.metrics)
    if (lost !== undefined) onStop(lost.stop)
    const recorder = db && new SendRecorder({ db, clock, log, redact, countLost: lost?.countLost })
    const facade = new ChannelNotification({
      channels: contributions(notificationChannel),
      settings,
      clock,
      log,
      record: (send) => recorder?.record(send),
    })
    if (settings.enabled) facade.checkDefaultChannel(settings.defaultChannel)

    config.onChange('platform.notification.enabled', (enabled) => {
      if (enabled) facade.checkDefaultChannel(settings.defaultChannel)
      settings.enabled = enabled
    })
    config.onVerify('platform.notification.default-channel', (code) => facade.checkDefaultChannel(code))
    config.onChange('platform.notification.default-channel', (code) => {
      facade.checkDefaultChannel(code)
      settings.defaultChannel = code
    })
    config.onChange('platform.notification.send-deadline', (deadlineMs) => {
      settings.sendDeadlineMs = deadlineMs
    })

    provide(notification, facade)
    contribute(verificationCodeSender, 'notification', notificationSender(facade, services.i18n, services.site))
    http?.addRoutes(sendRoutes, { notification: facade, identity: services.identity })
    if (http && db && recorder) {
      const sendDeadlineMs = () => settings.sendDeadlineMs
      const retries = new SendLogRetries({ db, clock, log, kernel, facade, recorder, sendDeadlineMs })
      http.addRoutes(sendLogRoutes, { recorder, reader: new SendLogReader(db, clock), retries })
    }
    onDrain(async () => {
      await facade.drain()
      await recorder?.written()
    })
    onStop(async () => {
      facade.stop()
      await recorder?.close()
    })
  },
})
