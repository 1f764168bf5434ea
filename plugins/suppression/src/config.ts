import { purgeKeys } from '@plinth/coordination'
import { key } from '@plinth/kernel'
import { declarePluginKey } from '@plinth/system-config'

export const hashKeyName = 'platform.suppression.hash-key'

export const keys = {
  [hashKeyName]: declarePluginKey({
    title: { en: 'Key of suppressed addresses', 'zh-CN': '禁发地址的密钥' },
    description: {
      en: 'Created automatically with the first check and stored encrypted. The list only contains hashes with this key, so without it no entry is found. Do not set it manually.',
      'zh-CN': '首次检查时自动创建并加密存储。名单仅含使用此密钥的哈希值，缺少该密钥则无法匹配任何条目。无需人工设置。',
    },
  }),
  'platform.suppression.retention': key.duration({
    title: { en: 'Retention of ended suppressions', 'zh-CN': '已结束禁发记录的保留时间' },
    description: {
      en: 'Suppressions are removed this long after their end. Those without an end are never removed. Soft bounces are removed after 30 days or after this time, whichever is longer.',
      'zh-CN': '禁发记录在结束后保留的时间；没有结束时间的记录不会清除。软退回记录至少保留 30 天。',
    },
    default: '30d',
    minimum: '0s',
    reload: 'live',
  }),
  ...purgeKeys('platform.suppression', {
    en: 'Interval for removing ended suppressions.',
    'zh-CN': '清除已结束禁发记录的间隔。',
  }),
}
