import { transportSecurityKey } from '@plinth/database'
import { type ConfigView, key } from '@plinth/kernel'

export const keys = {
  'platform.cache.enabled': key.boolean({
    title: { en: 'Redis', 'zh-CN': '启用 Redis' },
    description: {
      en: 'On: instances share values, rate limits, locks and messages through Redis. Off: through the database.',
      'zh-CN': '开启：各实例通过 Redis 共享值、限流、锁和消息；关闭：通过数据库共享。',
    },
    default: false,
    scope: 'process',
  }),
  'platform.cache.host': key.host({
    title: { en: 'Redis host', 'zh-CN': 'Redis 主机' },
    default: '127.0.0.1',
    scope: 'process',
  }),
  'platform.cache.port': key.port({
    title: { en: 'Redis port', 'zh-CN': 'Redis 端口' },
    default: 6379,
    scope: 'process',
  }),
  'platform.cache.username': key.string({
    title: { en: 'Redis user', 'zh-CN': 'Redis 用户' },
    description: { en: 'Empty: the default user of Redis.', 'zh-CN': '留空表示 Redis 的默认用户。' },
    default: '',
    scope: 'process',
  }),
  'platform.cache.password': key.string({
    title: { en: 'Redis password', 'zh-CN': 'Redis 密码' },
    default: '',
    sensitive: true,
    scope: 'process',
  }),
  'platform.cache.database': key.integer({
    title: { en: 'Redis database', 'zh-CN': 'Redis 数据库编号' },
    default: 0,
    minimum: 0,
    scope: 'process',
  }),
  'platform.cache.tls': transportSecurityKey,
  'platform.cache.key-prefix': key.string({
    title: { en: 'Key prefix', 'zh-CN': '键前缀' },
    description: {
      en: 'Prefix of all keys. Products that share a Redis server need different prefixes.',
      'zh-CN': '所有键的前缀；共用同一 Redis 的产品须使用不同前缀。',
    },
    default: 'plinth',
    pattern: '^[A-Za-z0-9._:-]{1,64}$',
    rule: { en: 'be 1 to 64 letters, digits, ".", "_", ":" or "-"', 'zh-CN': '是 1 至 64 个字母、数字或“.”“_”“:”“-”' },
    scope: 'process',
  }),
  'platform.cache.command-timeout': key.duration({
    title: { en: 'Command timeout', 'zh-CN': '命令超时' },
    description: {
      en: 'If Redis does not respond within this time, the call fails and the connection is reopened.',
      'zh-CN': 'Redis 在此时间内未响应时，调用失败并重新建立连接。',
    },
    default: '200ms',
    minimum: '10ms',
    maximum: '1m',
    scope: 'process',
  }),
  'platform.cache.connect-timeout': key.duration({
    title: { en: 'Connect timeout', 'zh-CN': '连接超时' },
    default: '5s',
    minimum: '100ms',
    maximum: '1m',
    scope: 'process',
  }),
  'platform.shared-store.database.poll-interval': key.duration({
    title: { en: 'Message poll interval', 'zh-CN': '消息轮询间隔' },
    description: {
      en: 'Without Redis: how often an instance checks for messages of other instances. A single instance checks every five seconds.',
      'zh-CN': '不使用 Redis 时，实例查询其他实例消息的间隔；没有其他实例时每五秒查询一次。',
    },
    default: '500ms',
    minimum: '10ms',
    maximum: '10s',
    scope: 'process',
  }),
  'platform.shared-store.database.sweep-interval': key.duration({
    title: { en: 'Cleanup interval', 'zh-CN': '清理间隔' },
    description: {
      en: 'Without Redis: how often expired entries are removed.',
      'zh-CN': '不使用 Redis 时，清除过期条目的间隔。',
    },
    default: '1m',
    minimum: '10ms',
    maximum: '1d',
    scope: 'process',
  }),
}

export type SharedStoreConfig = ConfigView<typeof keys>
