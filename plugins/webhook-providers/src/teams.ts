import { createResponseJudge, type WebhookMessage, webhookProviderPlugin } from '@plinth/notification-channels/webhook'
import { adaptiveCard, doubleMarkdownLineBreaks } from './plain-texts.ts'

const block = (text: string) => ({ type: 'TextBlock', text: doubleMarkdownLineBreaks(text), wrap: true })

const card = ({ subject, content }: WebhookMessage) => ({
  type: 'message',
  attachments: [
    {
      contentType: 'application/vnd.microsoft.card.adaptive',
      contentUrl: null,
      content: {
        $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
        type: 'AdaptiveCard',
        version: '1.4',
        body: [...(subject === '' ? [] : [{ ...block(subject), weight: 'Bolder', size: 'Medium' }]), block(content)],
      },
    },
  ],
})
/**
 * Maximum size of a message. The documentation of Teams allows 28 KB, but only smaller messages are always displayed.
 */
const shown = { body: card, plain: adaptiveCard, limit: { max: 21_000, unit: 'bytes' } } as const

/**
 * Microsoft Teams through Power Automate. The secret is the URL parameter `sig`. Success only means that Power
 * Automate has accepted the message.
 */
export default webhookProviderPlugin(
  { id: 'webhook-providers.teams', version: '1.0.0' },
  {
    code: 'teams',
    displayName: { en: 'Microsoft Teams', 'zh-CN': 'Microsoft Teams' },
    knownHosts: ['*.logic.azure.com', '*.environment.api.powerplatform.com', '*.api.powerplatform.com'],
    secret: { use: 'token', into: { query: 'sig' } },
    messageTypes: { text: shown, markdown: shown },
    rateLimits: [{ max: 4, windowMs: 1000 }],
    judge: createResponseJudge({ delivered: () => true, code: 'error.code', message: 'error.message' }),
  },
)
