import { type Database, personalTable } from '@plinth/database'
import { bilingual, type PersonalTable } from '@plinth/kernel'
import { ApiTokenRow } from '../api-tokens/entities.ts'
import {
  Audit,
  AuthorityChange,
  ExternalIdentityRow,
  KnownDevice,
  LoginAuditRow,
  PendingSignIn,
  Token,
  User,
  UserRole,
} from '../entities.ts'

const evidence = bilingual(
  'Evidence of administrative actions, until the retention time of the audit. The user id no longer identifies a person.',
  '管理操作的证据，保留至审计保留时间结束。用户编号不再指向任何人。',
)

/**
 * Returns the table with an `erase` that does nothing. The last transaction of an erasure deletes these rows together
 * with the account.
 */
const withAccount = (table: PersonalTable): PersonalTable => ({ ...table, erase: async () => 0 })

export const iamTables = (db: Database): readonly PersonalTable[] => [
  personalTable(db, LoginAuditRow, {
    title: bilingual('Sign-in attempts', '登录记录'),
    owner: 'user_id',
    erasure: 'anonymised',
    set: { identifier: '', clientIp: '', userAgent: '', userId: null },
    reason: bilingual(
      'Attempts are counted to find attacks, until the retention time of the audit.',
      '用于统计登录尝试以发现攻击，保留至审计保留时间结束。',
    ),
  }),
  personalTable(db, Audit, {
    title: bilingual('Actions of the user', '用户的操作'),
    owner: 'actor_user_id',
    // These columns describe the target of the action, which may be another user. The export must not contain that
    // user's data.
    omit: ['targetName', 'summary'],
    erasure: 'anonymised',
    set: { clientIp: '' },
    reason: evidence,
  }),
  personalTable(db, Audit, {
    title: bilingual('Actions on the account', '对账户的操作'),
    owner: { type: 'target_type', id: 'target_id' },
    // These columns describe the actor, who may be another user. The export must not contain that user's data.
    omit: ['actor', 'actorUserId', 'clientIp'],
    erasure: 'anonymised',
    set: { targetName: null, summary: {}, reason: null },
    reason: evidence,
  }),
  personalTable(db, AuthorityChange, {
    title: bilingual('Changes of permissions', '权限变更'),
    owner: 'user_id',
    erasure: 'kept',
    reason: bilingual(
      'Other instances learn from them that permissions were revoked. Removed after one hour.',
      '其他实例据此得知权限已被撤销，一小时后清除。',
    ),
  }),
  withAccount(
    personalTable(db, Token, {
      title: bilingual('Sessions', '会话'),
      owner: 'user_id',
      omit: ['tokenHash'],
      erasure: 'removed',
    }),
  ),
  withAccount(
    personalTable(db, PendingSignIn, {
      title: bilingual('Unfinished sign-ins', '未完成的登录'),
      owner: 'user_id',
      omit: ['tokenHash', 'state'],
      erasure: 'removed',
    }),
  ),
  withAccount(
    personalTable(db, KnownDevice, {
      title: bilingual('Known devices', '已知设备'),
      owner: 'user_id',
      omit: ['secretHash'],
      erasure: 'removed',
    }),
  ),
  withAccount(
    personalTable(db, ApiTokenRow, {
      title: bilingual('API tokens', 'API 令牌'),
      owner: 'user_id',
      omit: ['tokenHash'],
      erasure: 'removed',
    }),
  ),
  withAccount(personalTable(db, UserRole, { title: bilingual('Roles', '角色'), owner: 'user_id', erasure: 'removed' })),
  withAccount(
    personalTable(db, ExternalIdentityRow, {
      title: bilingual('External identities', '外部身份'),
      owner: 'user_id',
      erasure: 'removed',
    }),
  ),
  withAccount(
    personalTable(db, User, {
      title: bilingual('Account', '账户'),
      owner: 'id',
      omit: ['usernameKey', 'emailKey', 'emailFolded', 'passwordHash'],
      erasure: 'removed',
    }),
  ),
]
