import {
  createMemberCheck,
  createResponseJudge,
  WebhookInputError,
  type WebhookMessage,
  webhookProviderPlugin,
} from '@plinth/notification-channels/webhook'
import { joinSubjectAndContent, wecom, wecomMarkdown } from './plain-texts.ts'

/** Returns the mentions for the text, because Markdown messages have no field for them. Only user ids are possible. */
function mentioned({ attributes }: WebhookMessage): string {
  if (attributes['mentioned-mobile-list'] !== undefined) {
    throw new WebhookInputError(
      'webhook.wecom.mentioned-mobile-list',
      'be sent as text: Markdown knows no phone numbers',
    )
  }
  const users = attributes['mentioned-list']
  return Array.isArray(users) ? users.map((user) => `<@${String(user).replace(/^@/, '')}>`).join(' ') : ''
}

/** Group robot of WeCom. The secret is the key of the robot. */
export default webhookProviderPlugin(
  { id: 'webhook-providers.wecom', version: '1.0.0' },
  {
    code: 'wecom',
    displayName: { en: 'WeCom', 'zh-CN': '企业微信' },
    endpoint: 'https://qyapi.weixin.qq.com/cgi-bin/webhook/send',
    knownHosts: ['qyapi.weixin.qq.com'],
    secret: { use: 'token', into: { query: 'key' } },
    attributes: {
      'mentioned-list': { title: { en: 'Mention by user ID', 'zh-CN': '按用户 ID 提醒' }, type: 'list' },
      'mentioned-mobile-list': {
        title: { en: 'Mention by phone number', 'zh-CN': '按手机号提醒' },
        type: 'list',
        sensitive: true,
      },
    },
    messageTypes: {
      text: {
        body: ({ subject, content, attributes }) => ({
          msgtype: 'text',
          text: {
            content: joinSubjectAndContent(subject, content),
            mentioned_list: attributes['mentioned-list'],
            mentioned_mobile_list: attributes['mentioned-mobile-list'],
          },
        }),
        plain: wecom,
        limit: { max: 2048, unit: 'bytes', member: 'text.content' },
      },
      markdown: {
        body: (message) => {
          const { subject, content } = message
          const heading = subject === '' ? '' : `## ${subject}`
          return {
            msgtype: 'markdown',
            markdown: { content: joinSubjectAndContent(joinSubjectAndContent(heading, content), mentioned(message)) },
          }
        },
        plain: wecomMarkdown,
        limit: { max: 4096, unit: 'bytes', member: 'markdown.content' },
      },
    },
    rateLimits: [{ max: 20, windowMs: 60_000 }],
    judge: createResponseJudge({
      delivered: createMemberCheck('errcode', 0),
      code: 'errcode',
      message: 'errmsg',
      codes: {
        '-1': { outcome: 'deferred', hint: 'provider-busy' },
        '93000': { hint: 'token-invalid' },
        '93004': { hint: 'robot-disabled' },
        '93008': { hint: 'robot-disabled' },
        '45002': { hint: 'payload-too-large' },
        '45009': { outcome: 'deferred', hint: 'rate-limited', retryAfterMs: 60_000 },
        '45033': { outcome: 'deferred', hint: 'rate-limited', retryAfterMs: 60_000 },
        '40008': { hint: 'payload-invalid' },
        '40058': { hint: 'payload-invalid' },
        '44004': { hint: 'payload-invalid' },
      },
      texts: {
        接口调用超过限制: { outcome: 'deferred', hint: 'rate-limited', retryAfterMs: 60_000 },
        机器人webhookurl不合法: { hint: 'token-invalid' },
      },
    }),
  },
)
