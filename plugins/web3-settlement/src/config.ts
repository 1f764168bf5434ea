import { purgeKeys } from '@plinth/coordination'
import { guardsPermission, key } from '@plinth/kernel'

const review = 'platform.money.web3.settlement.review.auto'
const audit = 'platform.money.web3.settlement.audit'
const retry = 'platform.money.web3.settlement.retry'

const live = { reload: 'live' } as const
const recipientKinds = ['', 'user', 'email', 'mobile', 'websocket-user', 'websocket-group', 'topic'] as const

/** Rules for the name of a task. The kernel also rejects a name that another task uses. */
const taskName = {
  maxLength: 128,
  pattern: '^[a-z0-9]+([.-][a-z0-9]+)*$',
  rule: {
    en: 'consist of lower-case words of letters and digits, joined with "." or "-"',
    'zh-CN': '由“.”或“-”连接的小写字母和数字组成',
  },
} as const

/** Configuration keys (document 3 of the specification, "Limits" 4 to 6). */
export const keys = {
  [`${review}.enabled` as const]: key.boolean({
    title: { en: 'Handling of overdue reviews', 'zh-CN': '超时复核处理' },
    default: true,
    ...live,
    permission: guardsPermission,
  }),
  [`${review}.auto-startup` as const]: key.boolean({
    title: { en: 'Handle overdue reviews automatically', 'zh-CN': '自动处理超时复核' },
    default: true,
  }),
  [`${review}.task-name` as const]: key.string({
    title: { en: 'Name of the task that handles overdue reviews', 'zh-CN': '超时复核任务名称' },
    default: 'money.web3.payment-settlement-review.auto-handle',
    ...taskName,
  }),
  [`${review}.fixed-delay` as const]: key.duration({
    title: { en: 'Check interval for overdue reviews', 'zh-CN': '超时复核扫描间隔' },
    default: '5m',
    minimum: '1s',
  }),
  [`${review}.timeout` as const]: key.duration({
    title: { en: 'Time limit of a review', 'zh-CN': '复核时限' },
    description: {
      en: 'A review is overdue when this time has passed since it was saved. Operators need this time to check a review before it is handled automatically.',
      'zh-CN': '自保存起经过此时间即为超时。在自动处理之前，操作员需要这段时间来复核。',
    },
    default: '30m',
    minimum: '1m',
    ...live,
    permission: guardsPermission,
  }),
  [`${review}.action` as const]: key.enum({
    title: { en: 'Action for overdue reviews', 'zh-CN': '超时操作' },
    values: ['auto-approve', 'auto-reject'],
    default: 'auto-approve',
    ...live,
    permission: guardsPermission,
  }),
  [`${review}.execute-approved` as const]: key.boolean({
    insecure: {
      is: true,
      while: { key: 'platform.money.web3.settlement.review.four-eyes', is: false },
      reason: {
        en: 'A user who may only save reviews can cause a settlement: when the time limit has passed, the payment is settled without a user who may execute settlements.',
        'zh-CN': '仅有保存复核权限的用户也能使付款结算：超时后将自动结算，无需具有执行权限的用户参与。',
      },
    },
    title: { en: 'Settle after automatic approval', 'zh-CN': '自动通过后立即结算' },
    description: { en: 'Off: the approval is only recorded.', 'zh-CN': '关闭时仅记录通过。' },
    default: true,
    ...live,
    permission: guardsPermission,
  }),
  [`${review}.limit` as const]: key.integer({
    title: { en: 'Overdue reviews per run', 'zh-CN': '每次处理数量' },
    default: 50,
    minimum: 1,
    maximum: 200,
    ...live,
  }),
  [`${review}.failure-notification.enabled` as const]: key.boolean({
    title: { en: 'Notify when an automatic settlement fails', 'zh-CN': '自动结算失败通知' },
    default: true,
    ...live,
  }),
  [`${review}.failure-notification.channels` as const]: key.stringList({
    title: { en: 'Channels of failure notifications', 'zh-CN': '失败通知渠道' },
    default: ['log'],
    maxItems: 10,
    ...live,
  }),
  [`${review}.failure-notification.subject` as const]: key.string({
    title: { en: 'Subject of failure notifications', 'zh-CN': '失败通知主题' },
    default: 'Web3 payment settlement failed',
    minLength: 1,
    maxLength: 200,
    ...live,
  }),
  [`${review}.failure-notification.recipient-type` as const]: key.enum({
    title: { en: 'Recipient type of failure notifications', 'zh-CN': '失败通知接收人类型' },
    description: { en: 'Empty: the channels need no recipient.', 'zh-CN': '留空表示渠道无需接收人。' },
    values: recipientKinds,
    default: '',
    ...live,
  }),
  [`${review}.failure-notification.recipient-value` as const]: key.string({
    title: { en: 'Recipient of failure notifications', 'zh-CN': '失败通知接收人' },
    description: {
      en: 'User id, address or number, depending on the recipient type.',
      'zh-CN': '按接收人类型填写用户编号、地址或号码。',
    },
    default: '',
    maxLength: 200,
    ...live,
  }),

  'platform.money.web3.settlement.review.four-eyes': key.boolean({
    title: { en: 'Require a second person to settle', 'zh-CN': '须由第二人结算' },
    description: {
      en: 'On: the user who saved a review cannot settle it, and no review is settled automatically without a second person.',
      'zh-CN': '开启后，保存复核的用户不能自行结算，且未经第二人操作的复核不会自动结算。',
    },
    default: false,
    ...live,
    permission: guardsPermission,
  }),
  'platform.money.web3.settlement.block-time-tolerance': key.duration({
    title: { en: 'Block time tolerance', 'zh-CN': '区块时间容差' },
    description: {
      en: 'A transfer requires manual review if its block is earlier than its order by more than this time.',
      'zh-CN': '若转账所在区块早于订单创建时间超过该值，则需要人工复核。',
    },
    default: '5m',
    minimum: '0s',
    ...live,
    permission: guardsPermission,
  }),

  'platform.money.web3.settlement.amount-tolerance': key.integer({
    title: { en: 'Amount tolerance', 'zh-CN': '金额容差' },
    description: {
      en: 'Largest difference between a payment and the amount of its order, in ten-thousandths of this amount. 100 is one percent. The order counts as paid in full; the difference is neither credited nor returned.',
      'zh-CN':
        '付款与订单金额的最大差额，以订单金额的万分之一计，100 即 1%。订单按全额支付处理，差额既不入账也不退还。',
    },
    default: 0,
    minimum: 0,
    maximum: 1_000,
    insecure: {
      isNot: 0,
      reason: {
        en: 'Orders are settled by payments of a different amount. With 0, such payments are listed under unmatched payments.',
        'zh-CN': '金额不同的付款也会结算订单。设为 0 时，此类付款列入未匹配付款。',
      },
    },
    ...live,
    permission: guardsPermission,
  }),
  'platform.money.web3.settlement.unmatched.auto-startup': key.boolean({
    title: { en: 'Search unmatched payments automatically', 'zh-CN': '自动查找未匹配付款' },
    default: true,
  }),
  'platform.money.web3.settlement.unmatched.fixed-delay': key.duration({
    title: { en: 'Delay between searches for unmatched payments', 'zh-CN': '未匹配付款查找间隔' },
    description: {
      en: 'Only transactions that orders name are searched.',
      'zh-CN': '仅查找订单声明的交易。',
    },
    default: '1m',
    minimum: '1s',
  }),

  [`${audit}.enabled` as const]: key.boolean({
    title: { en: 'Audit of settled orders', 'zh-CN': '已结算订单审计' },
    default: true,
    ...live,
    permission: guardsPermission,
  }),
  [`${audit}.auto-startup` as const]: key.boolean({
    title: { en: 'Audit settled orders automatically', 'zh-CN': '自动审计已结算订单' },
    default: true,
    permission: guardsPermission,
  }),
  [`${audit}.task-name` as const]: key.string({
    title: { en: 'Name of the audit task', 'zh-CN': '审计任务名称' },
    default: 'money.web3.payment-settlement.audit',
    ...taskName,
  }),
  [`${audit}.fixed-delay` as const]: key.duration({
    title: { en: 'Delay between audits', 'zh-CN': '审计间隔' },
    default: '30m',
    minimum: '1s',
  }),
  [`${audit}.provider` as const]: key.string({
    title: { en: 'Payment provider of audited orders', 'zh-CN': '审计的支付渠道' },
    default: 'web3',
    minLength: 1,
    maxLength: 32,
    ...live,
    permission: guardsPermission,
  }),
  [`${audit}.limit` as const]: key.integer({
    title: { en: 'Orders per audit', 'zh-CN': '每次审计订单数' },
    description: {
      en: 'Payments of the last day are audited first. The remaining capacity is used for all older orders in turn.',
      'zh-CN': '优先审计最近一天的付款，其余名额依次审计更早的订单。',
    },
    default: 50,
    minimum: 1,
    maximum: 200,
    ...live,
  }),
  [`${audit}.older-than-minutes` as const]: key.integer({
    title: { en: 'Minimum minutes since settlement', 'zh-CN': '结算后最少分钟数' },
    description: {
      en: 'Only orders that were settled at least this long ago are audited.',
      'zh-CN': '仅审计结算时间至少在此之前的订单。',
    },
    default: 60,
    minimum: 0,
    maximum: 525_600,
    ...live,
    permission: guardsPermission,
  }),
  [`${audit}.chain-name` as const]: key.string({
    title: { en: 'Audited chain', 'zh-CN': '审计的链' },
    description: { en: 'Empty: all.', 'zh-CN': '留空表示全部。' },
    default: '',
    maxLength: 64,
    ...live,
    permission: guardsPermission,
  }),
  [`${audit}.required-confirmations` as const]: key.integer({
    title: { en: 'Required confirmations of an audit', 'zh-CN': '审计要求的确认数' },
    description: {
      en: 'If absent, the values of the order and the chain apply.',
      'zh-CN': '未设置时使用订单或链的设置。',
    },
    minimum: 1,
    maximum: 1_000_000,
    ...live,
    permission: guardsPermission,
  }),
  [`${audit}.final-confirmations` as const]: key.integer({
    title: { en: 'Confirmations of a final block', 'zh-CN': '最终区块的确认数' },
    description: {
      en: 'A payment without risk is not audited again when its block has this many confirmations, or when the chain reports the block as final.',
      'zh-CN': '无风险的付款在其区块达到该确认数（或链标记为最终）后不再审计。',
    },
    default: 1000,
    minimum: 1,
    maximum: 10_000_000,
    ...live,
    permission: guardsPermission,
  }),
  [`${audit}.only-risky` as const]: key.boolean({
    title: { en: 'Record only orders at risk', 'zh-CN': '仅记录风险项' },
    default: true,
    ...live,
    permission: guardsPermission,
  }),
  [`${audit}.risk-notification.enabled` as const]: key.boolean({
    title: { en: 'Risk notifications', 'zh-CN': '风险通知' },
    default: true,
    ...live,
    permission: guardsPermission,
  }),
  [`${audit}.risk-notification.channels` as const]: key.stringList({
    title: { en: 'Channels of risk notifications', 'zh-CN': '风险通知渠道' },
    default: ['log'],
    maxItems: 10,
    ...live,
  }),
  [`${audit}.risk-notification.subject` as const]: key.string({
    title: { en: 'Subject of risk notifications', 'zh-CN': '风险通知主题' },
    default: 'Web3 payment settlement audit risk',
    minLength: 1,
    maxLength: 200,
    ...live,
  }),

  [`${retry}.enabled` as const]: key.boolean({
    title: { en: 'Automatic retries of settlements', 'zh-CN': '自动重试结算' },
    default: true,
    ...live,
  }),
  [`${retry}.auto-startup` as const]: key.boolean({
    title: { en: 'Retry settlements automatically', 'zh-CN': '自动执行结算重试' },
    default: true,
  }),
  [`${retry}.task-name` as const]: key.string({
    title: { en: 'Name of the retry task', 'zh-CN': '重试任务名称' },
    default: 'money.web3.payment-settlement.retry',
    ...taskName,
  }),
  [`${retry}.fixed-delay` as const]: key.duration({
    title: { en: 'Delay between retries', 'zh-CN': '重试间隔' },
    default: '5m',
    minimum: '1s',
  }),
  [`${retry}.max-attempts` as const]: key.integer({
    title: { en: 'Maximum automatic retries per order', 'zh-CN': '最大自动重试次数' },
    description: { en: 'Counted for each order and review fingerprint.', 'zh-CN': '按订单和复核指纹计算。' },
    default: 3,
    minimum: 0,
    maximum: 100,
    ...live,
  }),

  'platform.money.web3.settlement.retention': key.duration({
    title: { en: 'Retention of settlement logs', 'zh-CN': '结算日志保留时间' },
    description: {
      en: 'Applies to reviews, settlement attempts, audits and handled unmatched payments.',
      'zh-CN': '适用于复核、结算尝试、审计记录和已处理的未匹配付款。',
    },
    default: '1100d',
    minimum: '1d',
    ...live,
    permission: guardsPermission,
  }),
  ...purgeKeys('platform.money.web3.settlement', {
    en: 'Interval for removing settlement logs after their retention time.',
    'zh-CN': '清除超期结算日志的间隔。',
  }),
}
