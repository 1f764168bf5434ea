import { isAbsolute, join } from 'node:path'
import { type ConfigView, key } from '@plinth/kernel'
import type { ConnectionSettings } from './connections/connection-failure.ts'

/** Ports that the servers use by default. */
export const usualPort = { postgresql: 5432, mysql: 3306, mariadb: 3306 } as const

export const transportSecurityKey = key.enum({
  title: { en: 'Transport security', 'zh-CN': '传输加密' },
  description: {
    en: 'off: no encryption. encrypt: TLS, any certificate is accepted. verify: TLS, the certificate must be issued by a trusted authority.',
    'zh-CN': 'off：不加密；encrypt：TLS，接受任何证书；verify：TLS，仅接受受信任机构的证书。',
  },
  values: ['off', 'encrypt', 'verify'],
  default: 'off',
  scope: 'process',
})

export const databaseKeys = {
  'platform.database.type': key.enum({
    title: { en: 'Database type', 'zh-CN': '数据库类型' },
    description: {
      en: 'sqlite is embedded and needs no server. The other types need a database server.',
      'zh-CN': 'sqlite 内嵌于产品，无需服务器；其他类型需要数据库服务器。',
    },
    values: ['sqlite', 'postgresql', 'mysql', 'mariadb'],
    default: 'sqlite',
    scope: 'process',
  }),
  'platform.database.sqlite.file': key.string({
    title: { en: 'SQLite file', 'zh-CN': 'SQLite 文件' },
    description: {
      en: 'The path is relative to the directory of the product file. Missing directories are created.',
      'zh-CN': '路径相对于产品文件所在目录；目录不存在时自动创建。',
    },
    default: 'data/plinth.sqlite',
    minLength: 1,
    scope: 'process',
  }),
  'platform.database.sqlite.synchronous': key.enum({
    title: { en: 'SQLite durability', 'zh-CN': 'SQLite 持久性' },
    description: {
      en: 'full: committed changes survive a power failure. normal: faster, but committed changes only survive a crash of the process.',
      'zh-CN': 'full：已提交的更改在断电后仍保留；normal：更快，但仅在进程崩溃后保留。',
    },
    values: ['full', 'normal'],
    default: 'full',
    scope: 'process',
  }),
  'platform.database.sqlite.busy-timeout': key.duration({
    title: { en: 'SQLite busy timeout', 'zh-CN': 'SQLite 等待时间' },
    description: {
      en: 'How long to wait while another process writes to the file.',
      'zh-CN': '其他进程写入文件时的最长等待时间。',
    },
    default: '5s',
    scope: 'process',
  }),
  'platform.database.host': key.host({
    title: { en: 'Database host', 'zh-CN': '数据库主机' },
    default: '127.0.0.1',
    scope: 'process',
  }),
  'platform.database.port': key.port({
    title: { en: 'Database port', 'zh-CN': '数据库端口' },
    description: {
      en: 'Empty: 5432 for PostgreSQL, 3306 for MySQL and MariaDB.',
      'zh-CN': '留空时：PostgreSQL 为 5432，MySQL 和 MariaDB 为 3306。',
    },
    scope: 'process',
  }),
  'platform.database.name': key.string({
    title: { en: 'Database name', 'zh-CN': '数据库名' },
    default: 'plinth',
    minLength: 1,
    scope: 'process',
  }),
  'platform.database.username': key.string({
    title: { en: 'Database user', 'zh-CN': '数据库用户' },
    default: 'plinth',
    scope: 'process',
  }),
  'platform.database.password': key.string({
    title: { en: 'Database password', 'zh-CN': '数据库密码' },
    default: '',
    sensitive: true,
    scope: 'process',
  }),
  'platform.database.tls': transportSecurityKey,
  'platform.database.pool-size': key.integer({
    title: { en: 'Maximum connections', 'zh-CN': '最大连接数' },
    description: {
      en: 'Maximum connections of one process to a database server. Two more are used for leases and the health check. SQLite always uses one connection.',
      'zh-CN': '单个进程与数据库服务器之间的最大连接数，另有两个连接供租约和健康检查使用；SQLite 始终只用一个连接。',
    },
    default: 10,
    minimum: 2,
    maximum: 1000,
    scope: 'process',
  }),
  'platform.database.connect-timeout': key.duration({
    title: { en: 'Connect timeout', 'zh-CN': '连接超时' },
    description: {
      en: 'Maximum time to connect to a server, or to wait for a free connection. SQLite has one connection, which a transaction occupies.',
      'zh-CN': '等待服务器连接或空闲连接的最长时间。SQLite 只有一个连接，事务会占用它。',
    },
    default: '5s',
    minimum: '100ms',
    scope: 'process',
  }),
  'platform.database.query-timeout': key.duration({
    title: { en: 'Query timeout', 'zh-CN': '查询超时' },
    description: {
      en: 'Maximum time of a statement on a database server. After this time the connection is closed and a new one is opened. Migrations are not limited.',
      'zh-CN': '服务器上单条语句的最长执行时间；超时后关闭该连接并新建连接。迁移不受此限制。',
    },
    default: '30s',
    minimum: '100ms',
    maximum: '24h',
    scope: 'process',
  }),
  'platform.database.transaction-timeout': key.duration({
    title: { en: 'Transaction timeout', 'zh-CN': '事务超时' },
    description: {
      en: 'Maximum time of a transaction. After this time it is rolled back. A transaction that specifies its own limit uses that limit.',
      'zh-CN': '事务的最长执行时间；超时后回滚。自行指定时限的事务以其时限为准。',
    },
    default: '1m',
    minimum: '100ms',
    maximum: '24h',
    scope: 'process',
  }),
  'platform.database.clock-tolerance': key.duration({
    title: { en: 'Clock tolerance', 'zh-CN': '时钟允许偏差' },
    description: {
      en: 'Maximum difference between the clock of this host and the time of the database (on SQLite: the expected time). Above it, a warning is shown and irreversible tasks (expiry, holds, purges) do not run.',
      'zh-CN':
        '本机时钟与数据库时间（SQLite：预期时间）之间允许的最大偏差。超出时显示警告，且不执行不可逆任务（过期、冻结到期、清理）。',
    },
    default: '30s',
    minimum: '5s',
    maximum: '1h',
    scope: 'process',
  }),
  'platform.database.prepared-statements': key.boolean({
    title: { en: 'Prepared statements', 'zh-CN': '预编译语句' },
    description: {
      en: 'Prepares repeated statements on the server. Turn it off behind a connection pooler that shares sessions. The product turns it off automatically if it detects such a pooler.',
      'zh-CN': '在服务器上预编译重复语句。若经由多个客户端共享会话的连接池代理，请关闭；产品发现此类代理时会自动停用。',
    },
    default: true,
    scope: 'process',
  }),
  'platform.database.migrate-at-start': key.boolean({
    title: { en: 'Migrate on start', 'zh-CN': '启动时迁移' },
    description: {
      en: 'Applies pending change sets when the product starts. If it is off, run `plinth migrate` before the start.',
      'zh-CN': '产品启动时应用待执行的变更集。关闭后请在启动前运行 `plinth migrate`。',
    },
    default: true,
    scope: 'process',
  }),
  'platform.database.migration-lock-wait': key.duration({
    title: { en: 'Migration lock timeout', 'zh-CN': '迁移锁等待时间' },
    description: {
      en: 'Maximum wait while another process migrates the database.',
      'zh-CN': '其他进程正在迁移数据库时的最长等待时间。',
    },
    default: '10m',
    scope: 'process',
  }),
}

