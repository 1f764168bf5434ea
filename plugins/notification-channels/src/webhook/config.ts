import { key } from '@plinth/kernel'
import { providerStrategies } from '../provider-choice.ts'

const name = '^[a-z0-9]+(?:-[a-z0-9]+)*$'

export const keys = {
  'platform.notification.channels.webhook.enabled': key.boolean({
    title: { en: 'Channel "webhook"', 'zh-CN': '渠道 webhook' },
    description: {
      en: 'Pushes messages to robots and third parties.',
      'zh-CN': '把消息推送到机器人或第三方。',
    },
    default: false,
    reload: 'live',
  }),
  'platform.notification.channels.webhook.default-provider': key.string({
    title: { en: 'Default provider', 'zh-CN': '默认服务商' },
    description: {
      en: 'Sends messages that name no provider, while the strategy is single.',
      'zh-CN': '策略为 single 时，由它发送未指定服务商的消息。',
    },
    default: 'dingtalk',
    pattern: name,
    rule: {
      en: 'be the code of a provider: lower-case words of letters and digits, joined with "-"',
      'zh-CN': '是服务商代码：以“-”连接的小写字母和数字',
    },
    reload: 'live',
  }),
  'platform.notification.channels.webhook.message-type': key.string({
    title: { en: 'Default message type', 'zh-CN': '默认消息类型' },
    description: {
      en: 'Such as text or markdown. A provider without it uses its first one.',
      'zh-CN': '例如 text 或 markdown；服务商不支持时使用其第一种类型。',
    },
    default: 'text',
    pattern: name,
    rule: {
      en: 'be a message type: lower-case words of letters and digits, joined with "-"',
      'zh-CN': '是消息类型：以“-”连接的小写字母和数字',
    },
    reload: 'live',
  }),
  'platform.notification.channels.webhook.signing-enabled': key.boolean({
    title: { en: 'Sign webhooks', 'zh-CN': 'Webhook 签名' },
    description: {
      en: 'Signs requests to providers that check signatures and have a secret.',
      'zh-CN': '对支持签名且配置了密钥的服务商，请求会附带签名。',
    },
    default: true,
    reload: 'live',
  }),
  'platform.notification.channels.webhook.strategy': key.enum({
    title: { en: 'Choice of the provider', 'zh-CN': '服务商选择策略' },
    description: {
      en: 'single: the default provider. failover: the providers of the order, the next one when one does not deliver. round-robin: in turn, with failover. A message that names its provider goes through that one.',
      'zh-CN':
        'single：使用默认服务商；failover：按顺序尝试，前一个未送达时使用下一个；round-robin：轮流使用，失败时切换。消息指定了服务商时只使用该服务商。',
    },
    values: providerStrategies,
    default: 'single',
    reload: 'live',
  }),
  'platform.notification.channels.webhook.providers-order': key.stringList({
    title: { en: 'Order of the providers', 'zh-CN': '服务商顺序' },
    description: {
      en: 'For failover and round-robin. Empty: the default provider alone.',
      'zh-CN': '用于 failover 和 round-robin；留空时只使用默认服务商。',
    },
    default: [],
    items: { pattern: name },
    rule: {
      en: 'be the code of a provider: lower-case words of letters and digits, joined with "-"',
      'zh-CN': '是服务商代码：以“-”连接的小写字母和数字',
    },
    maxItems: 32,
    uniqueItems: true,
    reload: 'live',
  }),
  'platform.notification.channels.webhook.provider-rest': key.duration({
    title: { en: 'Rest of a provider that failed', 'zh-CN': '失败服务商的暂缓时间' },
    description: {
      en: 'For so long it is asked after the others, unless it says itself when to come again.',
      'zh-CN': '在此期间排在其他服务商之后；服务商自行告知重试时间时以其为准。',
    },
    default: '1m',
    minimum: '0s',
    maximum: '1d',
    reload: 'live',
  }),
  'platform.notification.channels.webhook.endpoint-attribute': key.enum({
    title: { en: 'Addresses that messages name', 'zh-CN': '消息自带的地址' },
    description: {
      en: 'any: every address that outgoing requests may reach. known-hosts: only those of the provider. off: none; only configured addresses are used.',
      'zh-CN': 'any：外发请求可访问的任何地址；known-hosts：仅该服务商的主机；off：不接受，只使用配置的地址。',
    },
    values: ['any', 'known-hosts', 'off'],
    default: 'any',
    reload: 'live',
  }),
  'platform.notification.channels.webhook.rate-limit-enabled': key.boolean({
    title: { en: 'Keep the limits of providers', 'zh-CN': '遵守服务商的频率限制' },
    description: {
      en: 'A message above the limit of its address is deferred, not sent. Needs the rate limiter.',
      'zh-CN': '超过地址频率限制的消息会延后发送；需要限流组件。',
    },
    default: true,
    reload: 'live',
  }),
  'platform.notification.channels.webhook.deadline': key.duration({
    title: { en: 'Deadline of a webhook', 'zh-CN': 'Webhook 的时限' },
    description: {
      en: 'For one request. Keep it below the deadline of a channel.',
      'zh-CN': '单次请求的时限；应小于渠道的时限。',
    },
    default: '8s',
    minimum: '100ms',
    maximum: '5m',
    reload: 'live',
  }),
}
