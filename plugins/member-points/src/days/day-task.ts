import type { ScheduledTask } from '@plinth/kernel'
import type { keys } from '../config.ts'
import { memberPoints } from '../contract.ts'

type Uses = { readonly provides: readonly [typeof memberPoints]; readonly config: typeof keys }

/** Carries the sums by day on. */
export const dayTask: ScheduledTask<Uses> = {
  name: 'member-points.count-days',
  displayName: { en: 'Add up points by day', 'zh-CN': '按日汇总积分' },
  fixedDelay: 'platform.member-points.days.fixed-delay',
  autoStartup: 'platform.member-points.days.auto-startup',
  irreversible: true,
  async run({ own, signal }) {
    await own(memberPoints).countDays(signal)
  },
}
