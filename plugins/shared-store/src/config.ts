import { transportSecurityKey } from '@plinth/database'
import { type ConfigView, key } from '@plinth/kernel'

/** A host name, an IPv4 address or an IPv6 address in brackets, with a port. */
const address =
  '^(?:\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9._-]+):(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])$'
const addresses = {
  default: [],
  maxItems: 100,
  items: { pattern: address },
  rule: {
    en: 'be a host and a port, for example redis-1:26379 (IPv6 in brackets)',
    'zh-CN': '是主机和端口，例如 redis-1:26379（IPv6 加方括号）',
  },
  scope: 'process',
} as const

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
  'platform.cache.mode': key.enum({
    title: { en: 'Redis deployment', 'zh-CN': 'Redis 部署方式' },
    description: {
      en: 'single: one server, or a host name that leads to the current primary. sentinel: sentinels report the current primary. cluster: a Redis Cluster. All instances need the same value.',
      'zh-CN':
        'single：单个服务器，或指向当前主节点的主机名；sentinel：由哨兵报告当前主节点；cluster：Redis Cluster。所有实例须使用同一值。',
    },
    values: ['single', 'sentinel', 'cluster'],
    default: 'single',
    scope: 'process',
  }),
  'platform.cache.sentinel.nodes': key.stringList({
    title: { en: 'Sentinels', 'zh-CN': '哨兵地址' },
    description: {
      en: 'Addresses of the sentinels. Required with the deployment sentinel.',
      'zh-CN': '哨兵的地址；部署方式为 sentinel 时必填。',
    },
    ...addresses,
  }),
  'platform.cache.sentinel.name': key.string({
    title: { en: 'Name of the primary', 'zh-CN': '主节点名称' },
    description: {
      en: 'Name under which the sentinels monitor the primary. Required with the deployment sentinel.',
      'zh-CN': '哨兵监控主节点时使用的名称；部署方式为 sentinel 时必填。',
    },
    default: '',
    scope: 'process',
  }),
  'platform.cache.sentinel.username': key.string({
    title: { en: 'Sentinel user', 'zh-CN': '哨兵用户' },
    description: { en: 'Empty: the default user of the sentinels.', 'zh-CN': '留空表示哨兵的默认用户。' },
    default: '',
    scope: 'process',
  }),
  'platform.cache.sentinel.password': key.string({
    title: { en: 'Sentinel password', 'zh-CN': '哨兵密码' },
    default: '',
    sensitive: true,
    scope: 'process',
  }),
  'platform.cache.cluster.nodes': key.stringList({
    title: { en: 'Cluster nodes', 'zh-CN': '集群节点地址' },
    description: {
      en: 'Addresses of some nodes, best of all primaries. They report the other nodes. Required with the deployment cluster.',
      'zh-CN': '部分节点的地址，最好包含所有主节点；其余节点由它们报告。部署方式为 cluster 时必填。',
    },
    ...addresses,
  }),
  'platform.cache.host': key.host({
    title: { en: 'Redis host', 'zh-CN': 'Redis 主机' },
    description: { en: 'Only with the deployment single.', 'zh-CN': '仅用于部署方式 single。' },
    default: '127.0.0.1',
    scope: 'process',
  }),
  'platform.cache.port': key.port({
    title: { en: 'Redis port', 'zh-CN': 'Redis 端口' },
    description: { en: 'Only with the deployment single.', 'zh-CN': '仅用于部署方式 single。' },
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
  'platform.cache.password-file': key.string({
    title: { en: 'Redis password file', 'zh-CN': 'Redis 密码文件' },
    description: {
      en: 'File that contains the Redis password, instead of the password itself. It is read again every 5 seconds. A new password is used after Redis has accepted it, without a restart.',
      'zh-CN':
        '存放 Redis 密码的文件，用于代替直接设置密码。每 5 秒重新读取一次；新密码经 Redis 验证后生效，无需重启。',
    },
    default: '',
    scope: 'process',
  }),
  'platform.cache.database': key.integer({
    title: { en: 'Redis database', 'zh-CN': 'Redis 数据库编号' },
    description: { en: 'Must be 0 with the deployment cluster.', 'zh-CN': '部署方式为 cluster 时必须为 0。' },
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
