import { guardsPermission, key, type LocalizedText } from '@plinth/kernel'
import { declarePluginKey } from '@plinth/system-config'
import { attemptWindowKey, maxAttemptsKey } from '../config.ts'

const text = (declared: {
  readonly title: LocalizedText
  readonly description?: LocalizedText
  readonly default: string
}) => key.string({ ...declared, maxLength: 200, reload: 'live' })

const sender = (title: LocalizedText) =>
  key.string({
    title,
    description: {
      en: 'Name of the sender that delivers the codes. Empty: the only sender that another plugin provides. For development: file, log.',
      'zh-CN': '发送方式的名称。留空则使用其他插件提供的唯一方式。开发用：file、log。',
    },
    default: '',
    permission: guardsPermission,
  })

const defaultScene = (title: LocalizedText) =>
  key.string({
    title,
    default: 'login',
    pattern: '^[a-z0-9]+(-[a-z0-9]+)*$',
    rule: { en: 'be lower-case words of letters and digits, joined with "-"', 'zh-CN': '是以“-”连接的小写字母和数字' },
    maxLength: 32,
    reload: 'live',
  })

const sms = {
  'platform.iam.auth.login.verification.sms.enabled': key.boolean({
    title: { en: 'SMS codes', 'zh-CN': '短信验证码' },
    default: true,
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.iam.auth.login.verification.sms.default-scene': defaultScene({
    en: 'Default scene of SMS codes',
    'zh-CN': '短信验证码默认场景',
  }),
  'platform.iam.auth.login.verification.sms.default-country': key.string({
    title: { en: 'Country of mobile numbers without a country code', 'zh-CN': '不带国家代码的手机号所属国家' },
    description: {
      en: 'ISO 3166 code such as CN or DE. Empty: numbers must include their country code.',
      'zh-CN': 'ISO 3166 代码，如 CN 或 DE。留空则手机号必须带国家代码。',
    },
    default: 'CN',
    pattern: '^(?:[A-Z]{2})?$',
    rule: { en: 'be empty or a country code of two capital letters', 'zh-CN': '为空，或是两个大写字母的国家代码' },
    reload: 'live',
  }),
  'platform.iam.auth.login.verification.sms.code-length': key.integer({
    title: { en: 'Digits of an SMS code', 'zh-CN': '短信验证码位数' },
    default: 6,
    minimum: 4,
    maximum: 10,
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.iam.auth.login.verification.sms.ttl': key.duration({
    title: { en: 'Lifetime of an SMS code', 'zh-CN': '短信验证码有效期' },
    default: '5m',
    minimum: '10s',
    maximum: '1d',
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.iam.auth.login.verification.sms.mobile-max-attempts': maxAttemptsKey({
    title: { en: 'Codes sent per mobile number', 'zh-CN': '每个手机号的发送次数' },
    default: 1,
  }),
  'platform.iam.auth.login.verification.sms.mobile-window': attemptWindowKey({
    title: { en: 'Window of codes sent per mobile number', 'zh-CN': '每个手机号的发送时间窗口' },
    default: '1m',
  }),
  'platform.iam.auth.login.verification.sms.ip-max-attempts': maxAttemptsKey({
    title: { en: 'SMS codes sent per IP address', 'zh-CN': '每个 IP 的短信验证码发送次数' },
    default: 30,
  }),
  'platform.iam.auth.login.verification.sms.ip-window': attemptWindowKey({
    title: { en: 'Window of SMS codes sent per IP address', 'zh-CN': '每个 IP 的短信验证码发送时间窗口' },
    default: '1h',
  }),
  'platform.iam.auth.login.verification.sms.countries': key.stringList({
    title: { en: 'Calling codes that receive SMS codes', 'zh-CN': '可接收短信验证码的国家（地区）代码' },
    description: {
      en: 'For example 86 and 49. Empty: all countries. Numbers of other countries are rejected.',
      'zh-CN': '例如 86 和 49。留空表示所有国家（地区）；其他国家（地区）的号码会被拒绝。',
    },
    items: { pattern: '^[1-9][0-9]{0,2}$' },
    rule: {
      en: 'be a calling code of one to three digits, without "+" and without a leading zero',
      'zh-CN': '是一至三位数字的国际区号，不带“+”，不以 0 开头',
    },
    uniqueItems: true,
    default: [],
    reload: 'live',
    insecure: {
      is: [],
      reason: {
        en: 'Attackers can make the product send SMS codes to expensive numbers in all countries. List the calling codes of your users.',
        'zh-CN': '攻击者可让系统向全球高资费号码发送短信验证码。请填写用户所在国家（地区）的代码。',
      },
    },
    permission: guardsPermission,
  }),
  'platform.iam.auth.login.verification.sms.country-max-attempts': key.integer({
    title: { en: 'SMS codes sent per calling code and day', 'zh-CN': '每个国家（地区）代码每天的短信验证码发送次数' },
    description: {
      en: 'Applies while the list of calling codes is empty. At 80 %, operators are alerted. 0: unlimited.',
      'zh-CN': '在国家（地区）代码列表为空时生效；达到 80% 时提醒操作员。0 表示不限。',
    },
    default: 500,
    minimum: 0,
    maximum: 1_000_000,
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.iam.auth.login.verification.sms.verify-mobile-max-attempts': maxAttemptsKey({
    title: { en: 'SMS code checks per mobile number', 'zh-CN': '每个手机号的校验次数' },
    default: 5,
  }),
  'platform.iam.auth.login.verification.sms.verify-mobile-window': attemptWindowKey({
    title: { en: 'Window of SMS code checks per mobile number', 'zh-CN': '每个手机号的校验时间窗口' },
    default: '5m',
  }),
  'platform.iam.auth.login.verification.sms.verify-ip-max-attempts': maxAttemptsKey({
    title: { en: 'SMS code checks per IP address', 'zh-CN': '每个 IP 的短信验证码校验次数' },
    default: 60,
  }),
  'platform.iam.auth.login.verification.sms.verify-ip-window': attemptWindowKey({
    title: { en: 'Window of SMS code checks per IP address', 'zh-CN': '每个 IP 的短信验证码校验时间窗口' },
    default: '1h',
  }),
  'platform.iam.auth.login.verification.sms.key-prefix': key.string({
    title: { en: 'Key prefix of SMS codes', 'zh-CN': '短信验证码键前缀' },
    default: 'iam:auth:login:verification:sms',
    minLength: 1,
    maxLength: 100,
    permission: guardsPermission,
  }),
  'platform.iam.auth.login.verification.sms.template': text({
    title: { en: 'Template of SMS codes', 'zh-CN': '短信验证码模板' },
    description: { en: 'Code of a template of this product.', 'zh-CN': '本产品模板的编码。' },
    default: '',
  }),
  'platform.iam.auth.login.verification.sms.template-code': text({
    title: { en: 'Template code at the provider', 'zh-CN': '服务商模板编号' },
    default: '',
  }),
  'platform.iam.auth.login.verification.sms.sign-name': text({
    title: { en: 'Signature at the provider', 'zh-CN': '服务商签名' },
    default: '',
  }),
  'platform.iam.auth.login.verification.sms.provider': key.string({
    title: { en: 'SMS provider', 'zh-CN': '短信服务商' },
    description: { en: 'Empty: the default provider.', 'zh-CN': '留空表示使用默认服务商。' },
    default: '',
    maxLength: 200,
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.iam.auth.login.verification.sms.sender': sender({
    en: 'Sender of SMS codes',
    'zh-CN': '短信验证码发送方式',
  }),
}

