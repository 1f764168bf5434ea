import { purgeKeys, retentionKey } from '@plinth/coordination'
import { key } from '@plinth/kernel'
import { renderingKeys } from './rendering.ts'

export const keys = {
  ...renderingKeys,
  'platform.notification.enabled': key.boolean({
    title: { en: 'Notifications', 'zh-CN': '通知' },
    description: { en: 'Off: no messages are sent.', 'zh-CN': '关闭后不发送任何消息。' },
    default: true,
    reload: 'live',
  }),
  'platform.notification.default-channel': key.string({
    title: { en: 'Default channel', 'zh-CN': '默认渠道' },
    description: { en: 'Channel for messages that do not specify one.', 'zh-CN': '未指定渠道的消息使用它。' },
    default: 'log',
    minLength: 1,
    reload: 'live',
  }),
  'platform.notification.send-deadline': key.duration({
    title: { en: 'Channel timeout', 'zh-CN': '渠道超时时间' },
    description: {
      en: 'If a channel does not respond within this time, the send fails. Other channels are not delayed.',
      'zh-CN': '渠道在此时间内未响应即视为发送失败；其他渠道不受影响。',
    },
    default: '10s',
    minimum: '1s',
    reload: 'live',
  }),
  'platform.notification.send-log.retention': retentionKey({
    en: 'Retention of the send log',
    'zh-CN': '发送记录保留时间',
  }),
  'platform.notification.retry.enabled': key.boolean({
    title: { en: 'Automatic retries', 'zh-CN': '自动重发' },
    description: {
      en: 'Applies to queued messages, alerts and messages of operators. They are sent again if a channel could not accept them temporarily. A message that may already have been sent is only sent again on idempotent channels.',
      'zh-CN':
        '适用于排队的消息、告警和操作员发送的消息：渠道暂时无法接收时会自动重发。可能已发送的消息仅在支持幂等的渠道上重发。',
    },
    default: true,
    reload: 'live',
  }),
  'platform.notification.retry.max-attempts': key.integer({
    title: { en: 'Maximum attempts per message', 'zh-CN': '最大发送次数' },
    description: {
      en: 'Includes the first attempt. After the last one, no more attempts are made. Waiting for a rate limit of this product is not an attempt.',
      'zh-CN': '含首次发送；达到后不再尝试。等待本产品的频率限制不计入次数。',
    },
    default: 12,
    minimum: 2,
    maximum: 100,
    reload: 'live',
  }),
  'platform.notification.retry.first-delay': key.duration({
    title: { en: 'Delay before the first retry', 'zh-CN': '首次重发延迟' },
    description: {
      en: 'Half of each delay is random. If a provider requests a longer delay, that delay applies.',
      'zh-CN': '每次延迟的一半随机；服务商要求更长时间时以其为准。',
    },
    default: '30s',
    minimum: '1s',
    maximum: '1d',
    reload: 'live',
  }),
  'platform.notification.retry.factor': key.integer({
    title: { en: 'Delay factor', 'zh-CN': '延迟增长倍数' },
    description: {
      en: 'Each delay is the previous delay multiplied by this factor.',
      'zh-CN': '每次延迟为上一次延迟乘以此倍数。',
    },
    default: 2,
    minimum: 1,
    maximum: 10,
    reload: 'live',
  }),
  'platform.notification.retry.longest-delay': key.duration({
    title: { en: 'Maximum delay before a retry', 'zh-CN': '最长重发延迟' },
    default: '1h',
    minimum: '1s',
    maximum: '7d',
    reload: 'live',
  }),
  'platform.notification.send-log.settle.fixed-delay': key.duration({
    title: { en: 'Check interval for interrupted sends', 'zh-CN': '中断发送的检查间隔' },
    description: {
      en: 'Sends that were interrupted by the end of their process get the state "unknown".',
      'zh-CN': '因进程退出而中断的发送会标记为未知。',
    },
    default: '1m',
    minimum: '1s',
    maximum: '1h',
  }),
  'platform.notification.send-log.settle.auto-startup': key.boolean({
    title: { en: 'Check for interrupted sends automatically', 'zh-CN': '自动检查中断的发送' },
    default: true,
  }),
  ...purgeKeys('platform.notification.send-log', {
    en: 'Interval for removing old entries and for releasing interrupted retries.',
    'zh-CN': '清除旧记录以及释放中断的重发的间隔。',
  }),
}
