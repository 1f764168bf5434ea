import { purgeKeys, retentionKey } from '@plinth/coordination'
import { key } from '@plinth/kernel'
import { declarePluginKey } from '@plinth/system-config'

export const tokenKeyName = 'platform.social.token-key'

export interface SocialAccount {
  readonly appId: string
  readonly secret: string
}

const word = { type: 'string', minLength: 1, maxLength: 128 }

export const keys = {
  'platform.social.accounts': key.object<Readonly<Record<string, SocialAccount>>>({
    title: { en: 'WeChat accounts', 'zh-CN': '微信账号' },
    description: {
      en: 'Official accounts and mini programs, each under a code that you choose: {"shop": {"appId": "wx...", "secret": "..."}}.',
      'zh-CN': '以自定义代码列出公众号与小程序：{"shop": {"appId": "wx...", "secret": "..."}}。',
    },
    schema: {
      type: 'object',
      maxProperties: 100,
      propertyNames: { pattern: '^[a-z0-9][a-z0-9-]{0,63}$' },
      additionalProperties: {
        type: 'object',
        properties: { appId: word, secret: word },
        required: ['appId', 'secret'],
        additionalProperties: false,
      },
    },
    rule: {
      en: 'use account codes of at most 64 lower-case letters, digits and "-", starting with a letter or digit',
      'zh-CN': '使用由小写字母、数字和“-”组成的账号代码，最多 64 个字符，以字母或数字开头',
    },
    default: {},
    sensitive: true,
    destination: ['platform.social.endpoint'],
    reload: 'live',
  }),
  'platform.social.endpoint': key.url({
    title: { en: 'Address of the WeChat API', 'zh-CN': '微信接口地址' },
    default: 'https://api.weixin.qq.com/',
    reload: 'live',
  }),
  'platform.social.outbound.retention': retentionKey({
    en: 'Retention of the outbound log',
    'zh-CN': '社交消息记录保留时间',
  }),
  ...purgeKeys('platform.social.outbound', { en: 'Interval for removing old entries.', 'zh-CN': '清除旧记录的间隔。' }),
  [tokenKeyName]: declarePluginKey({
    title: { en: 'Encryption key of access tokens', 'zh-CN': '访问令牌的加密密钥' },
    description: {
      en: 'Encrypts the access tokens that instances share. Created automatically with the first access token. Do not set it manually.',
      'zh-CN': '用于加密各实例共享的访问令牌。首次使用时自动生成，无需人工设置。',
    },
  }),
}
