import { defineBusinessErrors, type PermissionDeclaration } from '@plinth/kernel'
import { permission } from '@plinth/resource'
import { localizedOf } from '@plinth/table'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

export const businessError = defineBusinessErrors('approval', en.approval, {
  'workflow-unknown': '404',
  'action-unknown': '400',
  'state-not-allowed': '409',
  'permission-missing': '403',
})

export const viewApprovals = permission('approval:instance:view', 'View approvals', '查看审批记录')

export const permissions: readonly PermissionDeclaration[] = [
  { code: viewApprovals.code, displayName: localizedOf(viewApprovals.title) },
]
