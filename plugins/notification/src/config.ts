import { purgeKeys, retentionKey } from '@plinth/coordination'
import { key } from '@plinth/kernel'
import { renderingKeys } from './rendering.ts'

export const keys = {
  ...renderingKeys,
  'platform.notification.enabled': key.boolean({
    title: { en: 'Notifications', 'zh-CN': '通知' },
    description: { en: 'Off: every send is skipped.', 'zh-CN': '关闭后所有发送都会跳过。' },
    default: true,
    reload: 'live',
  }),
  'platform.notification.default-channel': key.string({
    title: { en: 'Default channel', 'zh-CN': '默认渠道' },
    description: { en: 'Channel of messages that name none.', 'zh-CN': '未指定渠道的消息使用它。' },
    default: 'log',
    minLength: 1,
    reload: 'live',
  }),
  'platform.notification.send-deadline': key.duration({
    title: { en: 'Deadline of a channel', 'zh-CN': '渠道的时限' },
    description: {
      en: 'A channel that has not answered by then counts as failed; the other channels are not held up.',
      'zh-CN': '渠道在此时限内未应答即视为失败；其他渠道不受影响。',
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
      en: 'Sends again by itself what a channel could not take now. What may have been sent is never sent again, unless its channel is idempotent.',
      'zh-CN': '渠道暂时无法接收的消息会自动重发。可能已发送的消息不会自动重发，除非渠道支持幂等。',
    },
    default: false,
    reload: 'live',
  }),
  'platform.notification.retry.max-attempts': key.integer({
    title: { en: 'Sends of a message, at most', 'zh-CN': '最大发送次数' },
    description: { en: 'The first one included; then it is given up.', 'zh-CN': '含首次发送；超出后放弃。' },
    default: 5,
    minimum: 2,
    maximum: 100,
    reload: 'live',
  }),
  'platform.notification.retry.first-delay': key.duration({
    title: { en: 'Delay before the first retry', 'zh-CN': '首次重发延迟' },
    description: {
      en: 'Half of each delay is left to chance. A provider that asks for more gets it.',
      'zh-CN': '每次延迟的一半随机；服务商要求更长时间时以其为准。',
    },
    default: '30s',
    minimum: '1s',
    maximum: '1d',
    reload: 'live',
  }),
  'platform.notification.retry.factor': key.integer({
    title: { en: 'Growth of the delay', 'zh-CN': '延迟增长倍数' },
    description: { en: 'Each delay is this many times the one before.', 'zh-CN': '每次延迟是上一次的多少倍。' },
    default: 2,
    minimum: 1,
    maximum: 10,
    reload: 'live',
  }),
  'platform.notification.retry.longest-delay': key.duration({
    title: { en: 'Longest delay before a retry', 'zh-CN': '最长重发延迟' },
    default: '1h',
    minimum: '1s',
    maximum: '7d',
    reload: 'live',
  }),
  'platform.notification.send-log.settle.fixed-delay': key.duration({
    title: { en: 'Interval between looks for sends that were cut off', 'zh-CN': '中断发送的检查间隔' },
    description: {
      en: 'Sends whose process died become unknown.',
      'zh-CN': '进程异常退出时正在发送的记录会标记为未知。',
    },
    default: '1m',
    minimum: '1s',
    maximum: '1h',
  }),
  'platform.notification.send-log.settle.auto-startup': key.boolean({
    title: { en: 'Find sends that were cut off by itself', 'zh-CN': '自动检查中断的发送' },
    default: true,
  }),
  ...purgeKeys('platform.notification.send-log', {
    en: 'How often old rows are removed and retries that were cut off are given back.',
    'zh-CN': '清除旧记录以及恢复中断的重发的间隔。',
  }),
}
