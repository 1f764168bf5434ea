import { defineBusinessErrors, type PermissionDeclaration } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

export const businessError = defineBusinessErrors('approval', en.approval, {
  'workflow-unknown': '404',
  'action-unknown': '400',
  'state-not-allowed': '409',
  'permission-missing': '403',
})

export const permissionCodes = { instanceView: 'approval:instance:view' } as const

export const permissions: readonly PermissionDeclaration[] = [
  { code: permissionCodes.instanceView, displayName: { en: 'View approvals', 'zh-CN': '查看审批记录' } },
]
