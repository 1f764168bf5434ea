import { type ConfigView, key } from '@plinth/kernel'

const url = (company: string, at: string) =>
  key.url({
    title: { en: `Address of ${company}`, 'zh-CN': `${company} 的地址` },
    default: at,
    reload: 'live',
  })

const text = (en: string, zh: string, description?: { readonly en: string; readonly 'zh-CN': string }) =>
  key.string({
    title: { en, 'zh-CN': zh },
    ...(description === undefined ? {} : { description }),
    default: '',
    maxLength: 200,
    reload: 'live',
  })

const secret = (en: string, zh: string) =>
  key.string({ title: { en, 'zh-CN': zh }, default: '', maxLength: 200, sensitive: true, reload: 'live' })

const signature = {
  en: 'Stands before the text; registered with the company. A message may name another one.',
  'zh-CN': '显示在短信正文之前，须先在服务商处登记；单条消息可以另行指定。',
}

export const config = {
  'platform.sms.driver': key.string({
    title: { en: 'SMS driver', 'zh-CN': '短信驱动' },
    description: {
      en: 'Company or place that text messages go to: aliyun, tencent, twilio, file, log, or the driver of another plugin. Empty: none are sent.',
      'zh-CN': '短信的去向：aliyun、tencent、twilio、file、log，或其他插件提供的驱动。留空则不发送短信。',
    },
    default: '',
    maxLength: 64,
    reload: 'live',
  }),
  'platform.sms.country-code': key.string({
    title: { en: 'Country code of bare numbers', 'zh-CN': '默认国家代码' },
    description: {
      en: 'For numbers that are written without one. Empty: such numbers are refused.',
      'zh-CN': '用于未写国家代码的号码；留空则拒绝此类号码。',
    },
    default: '86',
    pattern: '^(?:[1-9]\\d{0,2})?$',
    reload: 'live',
  }),
  'platform.sms.aliyun.endpoint': url('Aliyun SMS', 'https://dysmsapi.aliyuncs.com/'),
  'platform.sms.aliyun.access-key-id': text('Aliyun access key ID', '阿里云 AccessKey ID'),
  'platform.sms.aliyun.access-key-secret': secret('Aliyun access key secret', '阿里云 AccessKey Secret'),
  'platform.sms.aliyun.sign-name': text('Aliyun signature', '阿里云短信签名', signature),
  'platform.sms.tencent.endpoint': url('Tencent Cloud SMS', 'https://sms.tencentcloudapi.com/'),
  'platform.sms.tencent.region': key.string({
    title: { en: 'Tencent Cloud region', 'zh-CN': '腾讯云地域' },
    default: 'ap-guangzhou',
    pattern: '^[a-z0-9-]{1,64}$',
    reload: 'live',
  }),
  'platform.sms.tencent.secret-id': text('Tencent Cloud secret ID', '腾讯云 SecretId'),
  'platform.sms.tencent.secret-key': secret('Tencent Cloud secret key', '腾讯云 SecretKey'),
  'platform.sms.tencent.app-id': text('Tencent Cloud SMS application', '腾讯云短信应用 ID'),
  'platform.sms.tencent.sign-name': text('Tencent Cloud signature', '腾讯云短信签名', signature),
  'platform.sms.twilio.endpoint': url('Twilio', 'https://api.twilio.com/'),
  'platform.sms.twilio.account-sid': text('Twilio account', 'Twilio 账户 SID'),
  'platform.sms.twilio.auth-token': secret('Twilio token', 'Twilio 令牌'),
  'platform.sms.twilio.from': text('Twilio sender', 'Twilio 发送号码', {
    en: 'A number in E.164, or the id of a messaging service (MG...).',
    'zh-CN': 'E.164 格式的号码，或以 MG 开头的消息服务 ID。',
  }),
  'platform.sms.twilio.status-callback': key.string({
    title: { en: 'Public address of the product for Twilio', 'zh-CN': '供 Twilio 回调的产品公网地址' },
    description: {
      en: 'For example https://shop.example.com: receipts come to /api/v1/sms/receipts/twilio below it. Empty: no receipts.',
      'zh-CN': '例如 https://shop.example.com：回执发送到其下的 /api/v1/sms/receipts/twilio。留空则不接收回执。',
    },
    default: '',
    pattern: '^(?:https?://[^?#\\s]*[^/?#\\s])?$',
    reload: 'live',
  }),
  'platform.sms.file.directory': key.string({
    title: { en: 'Directory of the driver "file"', 'zh-CN': 'file 驱动的目录' },
    description: {
      en: 'One JSON file per message. Relative to the directory of the product file.',
      'zh-CN': '每条短信一个 JSON 文件；相对于产品文件所在目录。',
    },
    default: 'data/sms',
    minLength: 1,
  }),
}

export type SmsConfig = ConfigView<typeof config>
export type SmsKey = keyof typeof config
