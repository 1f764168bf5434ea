import { defineBusinessErrors } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

export const businessError = defineBusinessErrors('wallet-login', en['wallet-login'], {
  'address-refused': '400',
  'chain-refused': '400',
  'challenge-refused': '401',
  'name-not-bound': '403',
  'registration-closed': '403',
})
