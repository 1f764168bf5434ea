import { purgeKeys } from '@plinth/coordination'
import { guardsPermission, key } from '@plinth/kernel'

export const keys = {
  'platform.member-points.time-zone': key.timeZone({
    title: { en: 'Time zone of member points', 'zh-CN': '积分计划时区' },
    description: {
      en: 'Check-in days and the months of the points overview use this time zone. If empty, the time zone of the site applies.',
      'zh-CN': '签到日期和积分月度统计按此时区计算；未设置时使用站点时区。',
    },
    reload: 'live',
  }),
  'platform.member-points.expire.auto-startup': key.boolean({
    title: { en: 'Expire points automatically', 'zh-CN': '自动执行积分过期' },
    description: {
      en: 'Whether the expiry scan starts automatically. Expired points can never be spent, even without a scan.',
      'zh-CN': '是否自动启动过期扫描。即使不扫描，已过期的积分也不能使用。',
    },
    default: true,
  }),
  'platform.member-points.expire.task-name': key.string({
    title: { en: 'Name of the expiry task', 'zh-CN': '过期任务名称' },
    description: {
      en: 'Name of the scheduled task. It must start with "member-points.", so that it differs from the tasks of other plugins.',
      'zh-CN': '定时任务的名称，须以 member-points. 开头，以免与其他插件的任务重名。',
    },
    default: 'member-points.expire',
    maxLength: 64,
    pattern: '^member-points(\\.[a-z0-9]+(-[a-z0-9]+)*)+$',
    rule: {
      en: 'start with "member-points." and consist of lower-case words of letters and digits, joined with "." or "-"',
      'zh-CN': '以“member-points.”开头，并由“.”或“-”连接的小写字母和数字组成',
    },
  }),
  'platform.member-points.expire.fixed-delay': key.duration({
    title: { en: 'Interval between expiry scans', 'zh-CN': '过期扫描间隔' },
    default: '1h',
    minimum: '1m',
  }),
  'platform.member-points.expire.retention': key.duration({
    title: { en: 'Retention of expiry runs', 'zh-CN': '过期批次保留时间' },
    description: {
      en: 'How long the record of a finished scan is kept. The expired points remain in the ledger.',
      'zh-CN': '已完成的过期扫描记录保留多久。过期流水仍保留在账本中。',
    },
    default: '400d',
    minimum: '1d',
    reload: 'live',
  }),
  'platform.member-points.days.fixed-delay': key.duration({
    title: { en: 'Interval between daily totals', 'zh-CN': '每日汇总间隔' },
    description: {
      en: 'The daily totals are ten minutes behind the ledger.',
      'zh-CN': '每日积分汇总比账本滞后十分钟。',
    },
    default: '5m',
    minimum: '1m',
  }),
  'platform.member-points.days.auto-startup': key.boolean({
    title: { en: 'Calculate daily totals automatically', 'zh-CN': '自动按日汇总积分' },
    default: true,
  }),
  'platform.member-points.fresh-proof-above': key.integer({
    title: { en: 'Adjustments that need a fresh proof of identity', 'zh-CN': '需再次验证身份的积分调整' },
    description: {
      en: 'Manual adjustments above this number of points need a recent proof of identity while platform.iam.fresh-proof.enabled is true. 0: all adjustments.',
      'zh-CN':
        '在 platform.iam.fresh-proof.enabled 为 true 时，超过此积分数的手动调整要求最近验证过身份。0 表示所有调整。',
    },
    default: 10_000,
    minimum: 0,
    maximum: 1_000_000_000,
    reload: 'live',
    permission: guardsPermission,
  }),
  ...purgeKeys('platform.member-points', {
    en: 'Interval for removing records of expiry runs after their retention time.',
    'zh-CN': '清除超期过期批次记录的间隔。',
  }),
}
