import { key } from '@plinth/kernel'

/** Empty, an absolute path, or an http(s) address, without a slash at the end. */
const baseUrl = '^(?:https?://[^/?#\\s\\\\]+)?(?:/[^/?#\\s\\\\]+)*$'

export const keys = {
  'platform.storage.root': key.string({
    title: { en: 'Storage directory', 'zh-CN': '存储目录' },
    description: {
      en: 'Holds the disks public and local as directories. Relative to the directory of the product file. Several instances need the same one, on a file system that they share.',
      'zh-CN': '以目录形式存放 public 和 local 磁盘；相对于产品文件所在目录。多个实例须使用共享文件系统上的同一目录。',
    },
    default: 'data/storage',
    minLength: 1,
    scope: 'process',
  }),
  'platform.storage.public-disk': key.string({
    title: { en: 'Disk for public files', 'zh-CN': '公开文件的磁盘' },
    description: { en: 'Everybody may read what is on it.', 'zh-CN': '任何人都可读取其中的文件。' },
    default: 'public',
    minLength: 1,
  }),
  'platform.storage.local-disk': key.string({
    title: { en: 'Disk for private files', 'zh-CN': '私有文件的磁盘' },
    description: { en: 'Read with a signed URL only.', 'zh-CN': '仅可通过签名地址读取。' },
    default: 'local',
    minLength: 1,
  }),
  'platform.storage.disks.public.enabled': key.boolean({
    title: { en: 'Disk "public" in use', 'zh-CN': '启用 public 磁盘' },
    default: true,
    reload: 'live',
  }),
  'platform.storage.disks.local.enabled': key.boolean({
    title: { en: 'Disk "local" in use', 'zh-CN': '启用 local 磁盘' },
    default: true,
    reload: 'live',
  }),
  'platform.storage.base-url': key.string({
    title: { en: 'Address of the product for files', 'zh-CN': '文件地址前缀' },
    description: {
      en: 'Stands before the address of each file: a context path such as /shop, or a whole address such as https://api.example.com/shop. Empty: addresses begin with a slash.',
      'zh-CN':
        '加在每个文件地址之前：上下文路径（如 /shop）或完整地址（如 https://api.example.com/shop）。留空则地址以斜杠开头。',
    },
    default: '',
    pattern: baseUrl,
    rule: {
      en: 'be empty, a path that starts with "/", or an http or https address, without "/" at the end and without "?", "#" and backslashes',
      'zh-CN': '为空，或是以“/”开头的路径，或是 http 或 https 地址；不以“/”结尾，不含“?”“#”和反斜杠',
    },
    reload: 'live',
  }),
  'platform.storage.disks.public.base-url': key.string({
    title: { en: 'Address of the disk "public"', 'zh-CN': 'public 磁盘的地址' },
    description: {
      en: 'For a CDN or a web server that serves the directory itself. Empty: /storage of the product.',
      'zh-CN': '用于由 CDN 或 Web 服务器直接提供该目录的情况。留空则使用产品的 /storage。',
    },
    default: '',
    pattern: baseUrl,
    rule: {
      en: 'be empty, a path that starts with "/", or an http or https address, without "/" at the end and without "?", "#" and backslashes',
      'zh-CN': '为空，或是以“/”开头的路径，或是 http 或 https 地址；不以“/”结尾，不含“?”“#”和反斜杠',
    },
    reload: 'live',
  }),
  'platform.storage.disks.public.max-age': key.duration({
    title: { en: 'Time that browsers keep public files', 'zh-CN': '公开文件的浏览器缓存时间' },
    default: '1h',
    maximum: '365d',
    reload: 'live',
  }),
  'platform.storage.signed-url.lifetime': key.duration({
    title: { en: 'Life of a signed address', 'zh-CN': '签名地址的有效期' },
    default: '5m',
    minimum: '1s',
    maximum: '7d',
    reload: 'live',
  }),
  'platform.storage.signing-key': key.string({
    title: { en: 'Key that signs addresses', 'zh-CN': '地址签名密钥' },
    description: {
      en: 'At least 32 random characters. Several, separated by commas: the first signs, all verify, so addresses outlive a change of the key. Empty: the file signing.key in the storage directory, made when first needed.',
      'zh-CN':
        '至少 32 个随机字符。可用逗号分隔多个：第一个用于签名，全部可用于验证，因此更换密钥后旧地址仍然有效。留空则使用存储目录中的 signing.key 文件，首次需要时创建。',
    },
    default: '',
    pattern: '^(?:[^,\\s]{32,}(?:,[^,\\s]{32,})*)?$',
    rule: {
      en: 'be empty or keys of at least 32 characters without blanks, separated by commas',
      'zh-CN': '为空，或是以逗号分隔的密钥：每个至少 32 个字符，不含空白',
    },
    sensitive: true,
    scope: 'process',
  }),
  'platform.storage.max-file-size': key.bytes({
    title: { en: 'Largest file', 'zh-CN': '文件大小上限' },
    default: '1GiB',
    minimum: '1KiB',
    reload: 'live',
  }),
  'platform.storage.sweep.fixed-delay': key.duration({
    title: { en: 'Delay between removals of half-written files', 'zh-CN': '清理未写完文件的间隔' },
    description: {
      en: 'Those of processes that died go two minutes after their last sign of life at the earliest.',
      'zh-CN': '已终止进程遗留的文件，最早在其最后一次活动迹象两分钟后清理。',
    },
    default: '1m',
    minimum: '1s',
  }),
  'platform.storage.sweep.auto-startup': key.boolean({
    title: { en: 'Remove half-written files by itself', 'zh-CN': '自动清理未写完的文件' },
    default: true,
  }),
}
