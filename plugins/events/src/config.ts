import { purgeKeys } from '@plinth/coordination'
import { key } from '@plinth/kernel'

export const keys = {
  'platform.events.dispatcher.auto-startup': key.boolean({
    title: { en: 'Deliver events in this process', 'zh-CN': '本进程投递事件' },
    description: {
      en: 'Applies to processes with the role worker. Published events wait until at least one worker delivers events.',
      'zh-CN': '仅对 worker 角色的进程生效。至少须有一个 worker 投递，否则已发布的事件会一直等待。',
    },
    default: true,
  }),
  'platform.events.dispatcher.concurrency': key.integer({
    title: { en: 'Maximum concurrent deliveries', 'zh-CN': '同时投递的事件数' },
    description: {
      en: 'Applies to each process, for handlers that only use the database. Each delivery can contain up to 32 events. Events with the same key are never delivered at the same time.',
      'zh-CN': '单个进程的上限，用于只访问数据库的处理程序；每次投递最多包含 32 个事件，同一键的事件不会同时投递。',
    },
    default: 4,
    minimum: 1,
    maximum: 64,
  }),
  'platform.events.dispatcher.network-concurrency': key.integer({
    title: { en: 'Maximum concurrent deliveries to other servers', 'zh-CN': '同时投递到外部服务的事件数' },
    description: {
      en: 'Applies to each process, for handlers that wait for other servers, for example to send messages. They never delay the other handlers.',
      'zh-CN': '单个进程的上限，用于需要等待外部服务的处理程序（例如发送消息）；它们不会拖慢其他处理程序。',
    },
    default: 8,
    minimum: 1,
    maximum: 64,
  }),
  'platform.events.dispatcher.poll-interval': key.duration({
    title: { en: 'Outbox poll interval', 'zh-CN': '发件箱轮询间隔' },
    description: {
      en: 'Events of the same process are delivered immediately. Events of other processes are delivered at the next poll. Without new events the interval grows to 5 s.',
      'zh-CN': '本进程发布的事件立即投递；其他进程的事件在轮询时投递。空闲时间隔会逐渐增至 5 秒。',
    },
    default: '1s',
    minimum: '10ms',
    maximum: '1h',
    reload: 'live',
  }),
  'platform.events.dispatcher.lease': key.duration({
    title: { en: 'Lease of an event', 'zh-CN': '事件租约' },
    description: {
      en: 'If a process stops unexpectedly, another process takes over its events after this time. The clock of the database decides.',
      'zh-CN': '进程异常退出后，其事件在此时间后由其他进程接管（以数据库时钟为准）。',
    },
    default: '30s',
    minimum: '100ms',
    maximum: '1h',
  }),
  'platform.events.handler-deadline': key.duration({
    title: { en: 'Event handler timeout', 'zh-CN': '事件处理超时时间' },
    description: {
      en: 'After this time the attempt fails. If the handler runs in a transaction, the transaction is rolled back.',
      'zh-CN': '超时即视为本次投递失败；事务中的处理会被回滚。',
    },
    default: '1m',
    minimum: '10ms',
    maximum: '1h',
    reload: 'live',
  }),
  'platform.events.retry.max-attempts': key.integer({
    title: { en: 'Maximum delivery attempts', 'zh-CN': '最大投递次数' },
    description: {
      en: 'After the last attempt the event has failed. A failed event blocks later events with the same key until it is replayed or skipped.',
      'zh-CN': '达到后事件标记为失败，并阻塞同一键的后续事件，直到重放或跳过。',
    },
    default: 10,
    minimum: 1,
    maximum: 1000,
    reload: 'live',
  }),
  'platform.events.retry.initial-delay': key.duration({
    title: { en: 'Delay before the first retry', 'zh-CN': '首次重试延迟' },
    description: {
      en: 'The delay doubles with each attempt. Half of it is random.',
      'zh-CN': '每次尝试后加倍，其中一半随机。',
    },
    default: '1s',
    minimum: '1ms',
    maximum: '1h',
    reload: 'live',
  }),
  'platform.events.retry.max-delay': key.duration({
    title: { en: 'Maximum delay before a retry', 'zh-CN': '最长重试延迟' },
    default: '10m',
    minimum: '1ms',
    maximum: '7d',
    reload: 'live',
  }),
  'platform.events.retention': key.duration({
    title: { en: 'Retention of delivered events', 'zh-CN': '已投递事件保留时间' },
    description: {
      en: 'Also applies to skipped events. Failed events are not removed.',
      'zh-CN': '对已跳过的事件同样生效；失败的事件不会清除。',
    },
    default: '7d',
    minimum: '0s',
    reload: 'live',
  }),
  ...purgeKeys('platform.events', {
    en: 'Interval for removing delivered and skipped events after their retention time, and keys without events.',
    'zh-CN': '清除超期的已投递和已跳过事件，以及没有事件的键的间隔。',
  }),
}
