import { type ConfigView, guardsPermission, key, omitUndefined } from '@plinth/kernel'

/** The driver and the account at the provider receive codes, with which their reader can take over accounts. */
const decidesWhoReads = { permission: guardsPermission }

const url = (company: string, at: string) =>
  key.url({
    title: { en: `Address of ${company}`, 'zh-CN': `${company} 的地址` },
    default: at,
    reload: 'live',
    ...decidesWhoReads,
  })

const account = (en: string, zh: string) =>
  key.string({ title: { en, 'zh-CN': zh }, default: '', maxLength: 200, reload: 'live', ...decidesWhoReads })

const text = (en: string, zh: string, description?: { readonly en: string; readonly 'zh-CN': string }) =>
  key.string(
    omitUndefined({
      title: { en, 'zh-CN': zh },
      description,
      default: '',
      maxLength: 200,
      reload: 'live',
    }),
  )

const secret = (en: string, zh: string, ...destination: readonly string[]) =>
  key.string({ title: { en, 'zh-CN': zh }, default: '', maxLength: 200, sensitive: true, destination, reload: 'live' })

const signature = {
  en: 'Shown before the text. It must be registered with the provider. A message can specify a different signature.',
  'zh-CN': '显示在短信正文之前，须先在服务商处登记；单条消息可以另行指定。',
}

/** Codes of providers by the name in the product and by the code of the driver. */
export type CompanyNames = Readonly<Record<string, Readonly<Record<string, string>>>>

const companyNames = {
  type: 'object',
  maxProperties: 1000,
  propertyNames: { minLength: 1, maxLength: 128 },
  additionalProperties: {
    type: 'object',
    maxProperties: 32,
    propertyNames: { minLength: 1, maxLength: 64 },
    additionalProperties: { type: 'string', minLength: 1, maxLength: 200 },
  },
}

