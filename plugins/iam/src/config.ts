import { purgeKeys } from '@plinth/coordination'
import { guardsPermission, key, type LocalizedText } from '@plinth/kernel'

export const maxAttemptsKey = (declared: {
  readonly title: LocalizedText
  readonly description?: LocalizedText
  readonly default: number
}) =>
  key.integer({
    description: { en: '0: unlimited.', 'zh-CN': '0 表示不限。' },
    ...declared,
    minimum: 0,
    maximum: 1_000_000,
    reload: 'live',
    permission: guardsPermission,
  })

export const attemptWindowKey = (declared: {
  readonly title: LocalizedText
  readonly description?: LocalizedText
  readonly default: string
}) => key.duration({ ...declared, minimum: '1s', maximum: '30d', reload: 'live', permission: guardsPermission })

export const keys = {
  'platform.iam.password.policy': key.enum({
    title: { en: 'Password policy', 'zh-CN': '密码策略' },
    description: {
      en: 'low: at least 6 characters. medium: at least 8 characters with a letter and a digit. high: at least 10 characters of three kinds, and well-known passwords are rejected. custom: the minimum length and the pattern of the custom policy apply.',
      'zh-CN':
        'low：至少 6 个字符；medium：至少 8 个字符且含字母和数字；high：至少 10 个字符、含三类字符且不是常见密码；custom：按自定义策略的最短长度和格式。',
    },
    values: ['low', 'medium', 'high', 'custom'],
    default: 'low',
    reload: 'live',
    insecure: {
      is: 'low',
      while: { key: 'platform.iam.password.operator-min-length', is: 0 },
      reason: {
        en: 'Operators can use passwords of 6 characters. Select another policy, or set platform.iam.password.operator-min-length.',
        'zh-CN': '操作员可使用 6 个字符的密码。请更换策略，或设置 platform.iam.password.operator-min-length。',
      },
    },
    permission: guardsPermission,
  }),
  'platform.iam.password.operator-min-length': key.integer({
    title: { en: 'Minimum password length of users with permissions', 'zh-CN': '有权限用户的最短密码长度' },
    description: {
      en: 'Applies in addition to the policy when a password is set. 0: only the policy applies.',
      'zh-CN': '设置密码时在策略之外另行生效。0 表示仅按策略。',
    },
    default: 0,
    minimum: 0,
    maximum: 128,
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.iam.password.reject-well-known': key.boolean({
    title: { en: 'Reject well-known passwords', 'zh-CN': '拒绝常见密码' },
    description: {
      en: 'Rejects passwords that attackers try first, and the user name. The policy high always rejects them.',
      'zh-CN': '拒绝攻击者最先尝试的密码以及用户名。high 策略始终拒绝。',
    },
    default: false,
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.iam.password.min-length': key.integer({
    title: { en: 'Minimum length of the custom policy', 'zh-CN': '自定义策略的最短密码长度' },
    default: 8,
    minimum: 1,
    maximum: 128,
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.iam.password.pattern': key.string({
    title: { en: 'Pattern of the custom policy', 'zh-CN': '自定义策略的密码格式' },
    description: {
      en: 'Regular expression (RE2) that must match a part of the password. Empty: all passwords are allowed. Conditions such as (?=.*[0-9]) are allowed directly after ^. Back-references are not supported.',
      'zh-CN':
        '密码中须有一部分匹配的正则表达式（RE2 语法）；留空表示不限制。(?=.*[0-9]) 之类的条件可紧跟在 ^ 之后；不支持反向引用。',
    },
    default: '',
    maxLength: 500,
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.iam.password.hash.memory': key.bytes({
    title: { en: 'Memory of a password hash', 'zh-CN': '密码散列内存' },
    description: {
      en: 'Memory of argon2id. After a change, stored hashes are renewed at the next login.',
      'zh-CN': 'argon2id 使用的内存；更改后，已存储的散列会在下次登录时更新。',
    },
    default: '19MiB',
    minimum: '1MiB',
    maximum: '1GiB',
    permission: guardsPermission,
  }),
  'platform.iam.password.hash.passes': key.integer({
    title: { en: 'Passes of a password hash', 'zh-CN': '密码散列迭代次数' },
    default: 2,
    minimum: 1,
    maximum: 100,
    permission: guardsPermission,
  }),
  'platform.iam.password.hash.concurrency': key.integer({
    title: { en: 'Maximum concurrent password hashes', 'zh-CN': '同时计算的密码散列数' },
    description: {
      en: 'Applies to each process. Further logins wait. If 100 logins wait, further logins are rejected with 503.',
      'zh-CN': '单个进程的上限。超出的登录会等待；已有 100 个登录等待时，以 503 拒绝。',
    },
    default: 2,
    minimum: 1,
    maximum: 64,
  }),
  'platform.iam.token.lifetime': key.duration({
    title: { en: 'Lifetime of a login', 'zh-CN': '登录有效期' },
    description: {
      en: 'A token expires after this time, even while it is in use. Changes apply to new logins.',
      'zh-CN': '令牌在此时间后过期，即使仍在使用。更改对新登录生效。',
    },
    default: '12h',
    minimum: '1m',
    maximum: '365d',
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.iam.token.idle-timeout': key.duration({
    title: { en: 'Idle timeout of a login', 'zh-CN': '登录闲置超时' },
    description: {
      en: 'A token expires if it is not used for this time. Its use is recorded once per minute.',
      'zh-CN': '令牌在此时间内未使用即过期。使用时间每分钟记录一次。',
    },
    default: '2h',
    minimum: '2m',
    maximum: '365d',
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.iam.token.max-per-user': key.integer({
    title: { en: 'Maximum logins per user', 'zh-CN': '单个用户同时登录数' },
    description: {
      en: 'A further login ends the oldest login of the user.',
      'zh-CN': '超出时，新的登录会结束该用户最早的登录。',
    },
    default: 100,
    minimum: 1,
    maximum: 10_000,
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.iam.fresh-proof.enabled': key.boolean({
    title: { en: 'Ask for a fresh proof of identity', 'zh-CN': '重要操作前再次验证身份' },
    description: {
      en: 'Operations on secrets, permissions, users and money then need a proof of identity of the last 5 minutes in the same session. Changes of second factors and linked identities always need one. API clients get the code 401 with the reason iam.proof-required.',
      'zh-CN':
        '涉及密钥、权限、用户和资金的操作要求同一会话在最近 5 分钟内验证过身份。更改第二因素和关联身份始终需要验证。API 客户端会收到代码 401 和原因 iam.proof-required。',
    },
    default: false,
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.iam.token.cache-size': key.integer({
    title: { en: 'Tokens cached in memory', 'zh-CN': '内存中缓存的令牌数' },
    default: 10_000,
    minimum: 1,
    maximum: 1_000_000,
  }),
  'platform.iam.api-token.max-lifetime': key.duration({
    title: { en: 'Maximum lifetime of an API token', 'zh-CN': 'API 令牌的最长有效期' },
    description: {
      en: 'Users choose the end of their API tokens within this time. A shorter value also ends existing tokens earlier.',
      'zh-CN': '用户在此时间内选择其 API 令牌的到期时间。缩短后，现有令牌也会提前失效。',
    },
    default: '90d',
    minimum: '1d',
    maximum: '365d',
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.iam.api-token.max-per-user': key.integer({
    title: { en: 'Maximum API tokens per user', 'zh-CN': '单个用户的 API 令牌数' },
    description: {
      en: 'Active API tokens of one user. 0: users cannot create API tokens; existing tokens stay valid.',
      'zh-CN': '单个用户有效的 API 令牌数。0 表示不能创建，现有令牌仍有效。',
    },
    default: 20,
    minimum: 0,
    maximum: 1_000,
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.iam.audit.retention': key.duration({
    title: { en: 'Retention of audit records', 'zh-CN': '审计记录保留时间' },
    default: '180d',
    minimum: '1d',
    reload: 'live',
    permission: guardsPermission,
  }),
  ...purgeKeys('platform.iam', {
    en: 'Interval for removing expired sessions and API tokens, and audit records after their retention time.',
    'zh-CN': '清除已过期会话、API 令牌和超期审计记录的间隔。',
  }),
  'platform.iam.auth.login.rate-limit.enabled': key.boolean({
    title: { en: 'Limit logins', 'zh-CN': '登录限流' },
    default: true,
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.iam.auth.login.rate-limit.key-prefix': key.string({
    title: { en: 'Key prefix of login limits', 'zh-CN': '登录限流键前缀' },
    default: 'iam:auth:login',
    minLength: 1,
    maxLength: 100,
    permission: guardsPermission,
  }),
  'platform.iam.auth.login.rate-limit.password.enabled': key.boolean({
    title: { en: 'Limit logins with a password', 'zh-CN': '密码登录限流' },
    default: true,
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.iam.auth.login.rate-limit.password.identifier-max-attempts': maxAttemptsKey({
    title: { en: 'Attempts per account', 'zh-CN': '每个账号的尝试次数' },
    description: {
      en: 'Failed logins within the window. At least 3; smaller values count as 3. 0: unlimited.',
      'zh-CN': '时间窗口内的失败登录次数。至少为 3，更小的值按 3 计。0 表示不限。',
    },
    default: 5,
  }),
  'platform.iam.auth.login.rate-limit.password.identifier-window': attemptWindowKey({
    title: { en: 'Window per account', 'zh-CN': '每个账号的时间窗口' },
    description: { en: 'At most 1 h; larger values count as 1 h.', 'zh-CN': '最长 1 小时，更大的值按 1 小时计。' },
    default: '1m',
  }),
  'platform.iam.auth.login.rate-limit.password.ip-max-attempts': maxAttemptsKey({
    title: { en: 'Attempts per IP address', 'zh-CN': '每个 IP 的尝试次数' },
    default: 20,
  }),
  'platform.iam.auth.login.rate-limit.password.ip-window': attemptWindowKey({
    title: { en: 'Window per IP address', 'zh-CN': '每个 IP 的时间窗口' },
    default: '1m',
  }),
}
