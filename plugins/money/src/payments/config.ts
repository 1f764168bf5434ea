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
