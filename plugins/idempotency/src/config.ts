import { key } from '@plinth/kernel'
import { pluginKeySetting } from '@plinth/system-config'

export const secretKeyName = 'platform.idempotency.secret-key'

export const keys = {
  'platform.idempotency.retention': key.duration({
    title: { en: 'Retention of answers', 'zh-CN': '应答保留时间' },
    description: {
      en: 'How long a call under the same idempotency key is answered as the first one was. After it the call is carried out again.',
      'zh-CN': '在此时间内，使用相同幂等键的调用会得到首次调用的应答；超过后将重新执行。',
    },
    default: '24h',
    minimum: '1m',
    maximum: '30d',
    reload: 'live',
  }),
  'platform.idempotency.lease': key.duration({
    title: { en: 'Lease of a running call', 'zh-CN': '执行中调用的租约' },
    description: {
      en: 'How long a key stays taken by a call whose process died. A call that is still running renews it.',
      'zh-CN': '进程异常终止后，其执行中的调用仍占用幂等键的时间；正在执行的调用会自动续租。',
    },
    default: '1m',
    minimum: '1s',
    maximum: '1h',
    reload: 'live',
  }),
  [secretKeyName]: pluginKeySetting({
    title: { en: 'Key of kept answers', 'zh-CN': '保留应答的加密密钥' },
    description: {
      en: 'Encrypts the answers that are kept. Made with the first answer and stored encrypted; nobody sets it.',
      'zh-CN': '用于加密保留的应答。首次保留应答时自动生成并加密存储，无需人工设置。',
    },
  }),
}
