import { type ConfigView, guardsPermission, key } from '@plinth/kernel'

/** The server receives all files, so these keys have the permission of other far-reaching keys. */
const decidesWhoReads = { permission: guardsPermission }

const bucket = {
  pattern: '^(?:[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])?$',
  rule: {
    en: 'be empty or have 3 to 63 lower-case letters, digits, dots and hyphens, with a letter or digit at both ends',
    'zh-CN': '为空，或由 3 至 63 个小写字母、数字、点和连字符组成，首尾为字母或数字',
  },
  default: '',
  ...decidesWhoReads,
}

export const keys = {
  'platform.storage-s3.endpoint': key.string({
    title: { en: 'Address of the S3 server', 'zh-CN': 'S3 服务器地址' },
    description: {
      en: 'For example https://garage.example.com. Empty: Amazon S3 in the configured region. A host in a private network, another port and http must be allowed with the keys of outgoing requests.',
      'zh-CN':
        '例如 https://garage.example.com。留空则为所设区域的 Amazon S3。内网主机、其他端口和 http 须在出站请求的配置中允许。',
    },
    default: '',
    maxLength: 255,
    pattern: '^(?:https?://[^/?#@\\s\\\\]+)?$',
    rule: {
      en: 'be empty or an http or https address without a path and without a user name',
      'zh-CN': '为空，或是不含路径和用户名的 http 或 https 地址',
    },
    ...decidesWhoReads,
  }),
  'platform.storage-s3.region': key.string({
    title: { en: 'Region', 'zh-CN': '区域' },
    description: {
      en: 'The region of the bucket. Many servers have a fixed region, for example garage or auto.',
      'zh-CN': '存储桶所在区域。许多服务器使用固定区域，例如 garage 或 auto。',
    },
    default: 'us-east-1',
    pattern: '^[A-Za-z0-9-]{1,64}$',
    rule: { en: 'have 1 to 64 letters, digits and hyphens', 'zh-CN': '由 1 至 64 个字母、数字和连字符组成' },
    ...decidesWhoReads,
  }),
  'platform.storage-s3.bucket': key.string({
    title: { en: 'Bucket', 'zh-CN': '存储桶' },
    description: {
      en: 'Stores the files of the disks s3-private and s3-public, below private/ and public/. Create it first. Empty: these disks do not exist.',
      'zh-CN':
        '存放 s3-private 和 s3-public 磁盘的文件，分别位于 private/ 和 public/ 之下。请先创建。留空则没有这两个磁盘。',
    },
    ...bucket,
  }),
  'platform.storage-s3.public-bucket': key.string({
    title: { en: 'Bucket for public files', 'zh-CN': '公开文件的存储桶' },
    description: {
      en: 'Set it if everyone may read the whole bucket with the public files, for example through a CDN. Empty: one bucket stores all files.',
      'zh-CN': '若存放公开文件的存储桶整体对外可读（例如通过 CDN），请填写。留空则全部文件存放于同一存储桶。',
    },
    ...bucket,
  }),
  'platform.storage-s3.prefix': key.string({
    title: { en: 'Prefix of the object keys', 'zh-CN': '对象键前缀' },
    description: {
      en: 'Lets several products share a bucket, for example shop/.',
      'zh-CN': '使多个产品共用一个存储桶，例如 shop/。',
    },
    default: '',
    maxLength: 200,
    pattern: '^(?:[A-Za-z0-9][A-Za-z0-9._-]*/)*$',
    rule: {
      en: 'be empty or segments of letters, digits, dots, underscores and hyphens that each end with "/"',
      'zh-CN': '为空，或由字母、数字、点、下划线和连字符组成的路径段，每段以“/”结尾',
    },
    ...decidesWhoReads,
  }),
  'platform.storage-s3.access-key-id': key.string({
    title: { en: 'Access key ID', 'zh-CN': '访问密钥 ID' },
    default: '',
    maxLength: 128,
    ...decidesWhoReads,
  }),
  'platform.storage-s3.secret-access-key': key.string({
    title: { en: 'Secret access key', 'zh-CN': '访问密钥的密码' },
    default: '',
    maxLength: 1024,
    sensitive: true,
    destination: ['platform.storage-s3.endpoint', 'platform.storage-s3.region', 'platform.storage-s3.access-key-id'],
  }),
  'platform.storage-s3.path-style': key.boolean({
    title: { en: 'Bucket in the path', 'zh-CN': '存储桶位于路径中' },
    description: {
      en: 'On: https://server/bucket/key. This works for IP addresses and for bucket names with dots. Off: https://bucket.server/key.',
      'zh-CN': '开启：https://服务器/存储桶/键，适用于 IP 地址和含点的存储桶名。关闭：https://存储桶.服务器/键。',
    },
    default: true,
  }),
  'platform.storage-s3.presigned-urls': key.boolean({
    title: { en: 'Clients download from the S3 server', 'zh-CN': '客户端直接从 S3 服务器下载' },
    description: {
      en: 'On: the URL of a private file without a guard is a presigned URL of the S3 server. Clients must reach the server, and pages of the product do not display pictures from it. Off: the product sends the files.',
      'zh-CN':
        '开启：无守卫的私有文件使用 S3 服务器的预签名地址；客户端须能访问该服务器，且产品页面不显示来自该服务器的图片。关闭：由产品发送文件。',
    },
    default: false,
    ...decidesWhoReads,
  }),
  'platform.storage-s3.checksum': key.enum({
    title: { en: 'Additional checksum', 'zh-CN': '附加校验和' },
    description: {
      en: 'Each upload has a signed SHA-256 hash. With crc32 or sha256, the server also stores a checksum. Some servers reject the header, so it is off by default.',
      'zh-CN':
        '每次上传均带有已签名的 SHA-256 哈希值。选择 crc32 或 sha256 时，服务器还会保存校验和。部分服务器拒绝该请求头，因此默认关闭。',
    },
    values: ['none', 'crc32', 'sha256'],
    default: 'none',
  }),
  'platform.storage-s3.request-timeout': key.duration({
    title: { en: 'Timeout of a request', 'zh-CN': '请求超时时间' },
    description: {
      en: 'Time until the response begins. An upload has one additional second for each 256 KiB. A request is attempted at most four times.',
      'zh-CN': '响应开始前的最长时间。上传内容每 256 KiB 另加一秒。每个请求最多尝试四次。',
    },
    default: '30s',
    minimum: '1s',
    maximum: '10m',
  }),
  'platform.storage-s3.unfinished-upload-age': key.duration({
    title: { en: 'Maximum age of unfinished uploads', 'zh-CN': '未完成上传的最长保留时间' },
    description: {
      en: 'Older multipart uploads of dead processes are removed. The value must exceed the duration of the longest upload.',
      'zh-CN': '超过此时间的、由已终止进程遗留的分段上传会被清除；应大于最长上传所需的时间。',
    },
    default: '1d',
    minimum: '1h',
    maximum: '30d',
  }),
}

export type S3Config = ConfigView<typeof keys>
