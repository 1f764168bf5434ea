import { defineBusinessErrors, type PermissionDeclaration } from '@plinth/kernel'
import { permission } from '@plinth/resource'
import { localizedOf } from '@plinth/table'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

export const businessError = defineBusinessErrors('delivery-receipts', en['delivery-receipts'], {
  'receipt-unknown': '404',
  'confirmation-unknown': '404',
  'version-conflict': '409',
  'confirmation-failed': '503',
})

export const viewReceipts = permission('delivery-receipts:receipt:view', 'View delivery receipts', '查看投递回执')
export const confirmSubscriptions = permission(
  'delivery-receipts:subscription:confirm',
  'Confirm receipt subscriptions',
  '确认回执订阅',
)

export const permissions: readonly PermissionDeclaration[] = [viewReceipts, confirmSubscriptions].map(
  ({ code, title }) => ({ code, displayName: localizedOf(title) }),
)
