import { purgeKeys } from '@plinth/coordination'
import { type ConfigView, guardsPermission, key } from '@plinth/kernel'
import { declarePluginKey } from '@plinth/system-config'

export const secretKeyName = 'platform.authenticators.secret-key'

export const keys = {
  'platform.authenticators.issuer': key.string({
    title: { en: 'Name in authenticator apps', 'zh-CN': '验证器应用中显示的名称' },
    description: {
      en: 'Shown by authenticator apps and passkey dialogs. Default: the name of the site.',
      'zh-CN': '显示在验证器应用和通行密钥对话框中。默认为站点名称。',
    },
    default: '',
    maxLength: 64,
    reload: 'live',
  }),
  'platform.authenticators.rate-limit.account-max-attempts': key.integer({
    title: { en: 'Failed second factors per account and network', 'zh-CN': '每个账号和网络的第二因素失败次数' },
    description: {
      en: 'Counted for each account and network together, so that other users cannot block the owner. 0: unlimited.',
      'zh-CN': '按“账号 + 网络”计数，他人无法借此阻止账号所有者。0 表示不限。',
    },
    default: 10,
    minimum: 0,
    maximum: 1_000_000,
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.authenticators.rate-limit.ip-max-attempts': key.integer({
    title: { en: 'Attempts per network', 'zh-CN': '每个网络的尝试次数' },
    description: {
      en: 'Counted separately: failed second factors, failed sign-ins with a passkey, and requests for a passkey. Requests of known users are counted for each user. 0: unlimited.',
      'zh-CN':
        '分别计数：失败的第二因素、失败的通行密钥登录、对通行密钥的请求；已确认用户的请求按用户计数。0 表示不限。',
    },
    default: 100,
    minimum: 0,
    maximum: 1_000_000,
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.authenticators.rate-limit.window': key.duration({
    title: { en: 'Window of these limits', 'zh-CN': '上述限制的时间窗口' },
    default: '5m',
    minimum: '1s',
    maximum: '1d',
    reload: 'live',
    permission: guardsPermission,
  }),
  [secretKeyName]: declarePluginKey({
    title: { en: 'Encryption key of one-time passwords', 'zh-CN': '动态口令的加密密钥' },
    description: {
      en: 'Encrypts the secrets of authenticator apps. Created automatically and stored encrypted. Do not set it manually.',
      'zh-CN': '用于加密验证器应用的密钥。自动生成并加密存储，无需人工设置。',
    },
  }),
  ...purgeKeys('platform.authenticators', {
    en: 'Interval for removing networks from which users have not signed in for 180 days.',
    'zh-CN': '清除 180 天未登录的网络记录的间隔。',
  }),
}

export type AuthenticatorConfig = ConfigView<typeof keys>
