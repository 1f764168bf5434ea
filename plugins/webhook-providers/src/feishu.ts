import { createHmac } from 'node:crypto'
import {
  createResponseJudge,
  isJsonObject,
  valueAtPath,
  WebhookInputError,
  type WebhookRequest,
  webhookProviderPlugin,
} from '@plinth/notification-channels/webhook'
import { feishu, feishuCard, joinSubjectAndContent, titleFromMessage } from './plain-texts.ts'

/** Returns the signature for a time in seconds, in Base64. Time and secret form the key; the signed text is empty. */
export const feishuSignature = (secret: string, timestampSeconds: number): string =>
  createHmac('sha256', `${timestampSeconds}\n${secret}`).digest('base64')

/** Returns the fields of a payload. An attribute may contain it as JSON text. */
function membersOf({ body }: WebhookRequest): object {
  let value: unknown = body
  try {
    if (typeof body === 'string') value = JSON.parse(body)
  } catch {
    // The text is not JSON. It is rejected below.
  }
  if (isJsonObject(value)) return value
  throw new WebhookInputError('webhook.payload', 'be a JSON object, because the signature goes into it')
}

const language = (locale = 'zh'): string =>
  [['en', 'en_us'] as const, ['ja', 'ja_jp'] as const].find(([tag]) => locale.toLowerCase().startsWith(tag))?.[1] ??
  'zh_cn'

/** Feishu allows 20 KB. Time and signature, which are added later, need 80 bytes. */
const limit = { max: 20_400, unit: 'bytes' } as const
/** Returns the result code of a response. Old robots send it only as `StatusCode`. */
const resultOf = (json: unknown) => valueAtPath(json, 'code') ?? valueAtPath(json, 'StatusCode')

/** Custom bot of Feishu and Lark. */
export default webhookProviderPlugin(
  { id: 'webhook-providers.feishu', version: '1.0.0' },
  {
    code: 'feishu',
    aliases: ['lark'],
    displayName: { en: 'Feishu', 'zh-CN': '飞书' },
    knownHosts: ['open.feishu.cn', 'open.larksuite.com'],
    secret: { use: 'signature' },
    messageTypes: {
      text: {
        body: ({ subject, content }) => ({
          msg_type: 'text',
          content: { text: joinSubjectAndContent(subject, content) },
        }),
        plain: feishu,
        limit,
      },
      markdown: {
        body: ({ written, content }) => ({
          msg_type: 'interactive',
          card: {
            config: { wide_screen_mode: true },
            ...(written.subject === ''
              ? {}
              : { header: { title: { tag: 'plain_text', content: written.subject }, template: 'blue' } }),
            elements: [{ tag: 'markdown', content }],
          },
        }),
        plain: feishuCard,
        limit,
      },
      post: {
        body: (message) => ({
          msg_type: 'post',
          content: {
            post: {
              [language(message.locale)]: {
                title: titleFromMessage(message, 128),
                content: message.content.split('\n').map((line) => [{ tag: 'text', text: line }]),
              },
            },
          },
        }),
        plain: feishu,
        limit,
      },
    },
    rateLimits: [
      { max: 100, windowMs: 60_000 },
      { max: 5, windowMs: 1000 },
    ],
    sign(request, { secret, nowMs }) {
      const timestamp = Math.floor(nowMs / 1000)
      const signed = { timestamp: String(timestamp), sign: feishuSignature(secret, timestamp) }
      return { ...request, body: { ...signed, ...membersOf(request), ...signed } }
    },
    judge: createResponseJudge({
      delivered: ({ json }) => String(resultOf(json)) === '0',
      code: ({ json }) => resultOf(json),
      message: ['msg', 'StatusMessage'],
      texts: {
        关键词: { hint: 'keyword-missing' },
        签名: { hint: 'signature-mismatch' },
        白名单: { hint: 'ip-not-allowed' },
      },
      codes: {
        '9499': { hint: 'payload-invalid' },
        '19001': { hint: 'token-invalid' },
        '19002': { hint: 'payload-invalid' },
        '19006': { hint: 'robot-disabled' },
        '19021': { hint: 'signature-mismatch' },
        '19022': { hint: 'ip-not-allowed' },
        '19024': { hint: 'keyword-missing' },
        '11232': { outcome: 'deferred', hint: 'rate-limited', retryAfterMs: 60_000 },
      },
    }),
  },
)
