import { guardsPermission, key } from '@plinth/kernel'
import { providerStrategies } from '../provider-choice.ts'

const name = '^[a-z0-9]+(?:-[a-z0-9]+)*$'

export const keys = {
  'platform.notification.channels.webhook.enabled': key.boolean({
    title: { en: 'Channel "webhook"', 'zh-CN': '渠道 webhook' },
    description: {
      en: 'Sends messages to bots and push services of third parties.',
      'zh-CN': '把消息推送到机器人或第三方。',
    },
    default: false,
    reload: 'live',
  }),
  'platform.notification.channels.webhook.default-provider': key.string({
    title: { en: 'Default provider', 'zh-CN': '默认服务商' },
    description: {
      en: 'Provider of messages that do not specify one, if the strategy is "single".',
      'zh-CN': '策略为 single 时，由它发送未指定服务商的消息。',
    },
    default: 'dingtalk',
    pattern: name,
    rule: {
      en: 'be the code of a provider: lower-case letters and digits, with "-" between words',
      'zh-CN': '是服务商代码：以“-”连接的小写字母和数字',
    },
    reload: 'live',
  }),
  'platform.notification.channels.webhook.message-type': key.string({
    title: { en: 'Default message type', 'zh-CN': '默认消息类型' },
    description: {
      en: 'For example text or markdown. A provider without this type uses its first type.',
      'zh-CN': '例如 text 或 markdown；服务商不支持时使用其第一种类型。',
    },
    default: 'text',
    pattern: name,
    rule: {
      en: 'be a message type: lower-case letters and digits, with "-" between words',
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
    permission: guardsPermission,
  }),
  'platform.notification.channels.webhook.strategy': key.enum({
    title: { en: 'Provider strategy', 'zh-CN': '服务商选择策略' },
    description: {
      en: 'single: the default provider. failover: the providers in their order; if one fails, the next one is used. round-robin: in turn, with failover. A message that specifies a provider uses only that provider.',
      'zh-CN':
        'single：使用默认服务商；failover：按顺序尝试，前一个未送达时使用下一个；round-robin：轮流使用，失败时切换。消息指定了服务商时只使用该服务商。',
    },
    values: providerStrategies,
    default: 'single',
    reload: 'live',
  }),
  'platform.notification.channels.webhook.providers-order': key.stringList({
    title: { en: 'Provider order', 'zh-CN': '服务商顺序' },
    description: {
      en: 'Used with failover and round-robin. If empty, only the default provider is used.',
      'zh-CN': '用于 failover 和 round-robin；留空时只使用默认服务商。',
    },
    default: [],
    items: { pattern: name },
    rule: {
      en: 'be the code of a provider: lower-case letters and digits, with "-" between words',
      'zh-CN': '是服务商代码：以“-”连接的小写字母和数字',
    },
    maxItems: 32,
    uniqueItems: true,
    reload: 'live',
  }),
  'platform.notification.channels.webhook.provider-rest': key.duration({
    title: { en: 'Pause of a failed provider', 'zh-CN': '失败服务商的暂缓时间' },
    description: {
      en: 'During this time, the other providers are used first. If the provider reports a retry time, that time applies.',
      'zh-CN': '在此期间优先使用其他服务商；服务商告知重试时间时以其为准。',
    },
    default: '1m',
    minimum: '0s',
    maximum: '1d',
    reload: 'live',
  }),
  'platform.notification.channels.webhook.endpoint-attribute': key.enum({
    title: { en: 'Addresses specified by messages', 'zh-CN': '消息指定的地址' },
    description: {
      en: 'any: every address that outgoing requests can reach. known-hosts: only hosts of the provider. off: only configured addresses.',
      'zh-CN': 'any：外发请求可访问的任何地址；known-hosts：仅该服务商的主机；off：只使用配置的地址。',
    },
    values: ['any', 'known-hosts', 'off'],
    default: 'any',
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.notification.channels.webhook.rate-limit-enabled': key.boolean({
    title: { en: 'Respect the rate limits of providers', 'zh-CN': '遵守服务商的频率限制' },
    description: {
      en: 'A message above the rate limit of its address is deferred. Requires the plugin rate-limit.',
      'zh-CN': '超过地址频率限制的消息会延后发送；需要插件 rate-limit。',
    },
    default: true,
    reload: 'live',
  }),
  'platform.notification.channels.webhook.deadline': key.duration({
    title: { en: 'Webhook timeout', 'zh-CN': 'Webhook 超时时间' },
    description: {
      en: 'For one request. Set it below the channel timeout.',
      'zh-CN': '单次请求的超时时间；应小于渠道超时时间。',
    },
    default: '8s',
    minimum: '100ms',
    maximum: '5m',
    reload: 'live',
  }),
}
