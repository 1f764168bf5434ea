import { type ConfigView, guardsPermission, key } from '@plinth/kernel'
import { senderPattern } from './address.ts'
import type { AttachmentLimits } from './attachments.ts'

const text = (en: string, zh: string, more: object = {}) =>
  key.string({ title: { en, 'zh-CN': zh }, default: '', maxLength: 255, reload: 'live', ...more })

/** The server and its account receive links for new passwords and codes, with which their reader can take over accounts. */
const decidesWhoReads = { permission: guardsPermission }

export const keys = {
  'platform.mail.driver': text('Mail driver', '邮件驱动', {
    description: {
      en: 'Driver that sends e-mails: smtp, file, log, or a driver of another plugin. Empty: no e-mails are sent.',
      'zh-CN': '发送邮件的驱动：smtp、file、log，或其他插件提供的驱动。留空则不发送邮件。',
    },
    maxLength: 64,
    ...decidesWhoReads,
  }),
  'platform.mail.from': text('Sender of e-mails', '发件人', {
    description: {
      en: 'An address, or a name and an address: Shop <noreply@example.com>. Put a name with commas in quotes: "Shop, Ltd" <noreply@example.com>.',
      'zh-CN':
        '邮箱地址，或名称加地址：Shop <noreply@example.com>。名称含逗号时加引号："Shop, Ltd" <noreply@example.com>。',
    },
    pattern: `^$|${senderPattern}`,
    rule: {
      en: 'be empty, an address, or a name and an address in angle brackets',
      'zh-CN': '为空、邮箱地址，或名称加尖括号中的邮箱地址',
    },
    examples: ['Shop <noreply@example.com>'],
  }),
  'platform.mail.send-deadline': key.duration({
    title: { en: 'E-mail timeout', 'zh-CN': '邮件发送超时时间' },
    description: {
      en: 'Total time to connect, sign in and send one e-mail. Set it below the channel timeout.',
      'zh-CN': '连接、登录并发送一封邮件的总时间；应小于渠道超时时间。',
    },
    default: '9s',
    minimum: '100ms',
    maximum: '10m',
    reload: 'live',
  }),
  'platform.mail.smtp.host': text('SMTP server', 'SMTP 服务器', decidesWhoReads),
  'platform.mail.smtp.port': key.integer({
    title: { en: 'SMTP port', 'zh-CN': 'SMTP 服务器端口' },
    default: 587,
    minimum: 1,
    maximum: 65_535,
    reload: 'live',
    ...decidesWhoReads,
  }),
  'platform.mail.smtp.security': key.enum({
    title: { en: 'SMTP encryption', 'zh-CN': 'SMTP 加密方式' },
    description: {
      en: 'auto: implicit TLS on port 465. On other ports, STARTTLS is required; without it no e-mail is sent. opportunistic: STARTTLS if the server supports it, for relays in your own network. Without TLS, a password is only sent to a server on the same host.',
      'zh-CN':
        'auto：465 端口直接使用 TLS，其他端口必须使用 STARTTLS，否则不发送。opportunistic：服务器支持时使用 STARTTLS，用于自有网络中不支持加密的中继；除本机外，绝不在无 TLS 时发送密码。',
    },
    values: ['auto', 'tls', 'starttls', 'opportunistic'],
    default: 'auto',
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.mail.smtp.username': text('SMTP user name', 'SMTP 用户名', {
    description: { en: 'Empty: the product connects without signing in.', 'zh-CN': '留空则连接时不登录。' },
    ...decidesWhoReads,
  }),
  'platform.mail.smtp.password': key.string({
    title: { en: 'SMTP password', 'zh-CN': 'SMTP 密码' },
    default: '',
    maxLength: 1024,
    sensitive: true,
    // These keys decide to which server the password is sent, and who can read it in transit.
    destination: [
      'platform.mail.smtp.host',
      'platform.mail.smtp.port',
      'platform.mail.smtp.security',
      'platform.mail.smtp.username',
      'platform.mail.smtp.ca',
    ],
    reload: 'live',
  }),
  'platform.mail.smtp.ca': key.string({
    title: { en: 'SMTP certificate authority', 'zh-CN': 'SMTP 服务器的证书颁发机构' },
    description: {
      en: 'Certificate of your own authority in PEM format, if it issued the certificate of the server. Empty: the public authorities are trusted.',
      'zh-CN': '若服务器证书由自有机构签发，请填写该机构的 PEM 证书。留空则信任公共机构。',
    },
    default: '',
    multiline: true,
    maxLength: 65_536,
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.mail.smtp.max-connections': key.integer({
    title: { en: 'Maximum SMTP connections', 'zh-CN': 'SMTP 连接数' },
    description: { en: 'Concurrent connections of one process.', 'zh-CN': '单个进程的并发连接数上限。' },
    default: 30,
    minimum: 1,
    maximum: 1000,
    reload: 'live',
  }),
  'platform.mail.smtp.max-messages': key.integer({
    title: { en: 'E-mails per connection', 'zh-CN': '单个连接发送的邮件数' },
    description: { en: 'After this number of e-mails the connection is closed.', 'zh-CN': '达到此数量后关闭连接。' },
    default: 100,
    minimum: 1,
    maximum: 10_000,
    reload: 'live',
  }),
  'platform.mail.dkim.domain': text('DKIM domain', 'DKIM 域名', {
    description: {
      en: 'Empty: the product does not sign e-mails. Leave it empty if the relay signs them.',
      'zh-CN': '留空则产品不签名；若由中继签名，请留空。',
    },
  }),
  'platform.mail.dkim.selector': text('DKIM selector', 'DKIM 选择器'),
  'platform.mail.dkim.private-key': key.string({
    title: { en: 'DKIM private key', 'zh-CN': 'DKIM 私钥' },
    description: { en: 'In PEM format.', 'zh-CN': 'PEM 格式。' },
    default: '',
    maxLength: 16_384,
    multiline: true,
    sensitive: true,
    destination: ['platform.mail.dkim.domain', 'platform.mail.dkim.selector'],
    reload: 'live',
  }),
  'platform.mail.attachments.max-count': key.integer({
    title: { en: 'Files per e-mail', 'zh-CN': '单封邮件的附件数' },
    description: {
      en: 'An e-mail with more files is rejected. 0: no files are sent.',
      'zh-CN': '附件更多的邮件会被拒绝。0 表示不发送附件。',
    },
    default: 10,
    minimum: 0,
    maximum: 50,
    reload: 'live',
  }),
  'platform.mail.attachments.max-size': key.bytes({
    title: { en: 'Size of a file in an e-mail', 'zh-CN': '单个附件的大小' },
    description: {
      en: 'An e-mail with a larger file is rejected.',
      'zh-CN': '含更大附件的邮件会被拒绝。',
    },
    default: '10MiB',
    minimum: 1,
    maximum: '100MiB',
    reload: 'live',
  }),
  'platform.mail.attachments.max-total-size': key.bytes({
    title: { en: 'Size of all files in an e-mail', 'zh-CN': '单封邮件附件的总大小' },
    description: {
      en: 'In the e-mail, files are about a third larger. Many servers reject e-mails above 25 MiB. Increase the e-mail timeout for large files.',
      'zh-CN': '邮件中的附件约增大三分之一。许多服务器拒绝超过 25 MiB 的邮件。附件较大时请延长邮件发送超时时间。',
    },
    default: '15MiB',
    minimum: 1,
    maximum: '200MiB',
    reload: 'live',
  }),
  'platform.mail.attachments.refused': key.string({
    title: { en: 'Rejected kinds of files', 'zh-CN': '拒绝的附件种类' },
    description: {
      en: 'Media types, such as text/html, and endings of file names, such as .exe, separated by commas. An e-mail with such a file is rejected.',
      'zh-CN': '以逗号分隔的媒体类型（如 text/html）和文件名后缀（如 .exe）；含此类附件的邮件会被拒绝。',
    },
    default:
      '.exe,.com,.bat,.cmd,.scr,.pif,.msi,.js,.jse,.vbs,.vbe,.wsf,.ps1,.hta,.jar,.lnk,.reg,.cpl,text/html,image/svg+xml',
    maxLength: 2_000,
    reload: 'live',
  }),
  'platform.mail.file.directory': key.string({
    title: { en: 'Directory of the "file" driver', 'zh-CN': 'file 驱动的目录' },
    description: {
      en: 'One .eml file per e-mail. The files are not removed automatically. The path is relative to the directory of the product file.',
      'zh-CN': '每封邮件一个 .eml 文件，不会自动清除；相对于产品文件所在目录。',
    },
    default: 'data/storage/mail',
    minLength: 1,
    scope: 'process',
  }),
}

export type MailConfig = ConfigView<typeof keys>

export const readAttachmentLimits = (config: Pick<MailConfig, 'get'>): AttachmentLimits => ({
  maxCount: config.get('platform.mail.attachments.max-count'),
  maxBytes: config.get('platform.mail.attachments.max-size'),
  maxTotalBytes: config.get('platform.mail.attachments.max-total-size'),
  refused: config
    .get('platform.mail.attachments.refused')
    .split(',')
    .map((rule) => rule.trim().toLowerCase())
    .filter(Boolean),
})
