import { purgeKeys } from '@plinth/coordination'
import { key } from '@plinth/kernel'

const review = 'platform.money.web3.settlement.review.auto'
const audit = 'platform.money.web3.settlement.audit'
const retry = 'platform.money.web3.settlement.retry'

const live = { reload: 'live' } as const
const recipientKinds = ['', 'user', 'email', 'mobile', 'websocket-user', 'websocket-group', 'topic'] as const

/** Rule for the name of a scheduled task. The kernel rejects a name that another task has. */
const taskName = {
  maxLength: 128,
  pattern: '^[a-z0-9]+([.-][a-z0-9]+)*$',
  rule: {
    en: 'have lower-case words of letters and digits, joined with "." or "-"',
    'zh-CN': '由“.”或“-”连接的小写字母和数字组成',
  },
} as const

/** Document 3, "Limits" 4 to 6, and decision B49. */
export const keys = {
  [`${review}.enabled` as const]: key.boolean({
    title: { en: 'Handling of overdue reviews', 'zh-CN': '超时复核处理' },
    default: true,
    ...live,
  }),
  [`${review}.auto-startup` as const]: key.boolean({
    title: { en: 'Handle overdue reviews by itself', 'zh-CN': '自动处理超时复核' },
    default: true,
  }),
  [`${review}.task-name` as const]: key.string({
    title: { en: 'Name of the task that handles overdue reviews', 'zh-CN': '超时复核任务名称' },
    default: 'money.web3.payment-settlement-review.auto-handle',
    ...taskName,
  }),
  [`${review}.fixed-delay` as const]: key.duration({
    title: { en: 'Delay between looks for overdue reviews', 'zh-CN': '超时复核扫描间隔' },
    default: '5m',
    minimum: '1s',
  }),
  [`${review}.timeout` as const]: key.duration({
    title: { en: 'When a review is overdue', 'zh-CN': '人工复核超时' },
    description: {
      en: 'Time since it was saved. Operators need this time to look at a review before it is handled automatically.',
      'zh-CN': '自保存起计算。在自动处理之前，操作人员需要这段时间来复核。',
    },
    default: '30m',
    minimum: '1m',
    ...live,
  }),
  [`${review}.action` as const]: key.enum({
    title: { en: 'What becomes of an overdue review', 'zh-CN': '超时操作' },
    values: ['auto-approve', 'auto-reject'],
    default: 'auto-approve',
    ...live,
  }),
  [`${review}.execute-approved` as const]: key.boolean({
    insecure: {
      is: true,
      while: { key: 'platform.money.web3.settlement.review.four-eyes', is: false },
      reason: {
        en: 'A user who may only save reviews has payments settled when the time is up, without anybody who may execute settlements.',
        'zh-CN': '仅有保存复核权限的用户，可在超时后使付款结算，而无需具有执行权限的人员参与。',
      },
    },
    title: { en: 'Settle what was approved by itself', 'zh-CN': '自动通过后立即结算' },
    description: { en: 'Off: the approval is only written down.', 'zh-CN': '关闭时仅写入审计。' },
    default: true,
    ...live,
  }),
  [`${review}.limit` as const]: key.integer({
    title: { en: 'Overdue reviews of one run', 'zh-CN': '每次处理数量' },
    default: 50,
    minimum: 1,
    maximum: 200,
    ...live,
  }),
  [`${review}.failure-notification.enabled` as const]: key.boolean({
    title: { en: 'Tell when settling by itself did not work', 'zh-CN': '自动结算失败通知' },
    default: true,
    ...live,
  }),
  [`${review}.failure-notification.channels` as const]: key.stringList({
    title: { en: 'Channels of these notices', 'zh-CN': '失败通知渠道' },
    default: ['log'],
    maxItems: 10,
    ...live,
  }),
  [`${review}.failure-notification.subject` as const]: key.string({
    title: { en: 'Subject of these notices', 'zh-CN': '失败通知主题' },
    default: 'Web3 payment settlement failed',
    minLength: 1,
    maxLength: 200,
    ...live,
  }),
  [`${review}.failure-notification.recipient-type` as const]: key.enum({
    title: { en: 'Kind of recipient of these notices', 'zh-CN': '失败通知接收人类型' },
    description: { en: 'Empty: the channels need none.', 'zh-CN': '留空表示渠道无需接收人。' },
    values: recipientKinds,
    default: '',
    ...live,
  }),
  [`${review}.failure-notification.recipient-value` as const]: key.string({
    title: { en: 'Recipient of these notices', 'zh-CN': '失败通知接收人' },
    description: { en: 'User id, address or number, as the kind says.', 'zh-CN': '按类型填写用户 ID、地址或号码。' },
    default: '',
    maxLength: 200,
    ...live,
  }),

  'platform.money.web3.settlement.review.four-eyes': key.boolean({
    title: { en: 'A second person has to settle', 'zh-CN': '须由第二人结算' },
    description: {
      en: 'On: the user who saved a review cannot settle it, and no review is settled automatically without a second person.',
      'zh-CN': '开启后，保存复核的用户不能自行结算，且未经第二人操作的复核不会自动结算。',
    },
    default: false,
    ...live,
  }),
  'platform.money.web3.settlement.block-time-tolerance': key.duration({
    title: { en: 'Tolerance of block times', 'zh-CN': '区块时间容差' },
    description: {
      en: 'A transfer whose block is earlier than its order by more than this time needs a person.',
      'zh-CN': '若转账所在区块早于订单创建时间超过该值，则需要人工处理。',
    },
    default: '5m',
    minimum: '0s',
    ...live,
  }),

  [`${audit}.enabled` as const]: key.boolean({
    title: { en: 'Audit of settled orders', 'zh-CN': '已结算订单审计' },
    default: true,
    ...live,
  }),
  [`${audit}.auto-startup` as const]: key.boolean({
    title: { en: 'Audit settled orders by itself', 'zh-CN': '自动审计已结算订单' },
    default: true,
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
  }),
  [`${audit}.limit` as const]: key.integer({
    title: { en: 'Orders of one audit', 'zh-CN': '每次审计订单数' },
    description: {
      en: 'Payments of the last day come first. The rest of an audit walks over all older orders.',
      'zh-CN': '优先审计最近一天的付款，其余名额依次审计更早的订单。',
    },
    default: 50,
    minimum: 1,
    maximum: 200,
    ...live,
  }),
  [`${audit}.older-than-minutes` as const]: key.integer({
    title: { en: 'Minutes since the settlement', 'zh-CN': '结算后最少分钟数' },
    description: { en: 'Only orders that were settled before are audited.', 'zh-CN': '仅审计更早结算的订单。' },
    default: 60,
    minimum: 0,
    maximum: 525_600,
    ...live,
  }),
  [`${audit}.chain-name` as const]: key.string({
    title: { en: 'Audited chain', 'zh-CN': '审计的链' },
    description: { en: 'Empty: all.', 'zh-CN': '留空表示全部。' },
    default: '',
    maxLength: 64,
    ...live,
  }),
  [`${audit}.required-confirmations` as const]: key.integer({
    title: { en: 'Confirmations that an audit asks for', 'zh-CN': '审计要求的确认数' },
    description: { en: 'Absent: those of order and chain.', 'zh-CN': '未设置时使用订单或链的设置。' },
    minimum: 1,
    maximum: 1_000_000,
    ...live,
  }),
  [`${audit}.final-confirmations` as const]: key.integer({
    title: { en: 'Confirmations of a final block', 'zh-CN': '最终区块的确认数' },
    description: {
      en: 'A payment without a risk is not audited again once its block has so many confirmations, or is finalized where the chain says so.',
      'zh-CN': '无风险的付款在其区块达到该确认数（或链标记为最终）后不再审计。',
    },
    default: 1000,
    minimum: 1,
    maximum: 10_000_000,
    ...live,
  }),
  [`${audit}.only-risky` as const]: key.boolean({
    title: { en: 'Write risky findings only', 'zh-CN': '仅记录风险项' },
    default: true,
    ...live,
  }),
  [`${audit}.risk-notification.enabled` as const]: key.boolean({
    title: { en: 'Tell of risks', 'zh-CN': '风险通知' },
    default: true,
    ...live,
  }),
  [`${audit}.risk-notification.channels` as const]: key.stringList({
    title: { en: 'Channels of risk notices', 'zh-CN': '风险通知渠道' },
    default: ['log'],
    maxItems: 10,
    ...live,
  }),
  [`${audit}.risk-notification.subject` as const]: key.string({
    title: { en: 'Subject of risk notices', 'zh-CN': '风险通知主题' },
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
    title: { en: 'Retry settlements by itself', 'zh-CN': '自动启动结算重试' },
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
    title: { en: 'Automatic retries of an order, at most', 'zh-CN': '最大自动重试次数' },
    description: { en: 'Counted for each fingerprint.', 'zh-CN': '按订单和指纹计算。' },
    default: 3,
    minimum: 0,
    maximum: 100,
    ...live,
  }),

  'platform.money.web3.settlement.retention': key.duration({
    title: { en: 'Retention of settlement logs', 'zh-CN': '结算日志保留时间' },
    description: { en: 'Of reviews, tries to settle and audits.', 'zh-CN': '适用于复核、结算尝试和审计记录。' },
    default: '1100d',
    minimum: '1d',
    ...live,
  }),
  ...purgeKeys('platform.money.web3.settlement', {
    en: 'How often settlement logs past their retention are removed.',
    'zh-CN': '清除超期结算日志的间隔。',
  }),
}
