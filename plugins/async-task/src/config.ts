import { purgeKeys, runKeys } from '@plinth/coordination'
import { guardsPermission, key } from '@plinth/kernel'

export const keys = {
  ...runKeys('platform.async-task', { en: 'asynchronous tasks', 'zh-CN': '异步任务' }),
  'platform.async-task.concurrency': key.integer({
    title: { en: 'Maximum concurrent tasks', 'zh-CN': '同时执行的任务数' },
    description: {
      en: 'Applies to each instance, for tasks that only use the database.',
      'zh-CN': '每个实例的上限，用于只访问数据库的任务。',
    },
    default: 4,
    minimum: 1,
    maximum: 64,
  }),
  'platform.async-task.network-concurrency': key.integer({
    title: { en: 'Maximum concurrent tasks that wait for other servers', 'zh-CN': '同时执行的外部任务数' },
    description: {
      en: 'Applies to each instance, for tasks that wait for other servers. They never delay the other tasks.',
      'zh-CN': '每个实例的上限，用于需要等待外部服务的任务；它们不会拖慢其他任务。',
    },
    default: 4,
    minimum: 1,
    maximum: 64,
  }),
  'platform.async-task.max-attempts': key.integer({
    title: { en: 'Maximum attempts per task', 'zh-CN': '任务的最多执行次数' },
    description: {
      en: 'A task is started again if its instance stops unexpectedly. A task that fails is not started again.',
      'zh-CN': '执行实例异常终止时，任务会重新执行，次数含首次；自身失败的任务不会重试。',
    },
    default: 3,
    minimum: 1,
    maximum: 100,
    reload: 'live',
  }),
  'platform.async-task.deadline': key.duration({
    title: { en: 'Task timeout', 'zh-CN': '任务超时时间' },
    default: '1h',
    minimum: '1s',
    maximum: '7d',
    reload: 'live',
  }),
  'platform.async-task.queue.capacity': key.integer({
    title: { en: 'Maximum waiting tasks', 'zh-CN': '等待中的任务上限' },
    description: { en: 'Further tasks are rejected.', 'zh-CN': '超出后拒绝新任务。' },
    default: 1000,
    minimum: 1,
    reload: 'live',
  }),
  'platform.async-task.queue.per-owner': key.integer({
    title: { en: 'Maximum unfinished tasks per user', 'zh-CN': '单个用户未完成的任务上限' },
    description: { en: 'Includes waiting and running tasks.', 'zh-CN': '包括等待中和执行中的任务。' },
    default: 10,
    minimum: 1,
    reload: 'live',
  }),
  'platform.async-task.download-url.lifetime': key.duration({
    title: { en: 'Lifetime of a download URL', 'zh-CN': '下载地址的有效期' },
    default: '5m',
    minimum: '1s',
    maximum: '1d',
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.async-task.retention': key.duration({
    title: { en: 'Retention of finished tasks', 'zh-CN': '已完成任务的保留时间' },
    description: { en: 'The files of a task are removed together with the task.', 'zh-CN': '结果文件随任务一并清除。' },
    default: '7d',
    minimum: '1m',
    reload: 'live',
  }),
  ...purgeKeys('platform.async-task', {
    en: 'Interval for removing finished tasks and their files after their retention time.',
    'zh-CN': '清除超期的已完成任务及其文件的间隔。',
  }),
}
