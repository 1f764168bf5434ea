import { type ConfigView, guardsPermission, key, type LocalizedText } from '@plinth/kernel'

const attempts = (title: LocalizedText, standard: number, description: LocalizedText) =>
  key.integer({
    title,
    description,
    default: standard,
    minimum: 0,
    maximum: 1_000_000,
    reload: 'live',
    permission: guardsPermission,
  })

const unlimited = { en: '0: unlimited.', 'zh-CN': '0 表示不限。' }

const window = (title: LocalizedText) =>
  key.duration({ title, default: '5m', minimum: '1s', maximum: '30d', reload: 'live', permission: guardsPermission })

export const keys = {
  'platform.wallet-login.challenge-lifetime': key.duration({
    title: { en: 'Lifetime of a wallet challenge', 'zh-CN': '钱包登录挑战有效期' },
    default: '5m',
    minimum: '10s',
    maximum: '15m',
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.wallet-login.statement': key.string({
    title: { en: 'Statement shown by wallets', 'zh-CN': '钱包中显示的语句' },
    description: {
      en: 'Part of the signed message. One line of ASCII text.',
      'zh-CN': '签名消息的一部分，须为一行 ASCII 文本。',
    },
    default: 'Sign in. This costs nothing and moves no funds.',
    minLength: 1,
    maxLength: 200,
    pattern: '^[ -~]+$',
    rule: { en: 'contain only printable ASCII characters', 'zh-CN': '只含可打印的 ASCII 字符' },
    reload: 'live',
  }),
  'platform.wallet-login.chain-id': key.integer({
    title: { en: 'Chain number in wallet challenges', 'zh-CN': '钱包登录挑战的链编号' },
    description: {
      en: 'Chain number (EIP-155) for callers that do not specify one. An account is the same on all EVM chains.',
      'zh-CN': '调用方未指定时使用的 EIP-155 编号。同一账户在所有 EVM 链上相同。',
    },
    default: 1,
    minimum: 1,
    reload: 'live',
  }),
  'platform.wallet-login.registration-enabled': key.boolean({
    title: { en: 'Registration of new wallets', 'zh-CN': '新钱包自动注册' },
    description: {
      en: 'Off: only wallets with an existing account can log in.',
      'zh-CN': '关闭后，仅已有账户的钱包可以登录。',
    },
    default: true,
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.wallet-login.chain-required': key.boolean({
    title: { en: 'Only this chain', 'zh-CN': '仅限该链' },
    description: {
      en: 'Wallets on another chain must change to this chain before they sign.',
      'zh-CN': '处于其他链的钱包须在签名前切换到该链。',
    },
    default: false,
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.wallet-login.rate-limit.address-max-attempts': attempts(
    { en: 'Failed logins per wallet and network address', 'zh-CN': '每个钱包与 IP 的失败登录次数' },
    10,
    {
      en: `Counted for each wallet and network address, so that other users cannot block the owner of a wallet. A successful login resets the count. ${unlimited.en}`,
      'zh-CN': `按“钱包 + IP”计数，他人无法借此阻止钱包所有者登录；登录成功后清零。${unlimited['zh-CN']}`,
    },
  ),
  'platform.wallet-login.rate-limit.address-window': window({
    en: 'Window per wallet and network address',
    'zh-CN': '每个钱包与 IP 的时间窗口',
  }),
  'platform.wallet-login.rate-limit.ip-max-attempts': attempts(
    { en: 'Attempts per network address', 'zh-CN': '每个 IP 的尝试次数' },
    60,
    {
      en: `Challenges and logins are counted separately. ${unlimited.en}`,
      'zh-CN': `挑战与登录分别计数。${unlimited['zh-CN']}`,
    },
  ),
  'platform.wallet-login.rate-limit.ip-window': window({
    en: 'Window per network address',
    'zh-CN': '每个 IP 的时间窗口',
  }),
  'platform.wallet-login.rate-limit.alert-attempts': attempts(
    { en: 'Attempts that raise an alert', 'zh-CN': '触发告警的尝试次数' },
    1000,
    {
      en: 'Total challenges or logins of all wallets and network addresses within the window per network address. More attempts raise an alert but are not rejected. 0: no alert.',
      'zh-CN': '在每个 IP 的时间窗口内，所有钱包与网络的挑战或登录总数。超过时仅告警，不会拒绝。0 表示不告警。',
    },
  ),
}

export type WalletLoginConfig = ConfigView<typeof keys>
