import { key } from '@plinth/kernel'

const count = (en: string, zh: string, period: readonly [en: string, zh: string], usual: number) =>
  key.integer({
    title: { en, 'zh-CN': zh },
    description: {
      en: `Number of ${period[0]} (UTC) whose last backup is kept. The newest backup is never deleted.`,
      'zh-CN': `保留最近多少个${period[1]}（UTC）的最后一个备份。最新的备份永不删除。`,
    },
    default: usual,
    minimum: 0,
    maximum: 1_000,
    reload: 'live',
  })

export const keys = {
  'platform.backup.recipient': key.string({
    title: { en: 'Recipient of backups', 'zh-CN': '备份接收者公钥' },
    description: {
      en: 'Public key of age that starts with age1. Only the owner of its secret key can restore a backup. Never store the secret key on this machine. Empty: no backups are made.',
      'zh-CN': '以 age1 开头的 age 公钥。只有对应私钥的持有者才能恢复备份。切勿将私钥存放在本机。留空则不做备份。',
    },
    default: '',
    maxLength: 4_096,
    scope: 'process',
  }),
  'platform.backup.directory': key.string({
    title: { en: 'Directory of backups', 'zh-CN': '备份目录' },
    description: {
      en: 'The path is relative to the directory of the product file. Use the file system of another machine, because a backup on the same disk is lost with it.',
      'zh-CN': '路径相对于产品文件所在目录。请使用其他机器的文件系统，因为同一磁盘上的备份会随磁盘一起丢失。',
    },
    default: 'data/backups',
    minLength: 1,
    scope: 'process',
  }),
  'platform.backup.disk': key.string({
    title: { en: 'Disk of backups', 'zh-CN': '备份磁盘' },
    description: {
      en: 'Name of a private storage disk, for example of a bucket. Backups are then stored there, below the directory "backups". Empty: platform.backup.directory is used.',
      'zh-CN':
        '私有存储磁盘的名称，例如存储桶。备份存放在该磁盘的 backups 目录下。留空则使用 platform.backup.directory。',
    },
    default: '',
    maxLength: 64,
    scope: 'process',
  }),
  'platform.backup.disks': key.stringList({
    title: { en: 'Disks in the backup', 'zh-CN': '备份包含的磁盘' },
    description: {
      en: 'Names of the storage disks whose files are in the backup.',
      'zh-CN': '备份中包含其文件的存储磁盘名称。',
    },
    default: ['public', 'local'],
    scope: 'process',
  }),
  'platform.backup.work-directory': key.string({
    title: { en: 'Work directory of backups', 'zh-CN': '备份工作目录' },
    description: {
      en: 'Directory for unencrypted copies of the database while a backup is made, checked or restored. They are removed at the end. It needs space for two copies.',
      'zh-CN': '备份、检查或恢复期间存放未加密数据库副本的目录，结束时删除。需要容纳两份副本的空间。',
    },
    default: 'data/backup-work',
    minLength: 1,
    scope: 'process',
  }),
  'platform.backup.tools-directory': key.string({
    title: { en: 'Directory of database tools', 'zh-CN': '数据库工具目录' },
    description: {
      en: 'Directory with pg_dump and pg_restore, or with mariadb-dump and mariadb. Empty: the directories of PATH are searched.',
      'zh-CN': '包含 pg_dump 和 pg_restore（或 mariadb-dump 和 mariadb）的目录。留空则搜索 PATH 中的目录。',
    },
    default: '',
    maxLength: 4_096,
    scope: 'process',
  }),
  'platform.backup.max-age': key.duration({
    title: { en: 'Maximum age of the newest backup', 'zh-CN': '最新备份的最长时间' },
    description: {
      en: 'The health check warns if the newest backup is older. It applies only if a recipient is set.',
      'zh-CN': '最新备份超过此时间时，健康检查发出警告。仅在设置了接收者时生效。',
    },
    default: '26h',
    minimum: '1h',
    maximum: '366d',
    reload: 'live',
  }),
  'platform.backup.auto-startup': key.boolean({
    title: { en: 'Back up automatically', 'zh-CN': '自动备份' },
    description: {
      en: 'The product makes a backup if the newest one is older than the interval. It applies only if a recipient is set. Turn it off if a timer of the host runs `plinth backup create`.',
      'zh-CN':
        '最新备份早于间隔时间时，产品自动备份。仅在设置了接收者时生效。若由主机定时器运行 `plinth backup create`，请关闭。',
    },
    default: true,
  }),
  'platform.backup.interval': key.duration({
    title: { en: 'Interval between backups', 'zh-CN': '自动备份间隔' },
    description: {
      en: 'Age of the newest backup at which the product makes another one. After a failure, it tries again after one hour.',
      'zh-CN': '最新备份达到此时间时，产品再次备份。失败后一小时重试。',
    },
    default: '24h',
    minimum: '1h',
    maximum: '366d',
    reload: 'live',
  }),
  'platform.backup.keep-daily': count('Daily backups', '每日备份数', ['days', '天'], 7),
  'platform.backup.keep-weekly': count('Weekly backups', '每周备份数', ['weeks', '周'], 4),
  'platform.backup.keep-monthly': count('Monthly backups', '每月备份数', ['months', '月'], 12),
}
