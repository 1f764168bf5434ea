import { key } from '@plinth/kernel'

export const keys = {
  'platform.money.payments.wallet-asset': key.string({
    title: { en: 'Wallet asset', 'zh-CN': '钱包资产' },
    description: {
      en: 'Ledger asset for recharges, in addition to the assets that other plugins provide. Empty: no additional asset.',
      'zh-CN': '除其他插件提供的资产外，可供充值的账本资产；留空则不增加。',
    },
    default: 'wallet:cny',
    maxLength: 64,
    pattern: '^([a-z0-9][a-z0-9:.-]*)?$',
    rule: {
      en: 'be empty or the code of an asset: lower-case letters, digits, ":", "." and "-", starting with a letter or digit',
      'zh-CN': '为空，或是资产代码：由小写字母、数字和“:”“.”“-”组成，以字母或数字开头',
    },
    reload: 'restart',
  }),
  'platform.money.payments.wallet-scale': key.integer({
    title: { en: 'Wallet decimal places', 'zh-CN': '钱包小数位数' },
    description: {
      en: 'Decimal places of the minor unit of the wallet asset. 2 means that the minor unit is one hundredth.',
      'zh-CN': '钱包资产最小单位的小数位数：2 表示最小单位为百分之一。',
    },
    default: 2,
    minimum: 0,
    maximum: 18,
    reload: 'restart',
  }),
}