const email = {
  'platform.iam.auth.login.verification.email.enabled': key.boolean({
    title: { en: 'E-mail codes', 'zh-CN': '邮件验证码' },
    default: true,
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.iam.auth.login.verification.email.default-scene': defaultScene({
    en: 'Default scene of e-mail codes',
    'zh-CN': '邮件验证码默认场景',
  }),
  'platform.iam.auth.login.verification.email.code-length': key.integer({
    title: { en: 'Digits of an e-mail code', 'zh-CN': '邮件验证码位数' },
    default: 6,
    minimum: 4,
    maximum: 10,
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.iam.auth.login.verification.email.ttl': key.duration({
    title: { en: 'Lifetime of an e-mail code', 'zh-CN': '邮件验证码有效期' },
    default: '5m',
    minimum: '10s',
    maximum: '1d',
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.iam.auth.login.verification.email.email-max-attempts': maxAttemptsKey({
    title: { en: 'Codes sent per e-mail address', 'zh-CN': '每个邮箱地址的发送次数' },
    default: 1,
  }),
  'platform.iam.auth.login.verification.email.email-window': attemptWindowKey({
    title: { en: 'Window of codes sent per e-mail address', 'zh-CN': '每个邮箱地址的发送时间窗口' },
    default: '1m',
  }),
  'platform.iam.auth.login.verification.email.ip-max-attempts': maxAttemptsKey({
    title: { en: 'E-mail codes sent per IP address', 'zh-CN': '每个 IP 的邮件验证码发送次数' },
    default: 30,
  }),
  'platform.iam.auth.login.verification.email.ip-window': attemptWindowKey({
    title: { en: 'Window of e-mail codes sent per IP address', 'zh-CN': '每个 IP 的邮件验证码发送时间窗口' },
    default: '1h',
  }),
  'platform.iam.auth.login.verification.email.alert-after': key.integer({
    title: { en: 'E-mail codes per day before an alert', 'zh-CN': '触发告警的每日邮件验证码数量' },
    description: {
      en: 'Total of all e-mail addresses. Operators are alerted, but codes are still sent: with a limit, an attacker could block all users. 0: no alert.',
      'zh-CN': '所有邮箱合计。超过后提醒操作员，但仍会发送：若设上限，攻击者可借此阻止所有用户。0 表示不告警。',
    },
    default: 1000,
    minimum: 0,
    maximum: 1_000_000,
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.iam.auth.login.verification.email.verify-email-max-attempts': maxAttemptsKey({
    title: { en: 'E-mail code checks per e-mail address', 'zh-CN': '每个邮箱地址的校验次数' },
    default: 5,
  }),
  'platform.iam.auth.login.verification.email.verify-email-window': attemptWindowKey({
    title: { en: 'Window of e-mail code checks per e-mail address', 'zh-CN': '每个邮箱地址的校验时间窗口' },
    default: '5m',
  }),
  'platform.iam.auth.login.verification.email.verify-ip-max-attempts': maxAttemptsKey({
    title: { en: 'E-mail code checks per IP address', 'zh-CN': '每个 IP 的邮件验证码校验次数' },
    default: 60,
  }),
  'platform.iam.auth.login.verification.email.verify-ip-window': attemptWindowKey({
    title: { en: 'Window of e-mail code checks per IP address', 'zh-CN': '每个 IP 的邮件验证码校验时间窗口' },
    default: '1h',
  }),
  'platform.iam.auth.login.verification.email.key-prefix': key.string({
    title: { en: 'Key prefix of e-mail codes', 'zh-CN': '邮件验证码键前缀' },
    default: 'iam:auth:login:verification:email',
    minLength: 1,
    maxLength: 100,
    permission: guardsPermission,
  }),
  'platform.iam.auth.login.verification.email.template': text({
    title: { en: 'Template of e-mail codes', 'zh-CN': '邮件验证码模板' },
    description: { en: 'Code of a template of this product.', 'zh-CN': '本产品模板的编码。' },
    default: '',
  }),
  'platform.iam.auth.login.verification.email.subject': text({
    title: { en: 'Subject of e-mail codes', 'zh-CN': '验证码邮件主题' },
    default: 'Verification code',
  }),
  'platform.iam.auth.login.verification.email.sender': sender({
    en: 'Sender of e-mail codes',
    'zh-CN': '邮件验证码发送方式',
  }),
}

export const secretKeyName = 'platform.iam.auth.login.verification.secret-key'

export const keys = {
  ...sms,
  ...email,
  [secretKeyName]: declarePluginKey({
    title: { en: 'HMAC key of verification codes', 'zh-CN': '验证码摘要密钥' },
    description: {
      en: 'Codes are stored as an HMAC with this key. Created automatically with the first code and stored encrypted. Do not set it manually.',
      'zh-CN': '验证码以该密钥计算的 HMAC 形式存储。发送首个验证码时自动生成并加密存储，无需人工设置。',
    },
  }),
  'platform.iam.auth.login.verification.file-sender.directory': key.string({
    title: { en: 'Directory of the "file" sender', 'zh-CN': '发送方式 file 的目录' },
    description: {
      en: 'One unencrypted file per code, for development only. The path is relative to the directory of the product file.',
      'zh-CN': '相对于产品文件所在目录。每个验证码一个明文文件，仅供开发使用。',
    },
    default: 'data/verification-codes',
    minLength: 1,
    scope: 'process',
  }),
}
