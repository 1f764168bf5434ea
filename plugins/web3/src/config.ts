import { guardsPermission, key } from '@plinth/kernel'
import { declarePluginKey } from '@plinth/system-config'
import { permissionCodes } from './declarations.ts'

export const secretKeyName = 'platform.web3.secret-key'

export const keys = {
  [secretKeyName]: declarePluginKey({
    title: { en: 'Encryption key of RPC addresses', 'zh-CN': 'RPC 地址的加密密钥' },
    description: {
      en: 'Encrypts the addresses of RPC providers. Created automatically with the first chain and stored encrypted. Do not set it manually.',
      'zh-CN': '用于加密 RPC 服务地址。创建首条链时自动生成并加密存储，无需人工设置。',
    },
  }),
  'platform.web3.contract-wallets.chain': key.string({
    title: { en: 'Chain for contract wallets', 'zh-CN': '合约钱包所在的链' },
    description: {
      en: 'Name of the chain whose contract wallets can verify signatures (EIP-1271), also for login. Only one chain is possible, because on another chain a contract of a different owner can have the same address. Empty: contract wallets are not supported.',
      'zh-CN':
        '填写一条链的名称，验证签名与钱包登录时会询问该链上的合约钱包（EIP-1271）。只能填一条：其他链上相同地址的合约可能属于他人，会被当作同一账户。留空表示不启用。',
    },
    default: '',
    maxLength: 64,
    pattern: '^(?:[a-z0-9][a-z0-9-]*)?$',
    rule: {
      en: 'be empty or the name of a chain: lower-case letters, digits and "-", not starting with "-"',
      'zh-CN': '为空，或是链的名称：由小写字母、数字和“-”组成，不以“-”开头',
    },
    reload: 'live',
    permission: permissionCodes.contractWalletsSave,
  }),
  'platform.web3.rpc.deadline': key.duration({
    title: { en: 'RPC request timeout', 'zh-CN': 'RPC 请求超时时间' },
    description: {
      en: 'If a provider does not respond within this time, the next provider is used.',
      'zh-CN': '超过此时间未响应的服务视为失败，改用下一个服务。',
    },
    default: '5s',
    minimum: '10ms',
    maximum: '1m',
    reload: 'live',
  }),
  'platform.web3.rpc.batch-size': key.integer({
    title: { en: 'Calls per RPC request', 'zh-CN': '每个 RPC 请求的调用数' },
    description: {
      en: 'Number of calls in one batch. Providers reject larger batches than their limit, which is often 100. 1: each call is sent separately.',
      'zh-CN': '合并发送的调用数。超过服务商上限（常见为 100）会被拒绝。1 表示逐个发送。',
    },
    default: 100,
    minimum: 1,
    maximum: 1000,
    reload: 'live',
  }),
  'platform.web3.rpc.max-response-size': key.bytes({
    title: { en: 'Maximum RPC response size', 'zh-CN': 'RPC 响应大小上限' },
    description: {
      en: 'Larger responses are not read. A batch with a larger response is split in two and sent again.',
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
      en: 'Number of RPC providers of a chain that must report the same data of a transaction before it is accepted, for example as paid. 1: a single provider is trusted. A chain with fewer providers returns no data.',
      'zh-CN':
        '同一条链上须有多少个 RPC 服务对交易给出相同结果，该交易才会被采信（例如认定为已付款）。1 表示信任单个服务。服务数不足的链不提供任何结果。',
    },
    default: 1,
    minimum: 1,
    maximum: 10,
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.web3.rpc.breaker.failures': key.integer({
    title: { en: 'Failures before a provider is paused', 'zh-CN': '暂停服务前的连续失败次数' },
    default: 3,
    minimum: 1,
    maximum: 100,
    reload: 'live',
  }),
  'platform.web3.rpc.breaker.pause': key.duration({
    title: { en: 'Pause of a failed provider', 'zh-CN': '失败服务的暂停时间' },
    description: {
      en: 'After the pause, one request tests whether the provider has recovered.',
      'zh-CN': '之后由一个请求试探服务是否恢复。',
    },
    default: '30s',
    minimum: '10ms',
    maximum: '1h',
    reload: 'live',
  }),
}
