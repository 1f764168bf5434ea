import { key } from '@plinth/kernel'

export const keys = {
  'platform.example.checkout.chain': key.string({
    title: { en: 'Chain of the checkout', 'zh-CN': '结账所用的链' },
    description: {
      en: 'Name of the chain that new orders are paid on. Empty: nothing can be bought.',
      'zh-CN': '新订单付款所在链的名称；留空则无法下单。',
    },
    ...{ default: '', maxLength: 64, reload: 'live' },
  }),
  'platform.example.checkout.token': key.string({
    title: { en: 'Token of the checkout', 'zh-CN': '结账代币合约' },
    description: {
      en: 'Address of the contract of the token that new orders are paid in.',
      'zh-CN': '新订单付款所用代币的合约地址。',
    },
    ...{ default: '', maxLength: 42, reload: 'live' },
  }),
  'platform.example.checkout.token-decimals': key.integer({
    title: { en: 'Decimals of the token', 'zh-CN': '代币小数位数' },
    description: {
      en: 'A price of 1.00 is paid by one whole token: 10 to the power of this many units.',
      'zh-CN': '价格 1.00 对应一个完整代币，即 10 的该次方个最小单位。',
    },
    ...{ default: 6, minimum: 2, maximum: 36, reload: 'live' },
  }),
  'platform.example.checkout.receiver': key.string({
    title: { en: 'Receiver of the payments', 'zh-CN': '收款地址' },
    description: {
      en: 'Address that the token of new orders has to be sent to. The product never has its key.',
      'zh-CN': '新订单付款的收款地址；本产品不持有其私钥。',
    },
    ...{ default: '', maxLength: 42, reload: 'live' },
  }),
}
