import type { PermissionDeclaration } from '@plinth/kernel'

/** Codes of the permissions of this plugin. */
export const own = {
  chainView: 'web3:chain:view',
  chainSave: 'web3:chain:save',
} as const

export const permissions: readonly PermissionDeclaration[] = [
  {
    code: own.chainView,
    displayName: { en: 'View chains', 'zh-CN': '查看链配置' },
    description: { en: 'Never the addresses of RPC providers.', 'zh-CN': '不含 RPC 服务地址。' },
  },
  {
    code: own.chainSave,
    displayName: { en: 'Set up chains', 'zh-CN': '维护链配置' },
    description: {
      en: 'Providers decide what counts as paid.',
      'zh-CN': 'RPC 服务决定哪些付款被认定为到账。',
    },
  },
]
