import { database } from '@plinth/database'
import { http, metrics } from '@plinth/http'
import { identity } from '@plinth/iam'
import { definePlugin, kernel, notificationChannel, optional } from '@plinth/kernel'
import { config } from './config.ts'
import { notification } from './contract.ts'
import { SendLog } from './entities.ts'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }
import { createSendLog } from './migrations/0001-create-send-log.ts'
import { indexSendLog } from './migrations/0002-index-send-log.ts'
import { permissions } from './permissions.ts'
import { purgeTask } from './purge-task.ts'
import { addRoutes } from './routes.ts'
import { SendLogReader } from './send-log.ts'
import { sendLogMetrics } from './send-log-metrics.ts'
import { SendLogRetries } from './send-log-retries.ts'
import { addSendLogRoutes } from './send-log-routes.ts'
import { SendRecorder } from './send-recorder.ts'
import { ChannelNotification } from './service.ts'

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
  },
  provides: [notification],
  extensionPoints: [notificationChannel],
  config,
  permissions,
  migrations: [createSendLog, indexSendLog],
  entities: [SendLog],
  scheduledTasks: [purgeTask],
  messages: { en, 'zh-CN': zhCN },
  setup({ plugin, services, config, clock, log, redact, provide, contributions, onDrain, onStop }) {
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
    if (http !== undefined) addRoutes(http, plugin.id, facade, services.identity)
    if (http && db && recorder) {
      const sendDeadlineMs = () => settings.sendDeadlineMs
      const retries = new SendLogRetries({ db, clock, log, kernel, facade, recorder, sendDeadlineMs })
      addSendLogRoutes({ http, plugin: plugin.id, recorder, reader: new SendLogReader(db, clock), retries })
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
