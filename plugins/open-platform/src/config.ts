import { purgeKeys } from '@plinth/coordination'
import { key } from '@plinth/kernel'
import { pluginKeySetting } from '@plinth/system-config'

/** Maximum value of a limit column. */
export const largestLimit = 2 ** 31 - 1

export const secretKeyName = 'platform.open-platform.security.secret-key'

export const keys = {
  'platform.open-platform.security.default-rate-limit-per-minute': key.integer({
    title: { en: 'Calls per minute of an application', 'zh-CN': '应用每分钟调用次数' },
    description: {
      en: 'For applications without a limit of their own. 0 or less: unlimited.',
      'zh-CN': '适用于未单独设置限额的应用。0 或负数表示不限。',
    },
    default: 60,
    minimum: -largestLimit,
    maximum: largestLimit,
    reload: 'live',
  }),
  [secretKeyName]: pluginKeySetting({
    title: { en: 'Key of application secrets', 'zh-CN': '应用密钥的加密密钥' },
    description: {
      en: 'Encrypts the secrets of applications. Made with the first application and stored encrypted; nobody sets it.',
      'zh-CN': '用于加密应用密钥。创建首个应用时自动生成并加密存储，无需人工设置。',
    },
  }),
  'platform.open-platform.metering.flush-interval': key.duration({
    title: { en: 'Delay of metering records', 'zh-CN': '计量记录写入延迟' },
    description: {
      en: 'How long accepted calls may wait in memory before they are written. A process that is killed loses those that wait.',
      'zh-CN': '已接受的调用在写入数据库前可在内存中等待的时间。进程被强制终止时，等待中的记录会丢失。',
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
    en: 'How often records past their retention and secrets past their grace period are removed.',
    'zh-CN': '清除超期记录和宽限期已过的旧密钥的间隔。',
  }),
}