type DatabaseConfig = ConfigView<typeof databaseKeys>

/** @param root directory of the product file, to which the SQLite path is relative */
export function readConnectionSettings(config: DatabaseConfig, root: string): ConnectionSettings {
  const type = config.get('platform.database.type')
  const limits = {
    connectTimeoutMs: config.get('platform.database.connect-timeout'),
    queryTimeoutMs: config.get('platform.database.query-timeout'),
    transactionTimeoutMs: config.get('platform.database.transaction-timeout'),
  }
  if (type === 'sqlite') {
    const file = config.get('platform.database.sqlite.file')
    return {
      type,
      file: file === ':memory:' || isAbsolute(file) ? file : join(root, file),
      busyTimeoutMs: config.get('platform.database.sqlite.busy-timeout'),
      synchronous: config.get('platform.database.sqlite.synchronous'),
      ...limits,
    }
  }
  return {
    type,
    host: config.get('platform.database.host'),
    port: config.get('platform.database.port') ?? usualPort[type],
    name: config.get('platform.database.name'),
    username: config.get('platform.database.username'),
    password: config.get('platform.database.password'),
    tls: config.get('platform.database.tls'),
    poolSize: config.get('platform.database.pool-size'),
    preparedStatements: config.get('platform.database.prepared-statements'),
    ...limits,
  }
}
