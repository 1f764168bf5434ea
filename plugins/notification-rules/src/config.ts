import { purgeKeys } from '@plinth/coordination'
import { key } from '@plinth/kernel'

export const keys = {
  'platform.notification.rules.quiet-period': key.duration({
    title: { en: 'When an alert is over', 'zh-CN': '告警结束的判定时间' },
    description: {
      en: 'An alert without an event for so long, and for as long as the windows of its rule, is over: the next event begins another.',
      'zh-CN': '在此时间及其规则的各窗口内没有新事件的告警视为已结束；之后的事件作为新的告警。',
    },
    default: '1d',
    minimum: '1m',
    maximum: '365d',
    reload: 'live',
  }),
  ...purgeKeys('platform.notification.rules', {
    en: 'How often what is known of alerts that are over is removed.',
    'zh-CN': '清除已结束告警的记录的间隔。',
  }),
}
