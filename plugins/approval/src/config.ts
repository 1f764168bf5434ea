import { purgeKeys } from '@plinth/coordination'
import { guardsPermission, key } from '@plinth/kernel'

export const keys = {
  'platform.approval.retention': key.duration({
    title: { en: 'Retention of approvals', 'zh-CN': '审批记录保留时间' },
    description: {
      en: 'Retention time of the record of which user performed or was denied which step of a workflow.',
      'zh-CN': '流程各步骤的操作人及被拒绝操作的记录保留多久。',
    },
    default: '1100d',
    minimum: '1d',
    reload: 'live',
    permission: guardsPermission,
  }),
  ...purgeKeys('platform.approval', {
    en: 'Interval for removing approvals after their retention time.',
    'zh-CN': '清除超期审批记录的间隔。',
  }),
}
