import { purgeKeys } from '@plinth/coordination'
import { key } from '@plinth/kernel'

export const keys = {
  'platform.approval.retention': key.duration({
    title: { en: 'Retention of approvals', 'zh-CN': '审批记录保留时间' },
    description: {
      en: 'How long it is kept who took or was refused which step of a workflow.',
      'zh-CN': '保留各流程步骤通过或被拒绝记录的时间。',
    },
    default: '1100d',
    minimum: '1d',
    reload: 'live',
  }),
  ...purgeKeys('platform.approval', {
    en: 'How often approvals past their retention are removed.',
    'zh-CN': '清除超期审批记录的间隔。',
  }),
}
