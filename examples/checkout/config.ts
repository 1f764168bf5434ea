import { key } from '@plinth/kernel'

export const keys = {
  'platform.example.checkout.chain': key.string({
    title: { en: 'Chain of the checkout', 'zh-CN': '结账所用的链' },
    description: {
      en: 'Name of the chain for payments of new orders. Empty: no orders can be placed.',
      'zh-CN': '新订单付款所在链的名称；留空则无法下单。',
    },
    default: '',
    maxLength: 64,
    reload: 'live',
  }),
  'platform.example.checkout.token': key.string({
    title: { en: 'Token of the checkout', 'zh-CN': '结账代币合约' },
    description: {
      en: 'Contract address of the token for payments of new orders.',
      'zh-CN': '新订单付款所用代币的合约地址。',
    },
    default: '',
    maxLength: 42,
    reload: 'live',
  }),
  'platform.example.checkout.token-decimals': key.integer({
    title: { en: 'Decimals of the token', 'zh-CN': '代币小数位数' },
    description: {
      en: 'A price of 1.00 is one whole token, that is 10 to the power of this number in token units.',
      'zh-CN': '价格 1.00 对应一个完整代币，即 10 的该次方个最小单位。',
    },
    default: 6,
    minimum: 2,
    maximum: 36,
    reload: 'live',
  }),
  'platform.example.checkout.receiver': key.string({
    title: { en: 'Receiver of payments', 'zh-CN': '收款地址' },
    description: {
      en: 'Address that receives the tokens of new orders. The product does not have its private key.',
      'zh-CN': '新订单付款的收款地址；本产品不持有其私钥。',
    },
    default: '',
    maxLength: 42,
    reload: 'live',
  }),
  'platform.example.checkout.payment-timeout': key.duration({
    title: { en: 'Time to pay an order', 'zh-CN': '订单支付时限' },
    description: {
      en: 'Orders without a submitted transaction are closed after this time.',
      'zh-CN': '超过该时限仍未声明交易的订单会被关闭。',
    },
    default: '1h',
    minimum: '1m',
    maximum: '30d',
    reload: 'live',
  }),
  'platform.example.checkout.amount-release': key.duration({
    title: { en: 'Reservation of amounts after closing', 'zh-CN': '金额再次使用前的等待时间' },
    description: {
      en: 'The amount of a closed order stays reserved for this time, so that a late payment does not match another order.',
      'zh-CN': '订单关闭后，其金额在该时间内保留；期间到达的付款不会匹配其他订单。',
    },
    default: '7d',
    minimum: '1h',
    maximum: '365d',
    reload: 'live',
  }),
  'platform.example.checkout.close-unpaid.fixed-delay': key.duration({
    title: { en: 'Interval for closing unpaid orders', 'zh-CN': '未付订单关闭间隔' },
    description: {
      en: 'Time between the end of a run and the start of the next run.',
      'zh-CN': '一次执行结束到下一次开始的间隔。',
    },
    default: '1m',
    minimum: '1s',
    reload: 'live',
  }),
  'platform.example.checkout.close-unpaid.auto-startup': key.boolean({
    title: { en: 'Close unpaid orders automatically', 'zh-CN': '自动关闭未付订单' },
    description: {
      en: 'If it is off, unpaid orders keep their amounts until the task is started manually.',
      'zh-CN': '关闭后，未付订单会一直占用其金额，直到手动运行该任务。',
    },
    default: true,
    reload: 'live',
  }),
}