export const keys = {
  'platform.sms.driver': key.string({
    title: { en: 'SMS driver', 'zh-CN': '短信驱动' },
    description: {
      en: 'Driver that sends text messages: aliyun, tencent, twilio, file, log, or a driver of another plugin. Empty: no text messages are sent.',
      'zh-CN': '发送短信的驱动：aliyun、tencent、twilio、file、log，或其他插件提供的驱动。留空则不发送短信。',
    },
    default: '',
    maxLength: 64,
    reload: 'live',
    ...decidesWhoReads,
  }),
  'platform.sms.country-code': key.string({
    title: { en: 'Default country code', 'zh-CN': '默认国家代码' },
    description: {
      en: 'For numbers without a country code. Empty: such numbers are rejected.',
      'zh-CN': '用于未写国家代码的号码；留空则拒绝此类号码。',
    },
    default: '86',
    pattern: '^(?:[1-9]\\d{0,2})?$',
    rule: {
      en: 'be empty or a country code of one to three digits, without "+" and without a leading zero',
      'zh-CN': '为空，或是一至三位数字的国际区号，不带“+”，不以 0 开头',
    },
    reload: 'live',
  }),
  'platform.sms.templates': key.object<CompanyNames>({
    title: { en: 'Template codes per provider', 'zh-CN': '各服务商的模板编号' },
    description: {
      en: 'Template codes, each with its code at the providers: {"order.shipped": {"aliyun": "SMS_1", "tencent": "449739", "twilio": "HX..."}}. Without an entry, Twilio sends the text, and Aliyun and Tencent Cloud cannot send the message.',
      'zh-CN':
        '模板编码及其在各服务商的编号：{"order.shipped": {"aliyun": "SMS_1", "tencent": "449739", "twilio": "HX..."}}。未配置时，Twilio 发送正文，阿里云与腾讯云无法发送。',
    },
    schema: companyNames,
    default: {},
    reload: 'live',
  }),
  'platform.sms.sign-names': key.object<CompanyNames>({
    title: { en: 'Signatures per provider', 'zh-CN': '各服务商的短信签名' },
    description: {
      en: 'Signatures that messages specify, each with its registered name at the providers: {"Shop": {"aliyun": "Shop", "tencent": "Shop Ltd"}}. A provider that is not listed uses its configured signature.',
      'zh-CN':
        '消息指定的签名及其在各服务商登记的签名：{"Shop": {"aliyun": "商城", "tencent": "商城科技"}}。未列出的服务商使用自身配置的签名。',
    },
    schema: companyNames,
    default: {},
    reload: 'live',
  }),
  'platform.sms.aliyun.endpoint': url('Aliyun SMS', 'https://dysmsapi.aliyuncs.com/'),
  'platform.sms.aliyun.access-key-id': account('Aliyun access key ID', '阿里云 AccessKey ID'),
  'platform.sms.aliyun.access-key-secret': secret(
    'Aliyun access key secret',
    '阿里云 AccessKey Secret',
    'platform.sms.aliyun.endpoint',
    'platform.sms.aliyun.access-key-id',
  ),
  'platform.sms.aliyun.sign-name': text('Aliyun signature', '阿里云短信签名', signature),
  'platform.sms.tencent.endpoint': url('Tencent Cloud SMS', 'https://sms.tencentcloudapi.com/'),
  'platform.sms.tencent.region': key.string({
    title: { en: 'Tencent Cloud region', 'zh-CN': '腾讯云地域' },
    default: 'ap-guangzhou',
    pattern: '^[a-z0-9-]{1,64}$',
    rule: { en: 'be 1 to 64 lower-case letters, digits or "-"', 'zh-CN': '是 1 至 64 个小写字母、数字或“-”' },
    reload: 'live',
  }),
  'platform.sms.tencent.secret-id': account('Tencent Cloud secret ID', '腾讯云 SecretId'),
  'platform.sms.tencent.secret-key': secret(
    'Tencent Cloud secret key',
    '腾讯云 SecretKey',
    'platform.sms.tencent.endpoint',
    'platform.sms.tencent.secret-id',
  ),
  'platform.sms.tencent.app-id': text('Tencent Cloud SMS application', '腾讯云短信应用 ID'),
  'platform.sms.tencent.sign-name': text('Tencent Cloud signature', '腾讯云短信签名', signature),
  'platform.sms.twilio.endpoint': url('Twilio', 'https://api.twilio.com/'),
  'platform.sms.twilio.account-sid': account('Twilio account', 'Twilio 账户 SID'),
  'platform.sms.twilio.auth-token': secret(
    'Twilio token',
    'Twilio 令牌',
    'platform.sms.twilio.endpoint',
    'platform.sms.twilio.account-sid',
  ),
  'platform.sms.twilio.from': text('Twilio sender', 'Twilio 发送号码', {
    en: 'A number in E.164 format, the id of a messaging service (MG...), or a WhatsApp sender (whatsapp:+...).',
    'zh-CN': 'E.164 格式的号码、以 MG 开头的消息服务 ID，或 WhatsApp 发送方（whatsapp:+...）。',
  }),
  'platform.sms.twilio.status-callback': key.string({
    title: { en: 'Public URL for Twilio receipts', 'zh-CN': '供 Twilio 回调的产品公网地址' },
    description: {
      en: 'For example https://shop.example.com. Twilio sends receipts to /api/v1/sms/receipts/twilio below it. Empty: no receipts.',
      'zh-CN': '例如 https://shop.example.com：回执发送到其下的 /api/v1/sms/receipts/twilio。留空则不接收回执。',
    },
    default: '',
    pattern: '^(?:https?://[^?#\\s]*[^/?#\\s])?$',
    rule: {
      en: 'be empty or an http or https URL without a trailing "/" and without "?" and "#"',
      'zh-CN': '为空，或是 http 或 https 地址，不以“/”结尾，不含“?”和“#”',
    },
    reload: 'live',
  }),
  'platform.sms.file.directory': key.string({
    title: { en: 'Directory of the "file" driver', 'zh-CN': 'file 驱动的目录' },
    description: {
      en: 'One JSON file per message. Relative to the directory of the product file.',
      'zh-CN': '每条短信一个 JSON 文件；相对于产品文件所在目录。',
    },
    default: 'data/sms',
    minLength: 1,
    scope: 'process',
  }),
}

export type SmsConfig = ConfigView<typeof keys>
export type SmsKey = keyof typeof keys
