import {
  createResponseJudge,
  type WebhookMessage,
  webhookProviderPlugin,
  withQuery,
} from '@plinth/notification-channels/webhook'
import { closeCode, googleChat, joinSubjectAndContent } from './plain-texts.ts'

const body = ({ subject, content, attributes }: WebhookMessage) => {
  const threadKey = attributes['thread-key']
  const text = joinSubjectAndContent(subject === '' ? '' : `*${subject}*`, closeCode(content))
  return { text, ...(threadKey === undefined ? {} : { thread: { threadKey } }) }
}
const shown = { body, plain: googleChat, limit: { max: 4096, unit: 'characters', member: 'text' } } as const

/** Incoming webhook of Google Chat. The secret is the URL parameter `token`. */
export default webhookProviderPlugin(
  { id: 'webhook-providers.google-chat', version: '1.0.0' },
  {
    code: 'google-chat',
    displayName: { en: 'Google Chat', 'zh-CN': 'Google Chat' },
    knownHosts: ['chat.googleapis.com'],
    secret: { use: 'token', into: { query: 'token' } },
    attributes: { 'thread-key': { title: { en: 'Thread', 'zh-CN': '话题' } } },
    messageTypes: { text: shown, markdown: shown },
    rateLimits: [{ max: 1, windowMs: 1000 }],
    address: ({ endpoint, attributes }) => {
      const inThread = { messageReplyOption: 'REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD' }
      const url = attributes['thread-key'] === undefined ? endpoint : withQuery(endpoint, inThread)
      return { url, headers: {} }
    },
    judge: createResponseJudge({
      delivered: () => true,
      code: ['error.status', 'error.code'],
      message: 'error.message',
      id: 'name',
      codes: {
        INVALID_ARGUMENT: { hint: 'payload-invalid' },
        PERMISSION_DENIED: { hint: 'token-invalid' },
        UNAUTHENTICATED: { hint: 'token-invalid' },
        NOT_FOUND: { hint: 'robot-disabled' },
        RESOURCE_EXHAUSTED: { outcome: 'deferred', hint: 'rate-limited' },
      },
    }),
  },
)
