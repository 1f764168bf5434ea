import { purgeKeys } from '@plinth/coordination'
import { guardsPermission, key } from '@plinth/kernel'
import { declarePluginKey } from '@plinth/system-config'

/** Maximum value of a column with a limit. */
export const largestLimit = 2 ** 31 - 1

export const secretKeyName = 'platform.open-platform.security.secret-key'

export const keys = {
  'platform.open-platform.security.default-rate-limit-per-minute': key.integer({
    title: { en: 'Calls per application and minute', 'zh-CN': '应用每分钟调用次数' },
    description: {
      en: 'Applies to applications without their own limit. 0 or less means unlimited.',
      'zh-CN': '适用于未单独设置限额的应用。0 或负数表示不限。',
    },
    default: 60,
    minimum: -largestLimit,
    maximum: largestLimit,
    reload: 'live',
    permission: guardsPermission,
  }),
  [secretKeyName]: declarePluginKey({
    title: { en: 'Encryption key of application secrets', 'zh-CN': '应用密钥的加密密钥' },
    description: {
      en: 'Encrypts the secrets of applications. Created automatically with the first application and stored encrypted. Do not set it manually.',
      'zh-CN': '用于加密应用密钥。创建首个应用时自动生成并加密存储，无需人工设置。',
    },
  }),
  'platform.open-platform.metering.flush-interval': key.duration({
    title: { en: 'Write delay of metering records', 'zh-CN': '计量记录写入延迟' },
    description: {
      en: 'Records of accepted calls are written at the latest after this time. If a process is killed, its unwritten records are lost.',
      'zh-CN': '已接受的调用最迟在此时间后写入数据库。进程被强制终止时，尚未写入的记录会丢失。',
    },
    default: '1s',
    minimum: '10ms',
    maximum: '1m',
    reload: 'live',
  }),
  'platform.open-platform.metering.retention': key.duration({
    title: { en: 'Retention of metering records', 'zh-CN': '计量记录保留时间' },
    default: '400d',
    minimum: '1d',
    reload: 'live',
  }),
  ...purgeKeys('platform.open-platform', {
    en: 'Interval for removing records after their retention time and old secrets after their grace period.',
    'zh-CN': '清除超期记录和宽限期已过的旧密钥的间隔。',
  }),
}
