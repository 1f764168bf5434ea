import { definePlugin, key, type NotificationMessage, notificationChannel, service } from '@plinth/kernel'

/** The last messages, for tests and diagnosis. */
export interface SentNotifications {
  /** Recorded messages, the oldest first, up to the configured capacity. */
  readonly messages: readonly NotificationMessage[]
  clear(): void
}

export const sentNotifications = service<SentNotifications>('notification-channels.memory.sent', {
  from: '@plinth/notification-channels/memory',
})

/** Keeps the last messages in memory. */
export default definePlugin({
  id: 'notification-channels.memory',
  version: '1.0.0',
  kernel: '^1.0.0',
  provides: [sentNotifications],
  contributes: [notificationChannel],
  config: {
    'platform.notification.channels.memory.enabled': key.boolean({
      title: { en: 'Channel "memory"', 'zh-CN': '渠道 memory' },
      description: { en: 'Stores messages in memory, for tests.', 'zh-CN': '把消息保存在内存中，用于测试。' },
      default: true,
      reload: 'live',
    }),
    'platform.notification.channels.memory.capacity': key.integer({
      title: { en: 'Maximum stored messages', 'zh-CN': '最多保留的消息数' },
      description: { en: 'If there are more, the oldest message is removed.', 'zh-CN': '超出后丢弃最旧的消息。' },
      default: 1000,
      minimum: 1,
      maximum: 1_000_000,
      reload: 'live',
    }),
  },
  setup({ config, contribute, provide }) {
    /** Messages by id, in order of arrival. */
    const sent = new Map<string, NotificationMessage>()
    provide(sentNotifications, {
      get messages() {
        return [...sent.values()]
      },
      clear: () => sent.clear(),
    })
    contribute(notificationChannel, 'memory', {
      displayName: { en: 'Memory', 'zh-CN': '内存' },
      recipientKinds: [],
      traits: { idempotent: true },
      enabled: () => config.get('platform.notification.channels.memory.enabled'),
      async send(message, { signal, idempotencyKey }) {
        if (signal.aborted)
          return { outcome: 'deferred', errorCode: 'aborted', errorMessage: 'Cancelled before sending' }
        if (!sent.has(idempotencyKey)) sent.set(idempotencyKey, message)
        const capacity = config.get('platform.notification.channels.memory.capacity')
        for (const oldest of sent.keys()) {
          if (sent.size <= capacity) break
          sent.delete(oldest)
        }
        return { outcome: 'accepted', messageId: message.id }
      },
    })
  },
})
