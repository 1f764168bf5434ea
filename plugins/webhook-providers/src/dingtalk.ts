import { createHmac } from 'node:crypto'
import {
  createMemberCheck,
  createResponseJudge,
  type WebhookMessage,
  webhookProviderPlugin,
  withQuery,
} from '@plinth/notification-channels/webhook'
import { joinSubjectAndContent, markdownWithHtml, titleFromMessage } from './plain-texts.ts'

/**
 * Returns the signature for a time in milliseconds, in Base64. The secret is the key and also part of the signed text.
 */
export const dingtalkSignature = (secret: string, timestampMs: number): string =>
  createHmac('sha256', secret).update(`${timestampMs}\n${secret}`).digest('base64')

const limit = { max: 20_000, unit: 'bytes' } as const
const list = (value: unknown): readonly string[] => (Array.isArray(value) ? value : [])

function mentions({ attributes }: WebhookMessage) {
  const atMobiles = list(attributes['at-mobiles'])
  const atUserIds = list(attributes['at-user-ids'])
  const isAtAll = attributes['at-all'] === true
  return atMobiles.length + atUserIds.length > 0 || isAtAll ? { at: { atMobiles, atUserIds, isAtAll } } : {}
}

/** In Markdown, a mention only works if the text also contains it. */
const mentioned = ({ attributes }: WebhookMessage) =>
  [...list(attributes['at-mobiles']), ...list(attributes['at-user-ids'])].map((who) => `@${who}`).join(' ')

/** Custom robot of DingTalk. */
export default webhookProviderPlugin(
  { id: 'webhook-providers.dingtalk', version: '1.0.0' },
  {
    code: 'dingtalk',
    displayName: { en: 'DingTalk', 'zh-CN': '钉钉' },
    knownHosts: ['oapi.dingtalk.com'],
    secret: { use: 'signature' },
    attributes: {
      'at-mobiles': {
        title: { en: 'Mention by phone number', 'zh-CN': '按手机号提醒' },
        type: 'list',
        sensitive: true,
      },
      'at-user-ids': { title: { en: 'Mention by user ID', 'zh-CN': '按用户 ID 提醒' }, type: 'list' },
      'at-all': { title: { en: 'Mention everybody', 'zh-CN': '提醒所有人' }, type: 'boolean' },
    },
    messageTypes: {
      text: {
        body: (message) => ({
          msgtype: 'text',
          text: { content: joinSubjectAndContent(message.subject, message.content) },
          ...mentions(message),
        }),
        limit,
      },
      markdown: {
        body: (message) => {
          const title = titleFromMessage(message, 64)
          const heading = message.subject === '' ? '' : `### ${message.subject}`
          const text = joinSubjectAndContent(
            joinSubjectAndContent(heading, message.content),
            mentioned(message),
            '\n\n',
          )
          return { msgtype: 'markdown', markdown: { title, text }, ...mentions(message) }
        },
        plain: markdownWithHtml,
        limit,
      },
    },
    rateLimits: [{ max: 20, windowMs: 60_000 }],
    sign: (request, { secret, nowMs }) => ({
      ...request,
      url: withQuery(request.url, { timestamp: String(nowMs), sign: dingtalkSignature(secret, nowMs) }),
    }),
    judge: createResponseJudge({
      delivered: createMemberCheck('errcode', 0),
      code: 'errcode',
      message: 'errmsg',
      // Error texts of problems that all have the code 310000. The language of the text depends on the group.
      texts: {
        'keywords not in content': { hint: 'keyword-missing' },
        关键词不匹配: { hint: 'keyword-missing' },
        'invalid timestamp': { hint: 'clock-skew' },
        签名过期: { hint: 'clock-skew' },
        'sign not match': { hint: 'signature-mismatch' },
        签名不匹配: { hint: 'signature-mismatch' },
        'not in whitelist': { hint: 'ip-not-allowed' },
        白名单: { hint: 'ip-not-allowed' },
      },
      codes: {
        '-1': { outcome: 'deferred', hint: 'provider-busy' },
        // Too many messages. DingTalk then blocks a robot for ten minutes.
        '130101': { outcome: 'deferred', hint: 'rate-limited', retryAfterMs: 60_000 },
        '410100': { outcome: 'deferred', hint: 'rate-limited', retryAfterMs: 60_000 },
        '300001': { hint: 'token-invalid' },
        '300005': { hint: 'token-invalid' },
        '400101': { hint: 'token-invalid' },
        '400013': { hint: 'robot-disabled' },
        '400102': { hint: 'robot-disabled' },
        '400106': { hint: 'robot-disabled' },
        '40035': { hint: 'token-invalid' },
        '43002': { hint: 'payload-invalid' },
        '43004': { hint: 'payload-invalid' },
        '400105': { hint: 'payload-invalid' },
      },
    }),
  },
)
