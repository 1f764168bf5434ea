import {
  createMemberCheck,
  createResponseJudge,
  type WebhookMessage,
  webhookProviderPlugin,
} from '@plinth/notification-channels/webhook'
import { doubleMarkdownLineBreaks, markdownWithHtml, titleFromMessage } from './plain-texts.ts'

const turboHost = 'sctapi.ftqq.com'
const typed = (text: (content: string) => string) => ({
  body: (message: WebhookMessage) => ({ title: titleFromMessage(message, 32), desp: text(message.content) }),
  plain: markdownWithHtml,
  limit: { max: 32_768, unit: 'bytes', member: 'desp' } as const,
})

/** Push service ServerChan. The secret is a SendKey. A key of version 3 (`sctp...`) contains its host. */
export default webhookProviderPlugin(
  { id: 'webhook-providers.serverchan', version: '1.0.0' },
  {
    code: 'serverchan',
    displayName: { en: 'ServerChan', 'zh-CN': 'Server 酱' },
    endpoint: `https://${turboHost}/`,
    knownHosts: [turboHost, '*.push.ft07.com'],
    secret: {
      use: 'token',
      pattern: '^[A-Za-z0-9]+$',
      rule: { en: 'be a SendKey of letters and digits', 'zh-CN': '是由字母和数字组成的 SendKey' },
    },
    attributes: {
      channel: { title: { en: 'Channels', 'zh-CN': '消息通道' }, member: 'channel' },
      'open-id': { title: { en: 'Recipients', 'zh-CN': '接收人' }, sensitive: true, member: 'openid' },
    },
    messageTypes: { text: typed(doubleMarkdownLineBreaks), markdown: typed((content) => content) },
    address: ({ endpoint: url, token }) => {
      if (token === undefined || url.pathname.endsWith('.send')) return { url, headers: {} }
      const [, number] = /^sctp(\d+)t/.exec(token) ?? []
      if (number !== undefined && url.hostname === turboHost) url.hostname = `${number}.push.ft07.com`
      url.pathname = `${number === undefined ? '' : '/send'}/${encodeURIComponent(token)}.send`
      return { url, headers: {} }
    },
    judge: createResponseJudge({
      delivered: createMemberCheck('code', 0),
      code: 'code',
      message: 'message',
      id: 'data.pushid',
      codes: { '40001': { hint: 'token-invalid' } },
    }),
  },
)
