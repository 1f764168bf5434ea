import {
  createResponseJudge,
  WebhookInputError,
  type WebhookMessage,
  webhookProviderPlugin,
} from '@plinth/notification-channels/webhook'
import { commonMark } from './plain-texts.ts'

/** Returns the topic. JSON messages are sent to the root of the server, so they must contain the topic. */
function topicOf({ attributes, endpoint }: WebhookMessage): string {
  const { topic } = attributes
  const [, segment = ''] = /^\/([^/]+)\/?$/.exec(endpoint.pathname) ?? []
  const name = typeof topic === 'string' ? topic : segment
  if (name === '') throw new WebhookInputError('webhook.ntfy.topic', 'be there, unless the address ends with a topic')
  return name
}

/** Returns the header `authorization`. A secret `tk_...` is a token; a secret `user:password` contains credentials. */
const authorization = (secret: string) =>
  secret.includes(':') ? `Basic ${Buffer.from(secret).toString('base64')}` : `Bearer ${secret}`

/**
 * Limits of the server for the message and for its JSON, which is twice as large (ntfy, `message-size-limit`). The title
 * leaves room for the message.
 */
const limits = {
  limit: { max: 4096, unit: 'bytes', member: 'message' },
  subjectLimit: { max: 1000, unit: 'bytes', member: 'title' },
  payloadLimit: 8192,
} as const
const body = (given: WebhookMessage) => ({
  topic: topicOf(given),
  ...(given.written.subject === '' ? {} : { title: given.written.subject }),
  message: given.content,
})

/** Push service ntfy. The secret is an access token, or `user:password`. */
export default webhookProviderPlugin(
  { id: 'webhook-providers.ntfy', version: '1.0.0' },
  {
    code: 'ntfy',
    displayName: { en: 'ntfy', 'zh-CN': 'ntfy' },
    endpoint: 'https://ntfy.sh/',
    knownHosts: ['ntfy.sh'],
    secret: { use: 'token' },
    attributes: {
      topic: { title: { en: 'Topic', 'zh-CN': '主题' } },
      priority: {
        title: { en: 'Priority', 'zh-CN': '优先级' },
        type: 'integer',
        minimum: 1,
        maximum: 5,
        member: 'priority',
      },
      tags: { title: { en: 'Tags', 'zh-CN': '标签' }, type: 'list', member: 'tags' },
      click: { title: { en: 'Address to open', 'zh-CN': '点击打开的地址' }, member: 'click' },
      attach: { title: { en: 'Address of an attachment', 'zh-CN': '附件地址' }, member: 'attach' },
      filename: { title: { en: 'Name of the attachment', 'zh-CN': '附件名称' }, member: 'filename' },
      actions: {
        title: { en: 'Actions', 'zh-CN': '操作' },
        type: 'objects',
        maximum: 3,
        member: 'actions',
        sensitive: true,
      },
      markdown: { title: { en: 'Markdown', 'zh-CN': 'Markdown' }, type: 'boolean', member: 'markdown' },
    },
    messageTypes: {
      text: { body, ...limits },
      markdown: { body: (message) => ({ ...body(message), markdown: true }), plain: commonMark, ...limits },
    },
    messageTypeOf: (chosen, { markdown }) =>
      markdown === undefined ? chosen : markdown === true ? 'markdown' : 'text',
    rateLimits: [{ max: 60, windowMs: 300_000 }],
    address: ({ endpoint: url, token }) => {
      // The parameter `auth` contains the value of the header in base64url. It is moved to the header, because URLs are
      // logged.
      const auth = url.searchParams.get('auth')
      url.searchParams.delete('auth')
      url.pathname = '/'
      if (token !== undefined) return { url, headers: { authorization: authorization(token) } }
      return { url, headers: auth === null ? {} : { authorization: Buffer.from(auth, 'base64url').toString() } }
    },
    judge: createResponseJudge({
      delivered: () => true,
      code: 'code',
      message: 'error',
      id: 'id',
      codes: {
        '40101': { hint: 'token-invalid' },
        '40301': { hint: 'token-invalid' },
        '41301': { hint: 'payload-too-large' },
        '42901': { outcome: 'deferred', hint: 'rate-limited' },
        // The daily limit of messages is used up, so the message is sent again after an hour.
        '42908': { outcome: 'deferred', hint: 'rate-limited', retryAfterMs: 3_600_000 },
      },
    }),
  },
)
