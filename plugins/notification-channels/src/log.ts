import {
  definePlugin,
  key,
  type NotificationChannel,
  notificationChannel,
  type Recipient,
  redact,
  secretsOf,
} from '@plinth/kernel'
import { withoutSecrets } from './attribute-secrets.ts'

/** Channel `log`: writes each message as one line of the product's log. */
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
          return { outcome: 'deferred', errorCode: 'aborted', errorMessage: 'Given up before sending' }
        const { id, template, variables, recipients, attributes, locale } = message
        const secrets = secretsOf(message)
        const line = {
          messageId: id,
          subject: redact(message.subject, secrets),
          content: redact(message.content, secrets),
          template,
          locale,
          recipients: recipients.map(describe),
          // Values may be codes for a log-in; the rendered content is what the message shows.
          variables: Object.keys(variables),
          attributes: withoutSecrets(attributes),
        }
        log.info(line, 'notification')
        return { outcome: 'accepted', messageId: id }
      },
    }
    contribute(notificationChannel, 'log', channel)
  },
})

/** Enough to tell recipients apart, not enough to write to them. */
function describe(recipient: Recipient): string {
  const { kind } = recipient
  switch (kind) {
    case 'user':
    case 'websocket-user':
      return `${kind}:${recipient.userId}`
    case 'email':
      return `${kind}:${recipient.address.replace(/^(.).*@/, '$1***@')}`
    case 'mobile':
      return `${kind}:***${recipient.number.slice(-4)}`
    case 'websocket-group':
      return `${kind}:${recipient.group}`
    case 'topic':
      return `${kind}:${recipient.topic}`
    default:
      return kind
  }
}
