import { guardsPermission, key } from '@plinth/kernel'

/** Name of the built-in driver of the standard disks. */
export const directoryDriver = 'directory'
/** Visibility of each standard disk. Everyone can read the files of a public disk. */
export const standardDisks = { public: 'public', local: 'private' } as const

/** Matches an empty text, an absolute path or an http(s) address, without a slash at the end. */
const baseUrl = {
  pattern: '^(?:https?://[^/?#\\s\\\\]+)?(?:/[^/?#\\s\\\\]+)*$',
  rule: {
    en: 'be empty, a path that starts with "/", or an http or https address; it must not end with "/" or contain "?", "#" or a backslash',
    'zh-CN': '为空，或是以“/”开头的路径，或是 http 或 https 地址；不以“/”结尾，不含“?”“#”和反斜杠',
  },
}

export const keys = {
  'platform.storage.root': key.string({
    title: { en: 'Storage directory', 'zh-CN': '存储目录' },
    description: {
      en: 'Contains the disks public and local as directories. The path is relative to the directory of the product file. Several instances need the same directory on a shared file system.',
      'zh-CN': '以目录形式存放 public 和 local 磁盘；相对于产品文件所在目录。多个实例须使用共享文件系统上的同一目录。',
    },
    default: 'data/storage',
    minLength: 1,
    scope: 'process',
  }),
  'platform.storage.public-disk': key.string({
    title: { en: 'Disk for public files', 'zh-CN': '公开文件的磁盘' },
    description: { en: 'Anyone can read the files on this disk.', 'zh-CN': '任何人都可读取该磁盘上的文件。' },
    default: 'public',
    minLength: 1,
    permission: guardsPermission,
  }),
  'platform.storage.local-disk': key.string({
    title: { en: 'Disk for private files', 'zh-CN': '私有文件的磁盘' },
    description: {
      en: 'Files on this disk can only be read with a signed URL.',
      'zh-CN': '该磁盘上的文件仅可通过签名地址读取。',
    },
    default: 'local',
    minLength: 1,
    permission: guardsPermission,
  }),
  'platform.storage.disks.public.driver': key.string({
    title: { en: 'Driver of the disk "public"', 'zh-CN': 'public 磁盘的驱动' },
    description: {
      en: 'Stores the files of the disk: directory, or a public disk of another plugin, for example s3-public. The name of the disk stays "public", so stored references stay valid. Copy the existing files before you change it.',
      'zh-CN':
        '存放该磁盘文件的位置：directory，或其他插件提供的公开磁盘，例如 s3-public。磁盘名称仍为 public，已保存的引用继续有效。更改前请先复制现有文件。',
    },
    default: 'directory',
    minLength: 1,
    permission: guardsPermission,
  }),
  'platform.storage.disks.local.driver': key.string({
    title: { en: 'Driver of the disk "local"', 'zh-CN': 'local 磁盘的驱动' },
    description: {
      en: 'Stores the files of the disk: directory, or a private disk of another plugin, for example s3-private. The name of the disk stays "local", so stored references stay valid. Copy the existing files before you change it.',
      'zh-CN':
        '存放该磁盘文件的位置：directory，或其他插件提供的私有磁盘，例如 s3-private。磁盘名称仍为 local，已保存的引用继续有效。更改前请先复制现有文件。',
    },
    default: 'directory',
    minLength: 1,
    permission: guardsPermission,
  }),
  'platform.storage.disks.public.enabled': key.boolean({
    title: { en: 'Enable the disk "public"', 'zh-CN': '启用 public 磁盘' },
    default: true,
    reload: 'live',
  }),
  'platform.storage.disks.local.enabled': key.boolean({
    title: { en: 'Enable the disk "local"', 'zh-CN': '启用 local 磁盘' },
    default: true,
    reload: 'live',
  }),
  'platform.storage.base-url': key.string({
    title: { en: 'Base URL of files', 'zh-CN': '文件地址前缀' },
    description: {
      en: 'Prefix of the address of each file: a context path such as /shop, or a full URL such as https://api.example.com/shop. Empty: addresses start with a slash.',
      'zh-CN':
        '加在每个文件地址之前：上下文路径（如 /shop）或完整地址（如 https://api.example.com/shop）。留空则地址以斜杠开头。',
    },
    default: '',
    ...baseUrl,
    reload: 'live',
  }),
  'platform.storage.disks.public.base-url': key.string({
    title: { en: 'Base URL of the disk "public"', 'zh-CN': 'public 磁盘的地址' },
    description: {
      en: 'Set it if a CDN or a web server serves the directory. Empty: the product serves the files at /storage.',
      'zh-CN': '由 CDN 或 Web 服务器提供该目录时填写。留空则由产品通过 /storage 提供。',
    },
    default: '',
    ...baseUrl,
    reload: 'live',
  }),
  'platform.storage.disks.public.max-age': key.duration({
    title: { en: 'Browser cache time of public files', 'zh-CN': '公开文件的浏览器缓存时间' },
    default: '1h',
    maximum: '365d',
    reload: 'live',
  }),
  'platform.storage.signed-url.lifetime': key.duration({
    title: { en: 'Lifetime of a signed URL', 'zh-CN': '签名地址的有效期' },
    default: '5m',
    minimum: '1s',
    maximum: '7d',
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.storage.signing-key': key.string({
    title: { en: 'Signing key of URLs', 'zh-CN': '地址签名密钥' },
    description: {
      en: 'At least 32 random characters. You can enter several keys, separated by commas: the first key signs, all keys verify. Thus old URLs stay valid after a change of the key. Empty: the product uses the file signing.key in the storage directory and creates it on first use.',
      'zh-CN':
        '至少 32 个随机字符。可用逗号分隔多个：第一个用于签名，全部可用于验证，因此更换密钥后旧地址仍然有效。留空则使用存储目录中的 signing.key 文件，首次需要时创建。',
    },
    default: '',
    pattern: '^(?:[^,\\s]{32,}(?:,[^,\\s]{32,})*)?$',
    rule: {
      en: 'be empty or keys of at least 32 characters without spaces, separated by commas',
      'zh-CN': '为空，或是以逗号分隔的密钥：每个至少 32 个字符，不含空白',
    },
    sensitive: true,
    scope: 'process',
  }),
  'platform.storage.max-file-size': key.bytes({
    title: { en: 'Maximum file size', 'zh-CN': '文件大小上限' },
    default: '1GiB',
    minimum: '1KiB',
    reload: 'live',
  }),
  'platform.storage.uploads.max-user-bytes': key.bytes({
    title: { en: 'Uploads per user and day', 'zh-CN': '每个用户每天的上传量' },
    description: {
      en: 'Maximum size of all files that a user uploads in forms within a day.',
      'zh-CN': '单个用户一天内在表单中上传的文件总大小上限。',
    },
    default: '1GiB',
    minimum: '10MiB',
    reload: 'live',
  }),
  'platform.storage.uploads.max-total-bytes': key.bytes({
    title: { en: 'Uploads of all users per day', 'zh-CN': '全部用户每天的上传量' },
    description: {
      en: 'Maximum size of all files that users upload in forms within a day. Unused uploads are deleted after a day, so this also limits their space on the disk.',
      'zh-CN':
        '全部用户一天内在表单中上传的文件总大小上限。未使用的上传文件一天后删除，因此该上限也限制其占用的磁盘空间。',
    },
    default: '10GiB',
    minimum: '10MiB',
    reload: 'live',
  }),
  'platform.storage.sweep.fixed-delay': key.duration({
    title: { en: 'Cleanup interval for incomplete files', 'zh-CN': '清理不完整文件的间隔' },
    description: {
      en: 'Incomplete files of a stopped process are removed at the earliest two minutes after its last activity.',
      'zh-CN': '已终止进程遗留的不完整文件，最早在其最后一次活动两分钟后清理。',
    },
    default: '1m',
    minimum: '1s',
  }),
  'platform.storage.sweep.auto-startup': key.boolean({
    title: { en: 'Remove incomplete files automatically', 'zh-CN': '自动清理不完整的文件' },
    default: true,
  }),
}
