import { defineBusinessErrors } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

export const businessError = defineBusinessErrors('web3', en.web3, {
  'address-invalid': '400',
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
