import { createPurgeTask, rowsBefore } from '@plinth/coordination'
import type { database } from '@plinth/database'
import type { keys } from './config.ts'

/** Time in milliseconds for which ended sessions and API tokens are kept, so that incidents can be investigated: one day. */
const keptAfterEndMs = 86_400_000

/**
 * Retention of permission changes in milliseconds. If an instance finds that changes are missing, it clears its cache
 * of users.
 */
const keptChangesMs = 3_600_000

/** Time in milliseconds after which a device that was not used is forgotten: 400 days, like its cookie. */
const keptDevicesMs = 400 * 86_400_000

type Uses = { requires: { database: typeof database }; config: typeof keys }

export const purgeIdentityData = createPurgeTask<Uses>('platform.iam', {
  displayName: {
    en: 'Remove ended sessions, ended API tokens and old audit records',
    'zh-CN': '清除已结束的会话、已失效的 API 令牌和过期审计记录',
  },
  old({ config, clock }) {
    const now = clock.now()
    const ended = new Date(now - keptAfterEndMs)
    const idle = new Date(now - keptAfterEndMs - config.get('platform.iam.token.idle-timeout'))
    const old = new Date(now - config.get('platform.iam.audit.retention'))
    return [
      rowsBefore('iam_token', 'expires_at', ended),
      rowsBefore('iam_token', 'revoked_at', ended),
      rowsBefore('iam_token', 'last_seen_at', idle),
      rowsBefore('iam_pending_sign_in', 'expires_at', new Date(now)),
      rowsBefore('iam_api_token', 'expires_at', ended),
      rowsBefore('iam_api_token', 'revoked_at', ended),
      rowsBefore('iam_login_audit', 'occurred_at', old),
      rowsBefore('iam_audit', 'occurred_at', old),
      rowsBefore('iam_known_device', 'last_seen_at', new Date(now - keptDevicesMs)),
      rowsBefore('iam_authority_change', 'changed_at', new Date(now - keptChangesMs)),
    ]
  },
})
