import { createPurgeTask, rowsBefore } from '@plinth/coordination'
import { type database, firstIdAt } from '@plinth/database'
import type { ScheduledTask } from '@plinth/kernel'
import type { keys } from './config.ts'
import { memberPoints } from './contract.ts'

type Uses = {
  readonly requires: { readonly database: typeof database }
  readonly provides: readonly [typeof memberPoints]
  readonly config: typeof keys
}

export const dayTask: ScheduledTask<Uses> = {
  name: 'member-points.count-days',
  displayName: { en: 'Calculate daily totals of points', 'zh-CN': '按日汇总积分' },
  fixedDelay: 'platform.member-points.days.fixed-delay',
  autoStartup: 'platform.member-points.days.auto-startup',
  irreversible: true,
  async run({ own, signal }) {
    await own(memberPoints).countDays(signal)
  },
}

/**
 * Scheduled task that expires points. Operators may change its name (document 1 of the specification, "Configuration").
 */
export const expiryTask: ScheduledTask<Uses> = {
  name: 'member-points.expire',
  nameFrom: 'platform.member-points.expire.task-name',
  displayName: { en: 'Expire points', 'zh-CN': '积分过期' },
  fixedDelay: 'platform.member-points.expire.fixed-delay',
  autoStartup: 'platform.member-points.expire.auto-startup',
  irreversible: true,
  async run({ own, signal }) {
    signal.throwIfAborted()
    await own(memberPoints).expire(signal)
  },
}

/** Removes old scans. Unfinished scans remain, because a later run continues them. */
export const purgePointsData = createPurgeTask<Uses>('platform.member-points', {
  displayName: { en: 'Remove old expiry runs', 'zh-CN': '清理旧的过期批次' },
  old({ config, clock }) {
    const before = firstIdAt(clock.now() - config.get('platform.member-points.expire.retention'))
    const old = rowsBefore('points_expire_batch', 'id', before)
    return [{ ...old, where: `${old.where} and open_asset is null` }]
  },
})
