import { purgeKeys } from '@plinth/coordination'
import { key } from '@plinth/kernel'

export const config = {
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
    minimum: '1ms',
    reload: 'live',
  }),
  'platform.notification.send-log.retention': key.duration({
    title: { en: 'Retention of the send log', 'zh-CN': '发送记录保留时间' },
    description: {
      en: 'Older rows are removed. 0 keeps them for ever.',
      'zh-CN': '更早的记录会被清除；0 表示永久保留。',
    },
    default: '90d',
    minimum: '0s',
    reload: 'live',
  }),
  ...purgeKeys('platform.notification.send-log', {
    en: 'How often old rows are removed and retries that were cut off are given back.',
    'zh-CN': '清除旧记录以及恢复中断的重发的间隔。',
  }),
}
