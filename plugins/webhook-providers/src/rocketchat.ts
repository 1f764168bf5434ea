import {
  createResponseJudge,
  valueAtPath,
  type WebhookMessage,
  webhookProviderPlugin,
} from '@plinth/notification-channels/webhook'
import { closeCode, joinSubjectAndContent, rocketchat as plain } from './plain-texts.ts'

/**
 * Maximum length of a text. A Rocket.Chat server rejects longer texts, depending on its setting "Maximum Allowed
 * Characters Per Message", which is 5,000 by default.
 */
const shown = {
  body: ({ subject, content }: WebhookMessage) => ({
    text: joinSubjectAndContent(subject === '' ? '' : `*${subject}*`, closeCode(content)),
  }),
  plain,
  limit: { max: 5000, unit: 'utf16', member: 'text' },
} as const

/** Incoming webhook of Rocket.Chat. The secret is `<id>/<token>` after `/hooks/`. */
export default webhookProviderPlugin(
  { id: 'webhook-providers.rocketchat', version: '1.0.0' },
  {
    code: 'rocketchat',
    displayName: { en: 'Rocket.Chat', 'zh-CN': 'Rocket.Chat' },
    knownHosts: [],
    secret: { use: 'token', into: 'path' },
    messageTypes: { text: shown, markdown: shown },
    judge: createResponseJudge({
      delivered: ({ json }) => valueAtPath(json, 'success') === true,
      message: 'error',
      texts: { 'invalid integration': { hint: 'token-invalid' } },
    }),
  },
)
