import { judgement, type WebhookMessage, webhookProviderPlugin } from '@plinth/notification-channels/webhook'
import { joined, mattermost as plain } from './plain-texts.ts'

const shown = {
  body: ({ subject, content }: WebhookMessage) => ({ text: joined(subject === '' ? '' : `#### ${subject}`, content) }),
  plain,
  limit: { max: 16_383, unit: 'characters', member: 'text' },
} as const

/** Incoming webhook of Mattermost. The secret is the key after `/hooks/`. */
export default webhookProviderPlugin(
  { id: 'webhook-providers.mattermost', version: '1.0.0' },
  {
    code: 'mattermost',
    displayName: { en: 'Mattermost', 'zh-CN': 'Mattermost' },
    knownHosts: [],
    secret: { use: 'token', into: 'path' },
    messageTypes: { text: shown, markdown: shown },
    judge: judgement({
      delivered: ({ body }) => ['', 'ok'].includes(body.trim()),
      code: 'id',
      message: 'message',
      codes: { 'web.incoming_webhook.invalid.app_error': { hint: 'token-invalid' } },
    }),
  },
)
