import { purgeKeys } from '@plinth/coordination'
import { key } from '@plinth/kernel'
import { attempts, window } from './sessions/limit-keys.ts'

export const keys = {
  'platform.iam.password.policy': key.enum({
    title: { en: 'Password policy', 'zh-CN': '密码策略' },
    description: {
      en: 'low: 6 characters. medium: 8, with a letter and a digit. high: 10, with three kinds of characters, none of the well-known ones. custom: the two keys below.',
      'zh-CN':
        'low：至少 6 个字符；medium：至少 8 个字符且含字母和数字；high：至少 10 个字符、含三类字符且不是常见密码；custom：按以下两个键。',
    },
    values: ['low', 'medium', 'high', 'custom'],
    default: 'low',
    reload: 'live',
    insecure: {
      is: 'low',
      while: { key: 'platform.iam.password.operator-min-length', is: 0 },
      reason: {
        en: 'Operators may choose passwords of 6 characters. Use another policy, or set platform.iam.password.operator-min-length.',
        'zh-CN': '后台人员可使用 6 个字符的密码。请更换策略，或设置 platform.iam.password.operator-min-length。',
      },
    },
  }),
  'platform.iam.password.operator-min-length': key.integer({
    title: { en: 'Shortest password of accounts with permissions', 'zh-CN': '拥有权限的账号的最短密码长度' },
    description: {
      en: 'Applies in addition to the policy when a password is set. 0: the policy alone decides.',
      'zh-CN': '设置密码时在策略之外生效。0 表示仅由策略决定。',
    },
    default: 0,
    minimum: 0,
    maximum: 128,
    reload: 'live',
  }),
  'platform.iam.password.reject-well-known': key.boolean({
    title: { en: 'Reject well-known passwords', 'zh-CN': '拒绝常见密码' },
    description: {
      en: 'Passwords that guessing programs try first, and the user name. The policy high always rejects them.',
      'zh-CN': '拒绝猜测程序最先尝试的密码以及用户名。high 策略始终拒绝。',
    },
    default: false,
    reload: 'live',
  }),
  'platform.iam.password.min-length': key.integer({
    title: { en: 'Shortest password of the custom policy', 'zh-CN': '自定义策略的最短密码长度' },
    default: 8,
    minimum: 1,
    maximum: 128,
    reload: 'live',
  }),
  'platform.iam.password.pattern': key.string({
    title: { en: 'Pattern of the custom policy', 'zh-CN': '自定义策略的密码格式' },
    description: {
      en: 'Regular expression (RE2) that a password must match somewhere; empty allows all. Conditions such as (?=.*[0-9]) may stand directly after ^; there are no back-references.',
      'zh-CN':
        '密码须匹配的正则表达式（RE2 语法）；留空表示不限制。(?=.*[0-9]) 之类的条件可紧跟在 ^ 之后；不支持反向引用。',
    },
    default: '',
    maxLength: 500,
    reload: 'live',
  }),
  'platform.iam.password.hash.memory': key.bytes({
    title: { en: 'Memory of a password hash', 'zh-CN': '密码散列内存' },
    description: {
      en: 'argon2id memory. Stored hashes are renewed at the next login when it changes.',
      'zh-CN': 'argon2id 使用的内存；更改后，已存储的散列会在下次登录时更新。',
    },
    default: '19MiB',
    minimum: '1MiB',
    maximum: '1GiB',
  }),
  'platform.iam.password.hash.passes': key.integer({
    title: { en: 'Passes of a password hash', 'zh-CN': '密码散列迭代次数' },
    default: 2,
    minimum: 1,
    maximum: 100,
  }),
  'platform.iam.password.hash.concurrency': key.integer({
    title: { en: 'Password hashes at a time', 'zh-CN': '同时计算的密码散列数' },
    description: {
      en: 'Of one process. More logins wait; above 100 waiting ones the answer is "503".',
      'zh-CN': '单个进程的上限。超出的登录会等待；等待数超过 100 时返回 "503"。',
    },
    default: 2,
    minimum: 1,
    maximum: 64,
  }),
  'platform.iam.token.lifetime': key.duration({
    title: { en: 'Lifetime of a login', 'zh-CN': '登录有效期' },
    description: {
      en: 'A token ends after this time, however much it is used. Counts for new logins.',
      'zh-CN': '令牌在此时间后失效，与使用情况无关。对新登录生效。',
    },
    default: '12h',
    minimum: '1m',
    maximum: '365d',
    reload: 'live',
  }),
  'platform.iam.token.idle-timeout': key.duration({
    title: { en: 'Idle timeout of a login', 'zh-CN': '登录闲置超时' },
    description: {
      en: 'A token ends when it is not used for this long. Use is recorded once a minute.',
      'zh-CN': '令牌在此时间内未使用即失效。使用时间每分钟记录一次。',
    },
    default: '2h',
    minimum: '2m',
    maximum: '365d',
    reload: 'live',
  }),
  'platform.iam.token.max-per-user': key.integer({
    title: { en: 'Logins of one user at a time', 'zh-CN': '单个用户同时登录数' },
    description: {
      en: 'A further login ends the oldest one.',
      'zh-CN': '超出时，新的登录会使最早的登录失效。',
    },
    default: 100,
    minimum: 1,
    maximum: 10_000,
    reload: 'live',
  }),
  'platform.iam.token.cache-size': key.integer({
    title: { en: 'Tokens kept in memory', 'zh-CN': '内存中缓存的令牌数' },
    default: 10_000,
    minimum: 1,
    maximum: 1_000_000,
  }),
  'platform.iam.audit.retention': key.duration({
    title: { en: 'Retention of audit records', 'zh-CN': '审计记录保留时间' },
    default: '180d',
    minimum: '1d',
    reload: 'live',
  }),
  ...purgeKeys('platform.iam', {
    en: 'How often tokens that ended and audit records past their retention are removed.',
    'zh-CN': '清除已失效令牌和超期审计记录的间隔。',
  }),
  'platform.iam.auth.login.rate-limit.enabled': key.boolean({
    title: { en: 'Limit logins', 'zh-CN': '登录限流' },
    default: true,
    reload: 'live',
  }),
  'platform.iam.auth.login.rate-limit.key-prefix': key.string({
    title: { en: 'Key prefix of login limits', 'zh-CN': '登录限流键前缀' },
    default: 'iam:auth:login',
    minLength: 1,
    maxLength: 100,
  }),
  'platform.iam.auth.login.rate-limit.password.enabled': key.boolean({
    title: { en: 'Limit logins with a password', 'zh-CN': '密码登录限流' },
    default: true,
    reload: 'live',
  }),
  'platform.iam.auth.login.rate-limit.password.identifier-max-attempts': attempts({
    title: { en: 'Attempts per account', 'zh-CN': '每个账号的尝试次数' },
    default: 5,
  }),
  'platform.iam.auth.login.rate-limit.password.identifier-window': window({
    title: { en: 'Window per account', 'zh-CN': '每个账号的时间窗口' },
    default: '1m',
  }),
  'platform.iam.auth.login.rate-limit.password.ip-max-attempts': attempts({
    title: { en: 'Attempts per address', 'zh-CN': '每个 IP 的尝试次数' },
    default: 20,
  }),
  'platform.iam.auth.login.rate-limit.password.ip-window': window({
    title: { en: 'Window per address', 'zh-CN': '每个 IP 的时间窗口' },
    default: '1m',
  }),
}
