import { type database, purgeOldRows } from '@plinth/database'
import type { ScheduledTask } from '@plinth/kernel'
import type { keys } from './config.ts'

/** Sessions are kept for a day after they ended, for whoever looks into an incident. */
const keptAfterEndMs = 86_400_000

/** An instance that has not looked for so long forgets all that it knows. */
const keptChangesMs = 3_600_000

/** Removes tokens that ended and audit records past their retention. */
export const purgeTask: ScheduledTask<{ readonly database: typeof database }, typeof keys> = {
  name: 'iam.purge',
  displayName: { en: 'Remove ended sessions and old audit records', 'zh-CN': '清除已结束的会话和过期审计记录' },
  fixedDelay: 'platform.iam.purge.fixed-delay',
  autoStartup: 'platform.iam.purge.auto-startup',
  async run({ services: { database }, config, clock, signal }) {
    const now = clock.now()
    const ended = new Date(now - keptAfterEndMs)
    const idle = new Date(now - keptAfterEndMs - config.get('platform.iam.token.idle-timeout'))
    const old = new Date(now - config.get('platform.iam.audit.retention'))
    const ends = [
      ['iam_token', 'expires_at', ended],
      ['iam_token', 'revoked_at', ended],
      ['iam_token', 'last_seen_at', idle],
      ['iam_login_audit', 'occurred_at', old],
      ['iam_audit', 'occurred_at', old],
      ['iam_authority_change', 'changed_at', new Date(now - keptChangesMs)],
    ] as const
    for (const [table, column, before] of ends) {
      const rows = { table, where: `${column} < ?`, parameters: [before], orderBy: column }
      await purgeOldRows(database, rows, { signal })
    }
  },
}
