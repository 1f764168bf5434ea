import { type AuditTexts, defineBusinessErrors, type PermissionDeclaration, bilingual as text } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

export const businessError = defineBusinessErrors('web3', en.web3, {
  'address-invalid': '400',
  'chain-protected': '403',
  'chain-unknown': '404',
  'contract-wallets-protected': '403',
  'chain-taken': '409',
  'chains-too-many': '409',
  'explorer-url-invalid': '400',
  'provider-id-twice': '400',
  'provider-url-missing': '400',
  'provider-url-refused': '400',
  'provider-url-twice': '400',
  'version-conflict': '409',
})

export const permissionCodes = {
  chainView: 'web3:chain:view',
  chainSave: 'web3:chain:save',
  contractWalletsSave: 'web3:contract-wallets:save',
} as const

export const permissions: readonly PermissionDeclaration[] = [
  {
    code: permissionCodes.chainView,
    displayName: { en: 'View chains', 'zh-CN': '查看链配置' },
    description: { en: 'Without the addresses of RPC providers.', 'zh-CN': '不含 RPC 服务地址。' },
  },
  {
    code: permissionCodes.chainSave,
    displayName: { en: 'Set up chains', 'zh-CN': '维护链配置' },
    description: {
      en: 'RPC providers decide which payments are accepted as paid.',
      'zh-CN': 'RPC 服务决定哪些付款被认定为到账。',
    },
  },
  {
    code: permissionCodes.contractWalletsSave,
    displayName: { en: 'Set up the chain of contract wallets', 'zh-CN': '维护合约钱包所在的链' },
    description: {
      en: 'In addition to "Set up chains": create and enable the chain for contract wallets, and change its providers. Its providers decide who can sign in with a contract wallet.',
      'zh-CN': '在“维护链配置”之外，创建和启用合约钱包所在的链，并修改其 RPC 服务。这些服务决定谁能以合约钱包登录。',
    },
  },
]

/** Names of the audited actions, for people. */
export const audited: Readonly<Record<string, AuditTexts>> = {
  'web3-chain': {
    title: text('Chain', '链'),
    page: 'web3.chain',
    nameFrom: 'name',
    facts: {
      name: { title: text('Name', '名称') },
      chainId: { title: text('Chain ID', '链 ID') },
    },
  },
}
