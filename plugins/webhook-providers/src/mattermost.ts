import { createResponseJudge, type WebhookMessage, webhookProviderPlugin } from '@plinth/notification-channels/webhook'
import { joinSubjectAndContent, mattermost as plain } from './plain-texts.ts'

const shown = {
  body: ({ subject, content }: WebhookMessage) => ({
    text: joinSubjectAndContent(subject === '' ? '' : `#### ${subject}`, content),
  }),
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
    judge: createResponseJudge({
      delivered: ({ body }) => ['', 'ok'].includes(body.trim()),
      code: 'id',
      message: 'message',
      codes: { 'web.incoming_webhook.invalid.app_error': { hint: 'token-invalid' } },
    }),
  },
)
