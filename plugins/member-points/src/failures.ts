import { defineBusinessErrors } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

const chineseKinds: Readonly<Record<string, string>> = zhCN['member-points'].kinds

export const messages = { en, 'zh-CN': zhCN }

const { received, used, held, ...ownKinds } = en['member-points'].kinds

export const kindNames = Object.entries(ownKinds).map(
  ([kind, name]) => [`points.${kind}`, { en: name, 'zh-CN': chineseKinds[kind] ?? name }] as const,
)

/** Codes of this plugin. They are additions to document 1 of the specification, "Errors" 6. */
export const businessError = defineBusinessErrors('member-points', en['member-points'], {
  'rule-unknown': '404',
  'rule-invalid': '400',
  'rule-conflict': '409',
  'rule-disabled': '409',
  'asset-unconfirmed': '400',
  'key-invalid': '400',
  'amount-invalid': '400',
  'position-invalid': '400',
  'user-unknown': '404',
  'user-needed': '403',
  'own-account': '403',
  'account-closed': '409',
  'points-lapsed': '409',
  'order-mismatch': '409',
  'refund-mismatch': '409',
  'refund-exceeds-paid': '409',
  'expiry-running': '409',
})
