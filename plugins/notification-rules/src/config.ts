import { purgeKeys } from '@plinth/coordination'
import { key } from '@plinth/kernel'

export const keys = {
  'platform.notification.rules.quiet-period': key.duration({
    title: { en: 'Quiet period of an alert', 'zh-CN': '告警静默时长' },
    description: {
      en: 'An alert ends when no event arrives for this time and for all windows of its rule. The next event starts a new alert.',
      'zh-CN': '在此时间及规则的各窗口内没有新事件时，告警结束；之后的事件视为新的告警。',
    },
    default: '1d',
    minimum: '1m',
    maximum: '365d',
    reload: 'live',
  }),
  ...purgeKeys('platform.notification.rules', {
    en: 'Interval for removing the data of alerts that have ended.',
    'zh-CN': '清除已结束告警数据的间隔。',
  }),
}
