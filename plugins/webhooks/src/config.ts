import { purgeKeys } from '@plinth/coordination'
import { key } from '@plinth/kernel'
import { declarePluginKey } from '@plinth/system-config'

export const secretKeyName = 'platform.webhooks.secret-key'

export const keys = {
  'platform.webhooks.auto-startup': key.boolean({
    title: { en: 'Send webhooks in this process', 'zh-CN': '本进程发送 Webhook' },
    description: {
      en: 'Applies to processes with the role worker. Deliveries wait until at least one worker sends.',
      'zh-CN': '仅对 worker 角色的进程生效。至少须有一个 worker 发送，否则投递会一直等待。',
    },
    default: true,
  }),
  'platform.webhooks.concurrency': key.integer({
    title: { en: 'Maximum concurrent webhook requests', 'zh-CN': '同时发送的 Webhook 请求数' },
    description: { en: 'Applies to each process.', 'zh-CN': '单个进程的上限。' },
    default: 32,
    minimum: 1,
    maximum: 256,
  }),
  'platform.webhooks.endpoint-concurrency': key.integer({
    title: { en: 'Maximum concurrent requests to one endpoint', 'zh-CN': '同一端点的并发请求数' },
    description: {
      en: 'Applies to each process. An endpoint that did not respond gets one request at a time.',
      'zh-CN': '单个进程的上限。未响应的端点每次只发送一个请求。',
    },
    default: 4,
    minimum: 1,
    maximum: 64,
  }),
  'platform.webhooks.poll-interval': key.duration({
    title: { en: 'Poll interval of webhook deliveries', 'zh-CN': 'Webhook 投递轮询间隔' },
    description: {
      en: 'New deliveries of the same process are sent immediately. Without work the interval grows to 5 s.',
      'zh-CN': '本进程产生的投递立即发送；空闲时间隔会逐渐增至 5 秒。',
    },
    default: '1s',
    minimum: '10ms',
    maximum: '1h',
    reload: 'live',
  }),
  'platform.webhooks.max-endpoints': key.integer({
    title: { en: 'Maximum number of webhook endpoints', 'zh-CN': 'Webhook 端点数上限' },
    default: 1000,
    minimum: 1,
    maximum: 10_000,
    reload: 'live',
  }),
  'platform.webhooks.retention': key.duration({
    title: { en: 'Retention of webhook deliveries', 'zh-CN': 'Webhook 投递记录保留时间' },
    description: {
      en: 'Deliveries can be sent again until then. Retries take up to four days.',
      'zh-CN': '在此之前可以重新投递。重试最长持续四天。',
    },
    default: '30d',
    minimum: '4d',
    reload: 'live',
  }),
  [secretKeyName]: declarePluginKey({
    title: { en: 'Encryption key of webhook secrets', 'zh-CN': 'Webhook 密钥的加密密钥' },
    description: {
      en: 'Encrypts the secrets of webhook endpoints. Created automatically with the first endpoint and stored encrypted. Do not set it manually.',
      'zh-CN': '用于加密 Webhook 端点的密钥。创建首个端点时自动生成并加密存储，无需人工设置。',
    },
  }),
  ...purgeKeys('platform.webhooks', {
    en: 'Interval for removing deliveries after their retention time and old secrets after their grace period.',
    'zh-CN': '清除超期的投递记录和宽限期已过的旧密钥的间隔。',
  }),
}
