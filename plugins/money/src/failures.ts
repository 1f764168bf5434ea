import { defineBusinessErrors } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

export const businessError = defineBusinessErrors('money', en.money, {
  'posting-invalid': '400',
  'asset-unknown': '400',
  'account-unknown': '404',
  'account-closed': '409',
  'balance-insufficient': '409',
  'balance-limit': '409',
  'journal-unknown': '404',
  'journal-not-reversible': '409',
  'exceeds-journal': '409',
  'hold-unknown': '404',
  'hold-closed': '409',
  'exceeds-hold': '409',
  'idempotency-mismatch': '409',
  'owner-incomplete': '400',
  'reconciliation-unknown': '404',
  busy: '503',
})
