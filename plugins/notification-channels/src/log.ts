import { definePlugin, key, type NotificationChannel, notificationChannel, redact, secretsOf } from '@plinth/kernel'
import { describeRecipient, withoutSecretAttributes } from '@plinth/notification'
import { hasNoText, missingTextError } from './message-text.ts'

/** Writes each message as one line to the log. */
export default definePlugin({
  id: 'notification-channels.log',
  version: '1.0.0',
  kernel: '^1.0.0',
  contributes: [notificationChannel],
  config: {
    'platform.notification.channels.log.enabled': key.boolean({
      title: { en: 'Channel "log"', 'zh-CN': '渠道 log' },
      description: { en: 'Writes messages to the log.', 'zh-CN': '把消息写入日志。' },
      default: true,
      reload: 'live',
    }),
  },
  setup({ config, log, contribute }) {
    const channel: NotificationChannel = {
      displayName: { en: 'Log', 'zh-CN': '日志' },
      recipientKinds: [],
      traits: { idempotent: false },
      enabled: () => config.get('platform.notification.channels.log.enabled'),
      async send(message, { signal }) {
        if (signal.aborted)
          return { outcome: 'deferred', errorCode: 'aborted', errorMessage: 'Cancelled before sending' }
        if (hasNoText(message)) return { outcome: 'rejected', ...missingTextError }
        const { id, template, variables, recipients, attributes, locale } = message
        const secrets = secretsOf(message)
        const line = {
          messageId: id,
          subject: redact(message.subject, secrets),
          content: redact(message.content, secrets),
          template,
          locale,
          recipients: recipients.map(describeRecipient),
          // Only the names of variables are logged, because their values may be sign-in codes. The content is logged as
          // rendered text.
          variables: Object.keys(variables),
          attributes: withoutSecretAttributes(attributes),
        }
        log.info(line, 'notification')
        return { outcome: 'accepted', messageId: id }
      },
    }
    contribute(notificationChannel, 'log', channel)
  },
})
