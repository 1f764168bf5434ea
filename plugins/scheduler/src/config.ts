import { runKeys } from '@plinth/coordination'
import { key } from '@plinth/kernel'

export const keys = {
  ...runKeys('platform.scheduler', { en: 'scheduled tasks', 'zh-CN': '定时任务' }),
  'platform.scheduler.history.size': key.integer({
    title: { en: 'Stored runs per task', 'zh-CN': '每个任务保留的运行记录数' },
    default: 1000,
    minimum: 10,
    maximum: 1_000_000,
    reload: 'live',
  }),
}
