import { adminDetail } from '@plinth/admin'
import { bilingual as text } from '@plinth/kernel'

/** Shown below the page of a user. */
const userFactors = adminDetail('getAdminIamUsersByIdAuthenticators', (it) => ({
  id: 'authenticators.user',
  title: text('Passkeys and second factors', '通行密钥与第二因素'),
  param: 'id',
  sections: [
    {
      columns: [
        it.rows('passkeys', (passkey) => [
          passkey.text('name'),
          passkey.time('createdAt', { title: text('Created at', '创建时间') }),
          passkey.time('lastUsedAt'),
          passkey.flag('usable'),
          passkey.flag('synced'),
        ]),
        it.time('totp.since', { title: text('One-time passwords since', '动态口令启用时间') }),
        it.count('recoveryCodes.left', { title: text('Remaining recovery codes', '剩余恢复码') }),
        it.flag('required'),
        it.time('requiredFrom'),
      ],
    },
  ],
  actions: [
    it.action('postAdminIamUsersByIdAuthenticatorsReset', {
      label: text('Reset second factors', '重置第二因素'),
      params: { id: 'userId' },
      confirm: text(
        'For a user who has lost all devices. This removes the passkeys, one-time passwords and recovery codes, and ends all sessions and API tokens of the user. The user is notified.',
        '适用于丢失全部设备的用户。将移除该用户的通行密钥、动态口令和恢复码，结束其全部会话和 API 令牌，并通知该用户。',
      ),
      reason: 'required',
      tone: 'danger',
    }),
  ],
}))

export const pages = [userFactors]
