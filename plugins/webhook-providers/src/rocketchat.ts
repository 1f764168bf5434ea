import { judgement, memberAt, webhookProviderPlugin } from '@plinth/notification-channels/webhook'
import { escapeMarkdown, joined } from './texts.ts'

const title = (subject: string) => (subject === '' ? '' : `*${subject}*`)

/** Rocket.Chat incoming webhook (reference 2.15). Its secret is `<id>/<token>` below `/hooks/`. */
export default webhookProviderPlugin(
  { id: 'webhook-providers.rocketchat', version: '1.0.0' },
  {
    code: 'rocketchat',
    displayName: { en: 'Rocket.Chat', 'zh-CN': 'Rocket.Chat' },
    knownHosts: [],
    secret: { use: 'token', into: 'path' },
    messageTypes: {
      text: {
        body: ({ subject, content }) => ({ text: joined(title(escapeMarkdown(subject)), escapeMarkdown(content)) }),
      },
      markdown: { body: ({ subject, content }) => ({ text: joined(title(subject), content) }) },
    },
    judge: judgement({
      delivered: ({ json }) => memberAt(json, 'success') === true,
      message: 'error',
      texts: { 'invalid integration': { hint: 'token-invalid' } },
    }),
  },
)
