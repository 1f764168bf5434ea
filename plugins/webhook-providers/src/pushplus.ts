import { omitUndefined } from '@plinth/kernel'
import {
  createMemberCheck,
  createResponseJudge,
  WebhookInputError,
  type WebhookMessage,
  type WebhookMessageType,
  type WebhookPlainText,
  webhookProviderPlugin,
} from '@plinth/notification-channels/webhook'
import { html, markdownWithHtml, titleFromMessage } from './plain-texts.ts'

const typed = (template: string, plain?: WebhookPlainText) =>
  omitUndefined<WebhookMessageType>({
    body: (message: WebhookMessage) => {
      const { attributes, content, subject, token } = message
      if (token === undefined && attributes['token'] === undefined) {
        throw new WebhookInputError('webhook.pushplus.token', 'be there, unless a secret is configured')
      }
      const { option } = attributes
      // Older servers call the option `webhook`.
      return { title: titleFromMessage(message, 100), content: content || subject, template, option, webhook: option }
    },
    plain,
    limit: { max: 20_000, unit: 'characters', member: 'content' },
  })

/**
 * Push service PushPlus. The secret is the token of a user. Success only means that PushPlus has accepted the message.
 */
export default webhookProviderPlugin(
  { id: 'webhook-providers.pushplus', version: '1.0.0' },
  {
    code: 'pushplus',
    displayName: { en: 'PushPlus', 'zh-CN': 'PushPlus 推送加' },
    endpoint: 'https://www.pushplus.plus/send',
    knownHosts: ['www.pushplus.plus'],
    secret: { use: 'token', into: { member: 'token' } },
    attributes: {
      token: { title: { en: 'Token', 'zh-CN': '令牌' }, sensitive: true, member: 'token' },
      topic: { title: { en: 'Group code', 'zh-CN': '群组编码' }, member: 'topic' },
      template: {
        title: { en: 'Template', 'zh-CN': '模板' },
        values: ['html', 'txt', 'json', 'markdown', 'cloudMonitor', 'jenkins', 'route', 'pay'],
        member: 'template',
      },
      channel: { title: { en: 'Channel', 'zh-CN': '发送渠道' }, member: 'channel' },
      option: { title: { en: 'Option of the channel', 'zh-CN': '渠道配置参数' } },
      to: { title: { en: 'Token of a friend', 'zh-CN': '好友令牌' }, sensitive: true, member: 'to' },
      'callback-url': { title: { en: 'Callback address', 'zh-CN': '回调地址' }, member: 'callbackUrl' },
    },
    messageTypes: { text: typed('txt'), markdown: typed('markdown', markdownWithHtml), html: typed('html', html) },
    messageTypeOf: (chosen, { template }) =>
      template === undefined ? chosen : template === 'html' || template === 'markdown' ? template : 'text',
    judge: createResponseJudge({
      delivered: createMemberCheck('code', 200),
      code: 'code',
      message: 'msg',
      id: 'data',
      codes: {
        '302': { hint: 'token-invalid' },
        '401': { hint: 'token-invalid' },
        '403': { hint: 'ip-not-allowed' },
        '500': { outcome: 'deferred', hint: 'provider-busy' },
        '600': { hint: 'payload-invalid' },
        // Too many requests. The message is not sent again, because further requests would lock the account for days.
        '900': { hint: 'rate-limited' },
        '903': { hint: 'token-invalid' },
        '905': { hint: 'token-invalid' },
        '999': { hint: 'payload-invalid' },
      },
    }),
  },
)
