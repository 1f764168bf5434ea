import { purgeKeys, runKeys } from '@plinth/coordination'
import { key } from '@plinth/kernel'

export const keys = {
  ...runKeys('platform.async-task', { en: 'asynchronous tasks', 'zh-CN': '异步任务' }),
  'platform.async-task.concurrency': key.integer({
    title: { en: 'Tasks at a time', 'zh-CN': '同时执行的任务数' },
    description: { en: 'On each instance.', 'zh-CN': '每个实例的上限。' },
    default: 4,
    minimum: 1,
    maximum: 64,
  }),
  'platform.async-task.max-attempts': key.integer({
    title: { en: 'Attempts at a task', 'zh-CN': '任务的最多执行次数' },
    description: {
      en: 'How often a task is begun whose instances die. A task that fails by itself is not tried again.',
      'zh-CN': '执行实例异常终止时任务最多开始的次数；自身失败的任务不会重试。',
    },
    default: 3,
    minimum: 1,
    maximum: 100,
    reload: 'live',
  }),
  'platform.async-task.deadline': key.duration({
    title: { en: 'Deadline of a task', 'zh-CN': '任务执行时限' },
    default: '1h',
    minimum: '1s',
    maximum: '7d',
    reload: 'live',
  }),
  'platform.async-task.queue.capacity': key.integer({
    title: { en: 'Tasks that may wait', 'zh-CN': '等待中的任务上限' },
    description: { en: 'Further ones are refused.', 'zh-CN': '超出后拒绝新任务。' },
    default: 1000,
    minimum: 1,
    reload: 'live',
  }),
  'platform.async-task.queue.per-owner': key.integer({
    title: { en: 'Unfinished tasks of one user', 'zh-CN': '单个用户未完成的任务上限' },
    description: { en: 'Waiting and running ones.', 'zh-CN': '包括等待中和执行中的任务。' },
    default: 10,
    minimum: 1,
    reload: 'live',
  }),
  'platform.async-task.download-url.lifetime': key.duration({
    title: { en: 'Life of a download address', 'zh-CN': '下载地址的有效期' },
    default: '5m',
    minimum: '1s',
    maximum: '1d',
    reload: 'live',
  }),
  'platform.async-task.retention': key.duration({
    title: { en: 'Retention of finished tasks', 'zh-CN': '已完成任务的保留时间' },
    description: { en: 'Their files go with them.', 'zh-CN': '结果文件随任务一并清除。' },
    default: '7d',
    minimum: '1m',
    reload: 'live',
  }),
  ...purgeKeys('platform.async-task', {
    en: 'Finished tasks past their retention, with their files.',
    'zh-CN': '清除超过保留时间的已完成任务及其文件。',
  }),
}
