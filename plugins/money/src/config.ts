import { purgeKeys } from '@plinth/coordination'
import { guardsPermission, key } from '@plinth/kernel'

export const keys = {
  'platform.money.hold-expiry.fixed-delay': key.duration({
    title: { en: 'Check interval for expired holds', 'zh-CN': '检查到期冻结的间隔' },
    description: {
      en: 'Expired holds are released at this interval. A posting that needs the amount releases them immediately.',
      'zh-CN': '按此间隔将到期的冻结金额退回可用余额。记账需要该金额时会立即退回。',
    },
    default: '1m',
    minimum: '1s',
  }),
  'platform.money.hold-expiry.auto-startup': key.boolean({
    title: { en: 'Release expired holds automatically', 'zh-CN': '自动退回到期冻结' },
    default: true,
  }),
  'platform.money.reconcile.fixed-delay': key.duration({
    title: { en: 'Interval between reconciliations', 'zh-CN': '自动对账间隔' },
    description: {
      en: 'Time between the end of one automatic reconciliation and the start of the next.',
      'zh-CN': '上一次自动对账结束到下一次开始的间隔。',
    },
    default: '1d',
    minimum: '1m',
  }),
  'platform.money.reconcile.auto-startup': key.boolean({
    title: { en: 'Reconcile automatically', 'zh-CN': '自动对账' },
    description: {
      en: 'Compares entries, balances, holds and lots of all accounts. It reads the whole ledger. For a large ledger, leave it off and start reconciliations at quiet times.',
      'zh-CN': '比对所有账户的分录、余额、冻结和批次。会读取整个账本；账本较大时请关闭，并在空闲时手动对账。',
    },
    default: false,
  }),
  'platform.money.reconcile.retention': key.duration({
    title: { en: 'Retention of reconciliations', 'zh-CN': '对账记录保留时间' },
    default: '400d',
    minimum: '1d',
    reload: 'live',
    permission: guardsPermission,
  }),
  ...purgeKeys('platform.money', {
    en: 'Interval for removing reconciliations after their retention time. The ledger itself is not removed.',
    'zh-CN': '清除超期对账记录的间隔。账本本身不会被清除。',
  }),
}
