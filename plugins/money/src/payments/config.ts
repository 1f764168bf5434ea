import { key } from '@plinth/kernel'

export const keys = {
  'platform.money.payments.wallet-asset': key.string({
    title: { en: 'Asset of wallets', 'zh-CN': '钱包资产' },
    description: {
      en: 'Ledger asset that recharges can fill, besides those that other plugins bring. Empty: none.',
      'zh-CN': '除其他插件提供的资产外，可供充值的账本资产；留空则不提供。',
    },
    default: 'wallet:cny',
    maxLength: 64,
    pattern: '^([a-z0-9][a-z0-9:.-]*)?$',
    rule: {
      en: 'be empty or the code of an asset: lower-case letters, digits, ":", "." and "-", a letter or digit in front',
      'zh-CN': '为空，或是资产代码：由小写字母、数字和“:”“.”“-”组成，以字母或数字开头',
    },
    reload: 'restart',
  }),
  'platform.money.payments.wallet-scale': key.integer({
    title: { en: 'Decimal places of wallets', 'zh-CN': '钱包小数位数' },
    description: {
      en: 'Of the minor unit of the wallet asset: 2 where it is a hundredth.',
      'zh-CN': '钱包资产最小单位的小数位数：百分之一为 2。',
    },
    default: 2,
    minimum: 0,
    maximum: 18,
    reload: 'restart',
  }),
}
