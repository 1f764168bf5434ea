import { type ConfigView, key, type LocalizedText } from '@plinth/kernel'

const attempts = (title: LocalizedText, standard: number, description: LocalizedText) =>
  key.integer({
    title,
    description,
    default: standard,
    minimum: 0,
    maximum: 1_000_000,
    reload: 'live',
  })

const unlimited = { en: '0: unlimited.', 'zh-CN': '0 表示不限。' }

const window = (title: LocalizedText) =>
  key.duration({ title, default: '5m', minimum: '1s', maximum: '30d', reload: 'live' })

export const keys = {
  'platform.wallet-login.challenge-lifetime': key.duration({
    title: { en: 'Lifetime of a wallet challenge', 'zh-CN': '钱包登录挑战有效期' },
    default: '5m',
    minimum: '10s',
    maximum: '15m',
    reload: 'live',
  }),
  'platform.wallet-login.statement': key.string({
    title: { en: 'Sentence that wallets show', 'zh-CN': '钱包中显示的语句' },
    description: {
      en: 'Part of the message that is signed. One line of ASCII.',
      'zh-CN': '签名消息的一部分，须为一行 ASCII 文本。',
    },
    default: 'Sign in. This costs nothing and moves no funds.',
    minLength: 1,
    maxLength: 200,
    pattern: '^[ -~]+$',
    rule: { en: 'have only printable ASCII characters', 'zh-CN': '只含可打印的 ASCII 字符' },
    reload: 'live',
  }),
  'platform.wallet-login.chain-id': key.integer({
    title: { en: 'Chain in wallet challenges', 'zh-CN': '钱包登录挑战的链编号' },
    description: {
      en: 'Number (EIP-155) for callers that name none. An account is the same on every EVM chain.',
      'zh-CN': '调用方未指定时使用的 EIP-155 编号。同一账户在所有 EVM 链上相同。',
    },
    default: 1,
    minimum: 1,
    reload: 'live',
  }),
  'platform.wallet-login.registration-enabled': key.boolean({
    title: { en: 'Accounts for new wallets', 'zh-CN': '新钱包自动注册' },
    description: {
      en: 'Off: only wallets that have an account already can sign in.',
      'zh-CN': '关闭后，仅已有账户的钱包可以登录。',
    },
    default: true,
    reload: 'live',
  }),
  'platform.wallet-login.chain-required': key.boolean({
    title: { en: 'This chain alone', 'zh-CN': '仅限该链' },
    description: {
      en: 'Wallets that are on another chain are told to change to this one before they sign.',
      'zh-CN': '钱包处于其他链时，签名前会提示切换到该链。',
    },
    default: false,
    reload: 'live',
  }),
  'platform.wallet-login.rate-limit.address-max-attempts': attempts(
    { en: 'Failed logins per wallet and network address', 'zh-CN': '每个钱包与 IP 的失败登录次数' },
    10,
    {
      en: `Counted for each wallet on each network address, so that nobody can use it up for the owner of a wallet elsewhere. A login that succeeds ends the count. ${unlimited.en}`,
      'zh-CN': `按“钱包 + IP”计数，他人无法在别处耗尽钱包所有者的次数；登录成功后清零。${unlimited['zh-CN']}`,
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
      en: 'Challenges or logins of all wallets and networks together, in the window per network address. More raise an alert; nothing is rejected. 0: no alert.',
      'zh-CN': '在每个 IP 的时间窗口内，所有钱包与网络的挑战或登录总数。超过时仅告警，不会拒绝。0 表示不告警。',
    },
  ),
}

export type WalletLoginConfig = ConfigView<typeof keys>
