import { type ConfigView, key, type LocalizedText } from '@plinth/kernel'

const attempts = (title: LocalizedText, standard: number) =>
  key.integer({
    title,
    description: { en: 'Challenges and logins each. 0: unlimited.', 'zh-CN': '挑战与登录分别计数，0 表示不限。' },
    default: standard,
    minimum: 0,
    maximum: 1_000_000,
    reload: 'live',
  })

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
    { en: 'Attempts per wallet', 'zh-CN': '每个钱包的尝试次数' },
    10,
  ),
  'platform.wallet-login.rate-limit.address-window': window({ en: 'Window per wallet', 'zh-CN': '每个钱包的时间窗口' }),
  'platform.wallet-login.rate-limit.ip-max-attempts': attempts(
    { en: 'Attempts per address of the network', 'zh-CN': '每个 IP 的尝试次数' },
    60,
  ),
  'platform.wallet-login.rate-limit.ip-window': window({
    en: 'Window per address of the network',
    'zh-CN': '每个 IP 的时间窗口',
  }),
}

export type WalletLoginConfig = ConfigView<typeof keys>
