import { guardsPermission, key } from '@plinth/kernel'

export const keys = {
  'platform.example.mall.currency': key.string({
    title: { en: 'Currency of the mall', 'zh-CN': '商城币种' },
    description: {
      en: 'Currency of all prices. Applies to new orders. Prices are in its minor unit.',
      'zh-CN': '所有价格的币种，对新订单生效；价格以其最小单位计。',
    },
    default: 'CNY',
    pattern: '^[A-Z]{3,8}$',
    rule: { en: 'be a currency code of 3 to 8 capital letters', 'zh-CN': '是 3 至 8 个大写字母的货币代码' },
    reload: 'live',
  }),
  'platform.example.mall.test-payments': key.boolean({
    title: { en: 'Test payments of the mall', 'zh-CN': '商城测试支付' },
    description: {
      en: 'Allows payments with the provider "test", which moves no money. Turn it off if the goods have a value.',
      'zh-CN': '允许使用不产生真实资金流动的 test 渠道支付；商品有价值的环境应关闭。',
    },
    default: false,
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.example.mall.credit-asset': key.string({
    title: { en: 'Credit asset for orders', 'zh-CN': '可抵扣的资产' },
    description: {
      en: 'Ledger asset with which customers can pay part of an order. One unit pays one minor unit of the currency. Empty: no payment with credit.',
      'zh-CN': '客户可用于抵扣订单的账本资产，一个单位抵扣币种的一个最小单位；留空则不支持抵扣。',
    },
    default: '',
    maxLength: 64,
    pattern: '^([a-z0-9][a-z0-9:.-]*)?$',
    rule: {
      en: 'be empty or the code of an asset: lower-case letters, digits, ":", "." and "-", starting with a letter or digit',
      'zh-CN': '为空，或是资产代码：由小写字母、数字和“:”“.”“-”组成，以字母或数字开头',
    },
    reload: 'live',
  }),
  'platform.example.mall.payment-timeout': key.duration({
    title: { en: 'Time to pay an order', 'zh-CN': '订单支付时限' },
    description: {
      en: 'Orders that are not paid within this time are cancelled. Their goods are available again.',
      'zh-CN': '超过该时限未支付的订单会被取消，库存随之释放。',
    },
    default: '30m',
    minimum: '1m',
    maximum: '30d',
    reload: 'live',
  }),
  'platform.example.mall.close-unpaid.fixed-delay': key.duration({
    title: { en: 'Interval for cancelling unpaid orders', 'zh-CN': '未付订单取消间隔' },
    description: {
      en: 'Time between the end of a run and the start of the next run.',
      'zh-CN': '一次执行结束到下一次开始的间隔。',
    },
    default: '1m',
    minimum: '1s',
    reload: 'live',
  }),
  'platform.example.mall.close-unpaid.auto-startup': key.boolean({
    title: { en: 'Cancel unpaid orders automatically', 'zh-CN': '自动取消未付订单' },
    default: true,
    reload: 'live',
  }),
}
