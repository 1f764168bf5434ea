import { purgeKeys } from '@plinth/coordination'
import { key } from '@plinth/kernel'
import { declarePluginKey } from '@plinth/system-config'
import { maxLocalPartLength } from './return-path.ts'

export const returnPathKeyName = 'platform.delivery-receipts.bounce-address-key'

const secretKey = (en: string, zh: string, english: string, chinese: string) =>
  key.string({
    title: { en, 'zh-CN': zh },
    description: { en: english, 'zh-CN': chinese },
    default: '',
    maxLength: 200,
    sensitive: true,
    // The key is never sent.
    destination: [],
    reload: 'live',
  })

const pathSecret = (provider: string, chinese: string) =>
  key.string({
    title: { en: `Secret in the receipt address of ${provider}`, 'zh-CN': `${chinese}回执地址中的密钥` },
    description: {
      en: `At least 32 letters, digits, hyphens or underscores. ${provider} signs nothing, so this secret proves its requests. Empty: the source is off.`,
      'zh-CN': `至少 32 个字母、数字、连字符或下划线。${chinese}不签名，因此由此密钥证明其请求。留空则不接收。`,
    },
    default: '',
    pattern: '^(?:[A-Za-z0-9_-]{32,200})?$',
    rule: {
      en: 'be empty or 32 to 200 letters, digits, hyphens or underscores',
      'zh-CN': '为空，或由 32 至 200 个字母、数字、连字符或下划线组成',
    },
    sensitive: true,
    destination: [],
    reload: 'live',
  })

export const keys = {
  'platform.delivery-receipts.ses.topic-arns': key.stringList({
    title: { en: 'SNS topics of Amazon SES', 'zh-CN': 'Amazon SES 的 SNS 主题' },
    description: {
      en: 'ARNs of the topics that may send receipts. Requests of other topics are rejected, also if Amazon signed them. Empty: the source is off.',
      'zh-CN': '允许发送回执的主题 ARN。其他主题的请求即使由亚马逊签名也会被拒绝。留空则不接收。',
    },
    default: [],
    maxItems: 20,
    reload: 'live',
  }),
  'platform.delivery-receipts.ses.allow-signature-version-1': key.boolean({
    title: { en: 'Accept SNS signatures of version 1', 'zh-CN': '接受版本 1 的 SNS 签名' },
    description: {
      en: 'Version 1 uses SHA-1. Set the attribute SignatureVersion of the topic to 2 instead, if you can.',
      'zh-CN': '版本 1 使用 SHA-1。请尽可能将主题的 SignatureVersion 属性设为 2。',
    },
    default: false,
    reload: 'live',
  }),
  'platform.delivery-receipts.mailgun.secret': secretKey(
    'Webhook signing key of Mailgun',
    'Mailgun 的 Webhook 签名密钥',
    'Empty: the source is off.',
    '留空则不接收。',
  ),
  'platform.delivery-receipts.postmark.secret': pathSecret('Postmark', 'Postmark'),
  'platform.delivery-receipts.resend.secret': secretKey(
    'Webhook secret of Resend',
    'Resend 的 Webhook 密钥',
    'Begins with whsec_. Empty: the source is off.',
    '以 whsec_ 开头。留空则不接收。',
  ),
  'platform.delivery-receipts.aliyun.secret': pathSecret('Alibaba Cloud SMS', '阿里云短信'),
  'platform.delivery-receipts.tencent.secret': pathSecret('Tencent Cloud SMS', '腾讯云短信'),
  'platform.delivery-receipts.returned-mail.secret': pathSecret(
    'the server that passes returned mail',
    '转发退信的服务器',
  ),
  'platform.delivery-receipts.bounce-address': key.string({
    title: { en: 'Return path of mails', 'zh-CN': '邮件的退回地址' },
    description: {
      en: 'Address to which servers return mails, such as bounce@example.com. Each mail gets an address of its own with a token after a plus sign. The domain needs an SPF record for the SMTP server. Empty: the sender gets returned mails.',
      'zh-CN':
        '邮件被退回时的地址，例如 bounce@example.com。每封邮件在加号后带有各自的令牌。该域名须有允许 SMTP 服务器的 SPF 记录。留空则退回发件人。',
    },
    default: '',
    pattern: `^(?:[A-Za-z0-9._-]{1,${maxLocalPartLength}}@[A-Za-z0-9.-]{1,190})?$`,
    rule: {
      en: `be empty or a mail address with at most ${maxLocalPartLength} characters before the @`,
      'zh-CN': `为空，或为 @ 前至多 ${maxLocalPartLength} 个字符的邮件地址`,
    },
    reload: 'live',
  }),
  [returnPathKeyName]: declarePluginKey({
    title: { en: 'Signing key of return paths', 'zh-CN': '退回地址的签名密钥' },
    description: {
      en: 'Created automatically with the first mail that has a return path, and stored encrypted. Do not set it manually.',
      'zh-CN': '发送首封带退回地址的邮件时自动创建并加密存储，无需人工设置。',
    },
  }),
  'platform.delivery-receipts.retention': key.duration({
    title: { en: 'Retention of delivery receipts', 'zh-CN': '投递回执保留时间' },
    description: {
      en: 'A repeated request is recognised until then. The send log keeps the delivery states.',
      'zh-CN': '在此之前可识别重复的请求。发送记录保留投递状态。',
    },
    default: '90d',
    minimum: '2d',
    reload: 'live',
  }),
  ...purgeKeys('platform.delivery-receipts', {
    en: 'Interval for removing receipts and subscriptions after their retention time.',
    'zh-CN': '清除超期的回执和订阅的间隔。',
  }),
}
