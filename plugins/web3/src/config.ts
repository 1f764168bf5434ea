import { key } from '@plinth/kernel'
import { pluginKeySetting } from '@plinth/system-config'

export const secretKeyName = 'platform.web3.secret-key'

export const keys = {
  [secretKeyName]: pluginKeySetting({
    title: { en: 'Key of RPC addresses', 'zh-CN': 'RPC 地址的加密密钥' },
    description: {
      en: 'Encrypts the addresses of RPC providers. Made with the first chain and stored encrypted; nobody sets it.',
      'zh-CN': '用于加密 RPC 服务地址。创建首条链时自动生成并加密存储，无需人工设置。',
    },
  }),
  'platform.web3.contract-wallets.chain': key.string({
    title: { en: 'Chain whose contract wallets may sign', 'zh-CN': '允许合约钱包签名的链' },
    description: {
      en: 'Name of the one chain on which wallets that are contracts are asked whether a signature is theirs (EIP-1271), also at login. One only: on another chain somebody else may have a contract at the same address, and would be taken for the same account. Empty: none.',
      'zh-CN':
        '填写一条链的名称，验证签名与钱包登录时会询问该链上的合约钱包（EIP-1271）。只能填一条：其他链上相同地址的合约可能属于他人，会被当作同一账户。留空表示不启用。',
    },
    default: '',
    maxLength: 64,
    pattern: '^(?:[a-z0-9][a-z0-9-]*)?$',
    rule: {
      en: 'be empty or the code of a chain: lower-case letters, digits and "-", no "-" in front',
      'zh-CN': '为空，或是链代码：由小写字母、数字和“-”组成，不以“-”开头',
    },
    reload: 'live',
  }),
  'platform.web3.rpc.deadline': key.duration({
    title: { en: 'Deadline of an RPC request', 'zh-CN': 'RPC 请求时限' },
    description: {
      en: 'A provider that has not answered by then counts as failed, and the next one is asked.',
      'zh-CN': '超过此时间未响应的服务视为失败，改用下一个服务。',
    },
    default: '5s',
    minimum: '10ms',
    maximum: '1m',
    reload: 'live',
  }),
  'platform.web3.rpc.batch-size': key.integer({
    title: { en: 'Calls of an RPC request', 'zh-CN': '每个 RPC 请求的调用数' },
    description: {
      en: 'Calls that are sent together. Providers refuse more than their own limit, often 100. 1: every call alone.',
      'zh-CN': '合并发送的调用数。超过服务商上限（常见为 100）会被拒绝。1 表示逐个发送。',
    },
    default: 100,
    minimum: 1,
    maximum: 1000,
    reload: 'live',
  }),
  'platform.web3.rpc.max-response-size': key.bytes({
    title: { en: 'Largest RPC answer', 'zh-CN': 'RPC 响应大小上限' },
    description: {
      en: 'A longer answer is not read. A batch is asked again in halves.',
      'zh-CN': '更长的响应不会读取；批量请求会拆成两半重新发送。',
    },
    default: '8MiB',
    minimum: '1KiB',
    maximum: '64MiB',
    reload: 'live',
  }),
  'platform.web3.rpc.agreement': key.integer({
    title: { en: 'Providers that must agree', 'zh-CN': '须一致的服务数' },
    description: {
      en: 'RPC providers of a chain that must say the same about a transaction before it counts, for example as paid. 1: one provider is trusted. A chain with fewer providers gives no facts.',
      'zh-CN':
        '同一条链上须有多少个 RPC 服务对交易给出相同结果，该交易才会被采信（例如认定为已付款）。1 表示信任单个服务。服务数不足的链不提供任何结果。',
    },
    default: 1,
    minimum: 1,
    maximum: 10,
    reload: 'live',
  }),
  'platform.web3.rpc.breaker.failures': key.integer({
    title: { en: 'Failures before a provider is left alone', 'zh-CN': '停用服务前的连续失败次数' },
    default: 3,
    minimum: 1,
    maximum: 100,
    reload: 'live',
  }),
  'platform.web3.rpc.breaker.pause': key.duration({
    title: { en: 'Pause of a provider that failed', 'zh-CN': '失败服务的停用时间' },
    description: {
      en: 'After it one request tries whether the provider answers again.',
      'zh-CN': '之后由一个请求试探服务是否恢复。',
    },
    default: '30s',
    minimum: '10ms',
    maximum: '1h',
    reload: 'live',
  }),
}
