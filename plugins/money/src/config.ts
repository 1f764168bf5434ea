import { purgeKeys } from '@plinth/coordination'
import { key } from '@plinth/kernel'

export const keys = {
  'platform.money.hold-expiry.fixed-delay': key.duration({
    title: { en: 'Delay between looks for expired holds', 'zh-CN': '检查到期冻结的间隔' },
    description: {
      en: 'Holds past their expiry are given back. A posting that needs the amount does so at once, whatever this says.',
      'zh-CN': '将到期的冻结金额退回可用余额。记账需要该金额时会立即退回，不受此间隔影响。',
    },
    default: '1m',
    minimum: '1s',
  }),
  'platform.money.hold-expiry.auto-startup': key.boolean({
    title: { en: 'Give expired holds back by itself', 'zh-CN': '自动退回到期冻结' },
    default: true,
  }),
  'platform.money.reconcile.fixed-delay': key.duration({
    title: { en: 'Delay between reconciliations', 'zh-CN': '自动对账间隔' },
    description: {
      en: 'How long after one that ended the next one begins, where they begin by themselves.',
      'zh-CN': '启用自动对账时，上一次结束到下一次开始的间隔。',
    },
    default: '1d',
    minimum: '1m',
  }),
  'platform.money.reconcile.auto-startup': key.boolean({
    title: { en: 'Reconcile by itself', 'zh-CN': '自动对账' },
    description: {
      en: 'Compares entries, balances, holds and lots of all accounts. It reads everything, so that large ledgers choose their time.',
      'zh-CN': '比对所有账户的分录、余额、冻结和批次。会读取全部数据，数据量大时请自行选择时间。',
    },
    default: false,
  }),
  'platform.money.reconcile.retention': key.duration({
    title: { en: 'Retention of reconciliations', 'zh-CN': '对账记录保留时间' },
    default: '400d',
    minimum: '1d',
    reload: 'live',
  }),
  ...purgeKeys('platform.money', {
    en: 'How often reconciliations past their retention are removed. The ledger itself stays.',
    'zh-CN': '清除超期对账记录的间隔。账本本身不会被清除。',
  }),
}
