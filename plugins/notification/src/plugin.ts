import { http } from '@plinth/http'
import { definePlugin, notificationChannel, optional } from '@plinth/kernel'
import { config } from './config.ts'
import { notification } from './contract.ts'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }
import { addRoutes } from './routes.ts'
import { ChannelNotification } from './service.ts'

/** Sends messages through the channels that other plugins bring. */
export default definePlugin({
  id: 'notification',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { http: optional(http) },
  provides: [notification],
  extensionPoints: [notificationChannel],
  config,
  permissions: [
    { code: 'notification:message:view', displayName: { en: 'View notifications', 'zh-CN': '查看通知' } },
    { code: 'notification:message:send', displayName: { en: 'Send notifications', 'zh-CN': '发送通知' } },
  ],
  messages: { en, 'zh-CN': zhCN },
  setup({ plugin, services, config, clock, log, provide, contributions, onDrain, onStop }) {
    const settings = {
      enabled: config.get('platform.notification.enabled'),
      defaultChannel: config.get('platform.notification.default-channel'),
      sendDeadlineMs: config.get('platform.notification.send-deadline'),
    }
    const facade = new ChannelNotification({ channels: contributions(notificationChannel), settings, clock, log })
    if (settings.enabled) facade.checkDefaultChannel(settings.defaultChannel)

    config.onChange('platform.notification.enabled', (enabled) => {
      if (enabled) facade.checkDefaultChannel(settings.defaultChannel)
      settings.enabled = enabled
    })
    config.onChange('platform.notification.default-channel', (code) => {
      facade.checkDefaultChannel(code)
      settings.defaultChannel = code
    })
    config.onChange('platform.notification.send-deadline', (deadlineMs) => {
      settings.sendDeadlineMs = deadlineMs
    })

    provide(notification, facade)
    if (services.http !== undefined) addRoutes(services.http, plugin.id, facade)
    onDrain(() => facade.drain())
    onStop(() => facade.stop())
  },
})
