import { purgeKeys } from '@plinth/coordination'
import { key } from '@plinth/kernel'
import { declarePluginKey } from '@plinth/system-config'

export const secretKeyName = 'platform.idempotency.secret-key'

export const keys = {
  'platform.idempotency.retention': key.duration({
    title: { en: 'Retention of responses', 'zh-CN': '响应保留时间' },
    description: {
      en: 'Within this time, a repeated call with the same idempotency key returns the response of the first call. After this time, the call is executed again.',
      'zh-CN': '在此时间内，使用相同幂等键的重复调用会得到首次调用的响应；超过后将重新执行。',
    },
    default: '24h',
    minimum: '1m',
    maximum: '30d',
    reload: 'live',
  }),
  'platform.idempotency.lease': key.duration({
    title: { en: 'Lease of a running call', 'zh-CN': '执行中调用的租约' },
    description: {
      en: 'If a process stops unexpectedly, the idempotency key of its call stays blocked for this time. A running call renews the lease.',
      'zh-CN': '进程异常终止后，其执行中的调用仍占用幂等键的时间；正在执行的调用会自动续租。',
    },
    default: '1m',
    minimum: '1s',
    maximum: '1h',
    reload: 'live',
  }),
  ...purgeKeys('platform.idempotency', {
    en: 'Interval for removing idempotency keys after the retention time of their responses.',
    'zh-CN': '清除超过响应保留时间的幂等键的间隔。',
  }),
  [secretKeyName]: declarePluginKey({
    title: { en: 'Encryption key of stored responses', 'zh-CN': '存储响应的加密密钥' },
    description: {
      en: 'Encrypts stored responses. Created automatically with the first response and stored encrypted. Do not set it manually.',
      'zh-CN': '用于加密存储的响应。首次存储响应时自动生成并加密存储，无需人工设置。',
    },
  }),
}
