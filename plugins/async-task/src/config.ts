import { key } from '@plinth/kernel'

export const keys = {
  'platform.async-task.engine': key.enum({
    title: { en: 'Engine of asynchronous tasks', 'zh-CN': '异步任务引擎' },
    description: {
      en: 'embedded: the instance that notices first runs the task. bullmq: tasks go through a queue on the Redis of platform.cache. All instances need the same one.',
      'zh-CN':
        'embedded：最先发现任务的实例执行；bullmq：任务经由 platform.cache 所配置的 Redis 的队列分发。所有实例须使用同一引擎。',
    },
    values: ['embedded', 'bullmq'],
    default: 'embedded',
  }),
  'platform.async-task.concurrency': key.integer({
    title: { en: 'Tasks at a time', 'zh-CN': '同时执行的任务数' },
    description: { en: 'On each instance.', 'zh-CN': '每个实例的上限。' },
    default: 4,
    minimum: 1,
    maximum: 64,
  }),
  'platform.async-task.lease': key.duration({
    title: { en: 'Lease of a running task', 'zh-CN': '运行任务的租约' },
    description: {
      en: 'Within this time another instance takes over the task of one that died. All instances need the same value.',
      'zh-CN': '实例终止后，其他实例在此时间内接管任务。所有实例须使用同一值。',
    },
    default: '30s',
    minimum: '1s',
    maximum: '1h',
  }),
  'platform.async-task.poll-interval': key.duration({
    title: { en: 'Interval of looking for tasks', 'zh-CN': '任务查询间隔' },
    description: {
      en: 'How often a worker looks while something happens. While nothing does, the pauses grow to five seconds, or less where the lease is short; whoever queues or cancels a task wakes it.',
      'zh-CN': '有任务活动时工作进程的查询间隔；空闲时逐渐延长至五秒（租约较短时更短），提交或取消任务时立即唤醒。',
    },
    default: '1s',
    minimum: '100ms',
    maximum: '1m',
    reload: 'live',
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
  'platform.async-task.purge.fixed-delay': key.duration({
    title: { en: 'Delay between clean-ups', 'zh-CN': '清理间隔' },
    default: '1h',
    minimum: '1m',
  }),
  'platform.async-task.purge.auto-startup': key.boolean({
    title: { en: 'Clean up by itself', 'zh-CN': '自动清理' },
    default: true,
  }),
}
