import type { ScheduledTask } from '@plinth/kernel'
import type { keys } from '../config.ts'
import { memberPoints } from '../contract.ts'

type Uses = { readonly provides: readonly [typeof memberPoints]; readonly config: typeof keys }

/** The periodic scan for points that have lapsed; operators may rename it (document 1, "Configuration"). */
export const expiryTask: ScheduledTask<Uses> = {
  name: 'member-points.expire',
  nameFrom: 'platform.member-points.expire.task-name',
  displayName: { en: 'Let points lapse', 'zh-CN': '积分过期' },
  fixedDelay: 'platform.member-points.expire.fixed-delay',
  autoStartup: 'platform.member-points.expire.auto-startup',
  irreversible: true,
  async run({ own, signal }) {
    await own(memberPoints).expire(signal)
  },
}
