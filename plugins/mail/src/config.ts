import { type ConfigView, key } from '@plinth/kernel'
import { senderPattern } from './address.ts'

const text = (en: string, zh: string, more: object = {}) =>
  key.string({ title: { en, 'zh-CN': zh }, default: '', maxLength: 255, reload: 'live', ...more })

export const keys = {
  'platform.mail.driver': text('Mail driver', '邮件驱动', {
    description: {
      en: 'Where mails go: smtp, file, log, or the driver of another plugin. Empty: none are sent.',
      'zh-CN': '邮件的去向：smtp、file、log，或其他插件提供的驱动。留空则不发送邮件。',
    },
    maxLength: 64,
  }),
  'platform.mail.from': text('Sender of mails', '发件人', {
    description: {
      en: 'An address, or a name and an address: Shop <noreply@example.com>. Quote a name with commas: "Shop, Ltd" <noreply@example.com>.',
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
    title: { en: 'Deadline of a mail', 'zh-CN': '发送一封邮件的时限' },
    description: {
      en: 'Connecting, signing in and sending together.',
      'zh-CN': '连接、登录和发送的总时限。',
    },
    default: '30s',
    minimum: '100ms',
    maximum: '10m',
    reload: 'live',
  }),
  'platform.mail.smtp.host': text('SMTP server', 'SMTP 服务器'),
  'platform.mail.smtp.port': key.integer({
    title: { en: 'Port of the SMTP server', 'zh-CN': 'SMTP 服务器端口' },
    default: 587,
    minimum: 1,
    maximum: 65_535,
    reload: 'live',
  }),
  'platform.mail.smtp.security': key.enum({
    title: { en: 'Encryption towards the SMTP server', 'zh-CN': '与 SMTP 服务器之间的加密' },
    description: {
      en: 'auto: TLS from the start on port 465, otherwise STARTTLS, without which nothing is sent. opportunistic: STARTTLS where the server offers it, for relays without it in a network of your own; a password is never sent without TLS, except to this machine.',
      'zh-CN':
        'auto：465 端口直接使用 TLS，其他端口必须 STARTTLS，否则不发送。opportunistic：服务器支持时使用 STARTTLS，用于自有网络中不支持加密的中继；除本机外，绝不在无 TLS 时发送密码。',
    },
    values: ['auto', 'tls', 'starttls', 'opportunistic'],
    default: 'auto',
    reload: 'live',
  }),
  'platform.mail.smtp.username': text('User name at the SMTP server', 'SMTP 用户名', {
    description: { en: 'Empty: no sign-in.', 'zh-CN': '留空则不登录。' },
  }),
  'platform.mail.smtp.password': key.string({
    title: { en: 'Password at the SMTP server', 'zh-CN': 'SMTP 密码' },
    default: '',
    maxLength: 1024,
    sensitive: true,
    // Encryption and certificate authority determine who can read the password in transit.
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
    title: { en: 'Certificate authority of the SMTP server', 'zh-CN': 'SMTP 服务器的证书颁发机构' },
    description: {
      en: 'PEM, for a server whose certificate was issued by an authority of your own. Empty: the well-known ones.',
      'zh-CN': 'PEM 格式，用于由自有机构签发证书的服务器。留空则使用公认的机构。',
    },
    default: '',
    multiline: true,
    maxLength: 65_536,
    reload: 'live',
  }),
  'platform.mail.smtp.max-connections': key.integer({
    title: { en: 'Connections to the SMTP server', 'zh-CN': 'SMTP 连接数' },
    description: { en: 'At the same time, of this process.', 'zh-CN': '本进程同时保持的连接数上限。' },
    default: 30,
    minimum: 1,
    maximum: 1000,
    reload: 'live',
  }),
  'platform.mail.smtp.max-messages': key.integer({
    title: { en: 'Mails of one connection', 'zh-CN': '单个连接发送的邮件数' },
    description: { en: 'After them it is closed.', 'zh-CN': '达到后关闭该连接。' },
    default: 100,
    minimum: 1,
    maximum: 10_000,
    reload: 'live',
  }),
  'platform.mail.dkim.domain': text('DKIM domain', 'DKIM 域名', {
    description: {
      en: 'Empty: mails are not signed here, as it should be where the relay signs.',
      'zh-CN': '留空则不在此签名，适用于由中继签名的情况。',
    },
  }),
  'platform.mail.dkim.selector': text('DKIM selector', 'DKIM 选择器'),
  'platform.mail.dkim.private-key': key.string({
    title: { en: 'DKIM private key', 'zh-CN': 'DKIM 私钥' },
    description: { en: 'PEM.', 'zh-CN': 'PEM 格式。' },
    default: '',
    maxLength: 16_384,
    multiline: true,
    sensitive: true,
    destination: ['platform.mail.dkim.domain', 'platform.mail.dkim.selector'],
    reload: 'live',
  }),
  'platform.mail.file.directory': key.string({
    title: { en: 'Directory of the driver "file"', 'zh-CN': 'file 驱动的目录' },
    description: {
      en: 'One .eml file per mail; nothing removes them. Relative to the directory of the product file.',
      'zh-CN': '每封邮件一个 .eml 文件，不会自动清除；相对于产品文件所在目录。',
    },
    default: 'data/storage/mail',
    minLength: 1,
    scope: 'process',
  }),
}

export type MailConfig = ConfigView<typeof keys>
