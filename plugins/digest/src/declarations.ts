import { defineBusinessErrors, type PermissionDeclaration } from '@plinth/kernel'
import { permission } from '@plinth/resource'
import { localizedOf } from '@plinth/table'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

export const businessError = defineBusinessErrors('digest', en.digest, {
  'not-found': '404',
  'version-conflict': '409',
  'code-taken': '409',
  'text-missing': '400',
  'slots-missing': '400',
  'window-too-long': '400',
  'definition-missing': '404',
  'not-open': '409',
  'still-open': '409',
})

export const viewDefinitions = permission('digest:definition:view', 'View digests', '查看摘要')
export const manageDefinitions = permission('digest:definition:manage', 'Manage digests', '管理摘要')
export const viewDigests = permission('digest:message:view', 'View collected messages', '查看收集的消息')
export const manageDigests = permission(
  'digest:message:manage',
  'Send or discard collected messages',
  '发送或丢弃收集的消息',
)

/** Permissions that no resource declares. */
export const permissions: readonly PermissionDeclaration[] = [
  viewDefinitions,
  manageDefinitions,
  viewDigests,
  manageDigests,
].map(({ code, title }) => ({ code, displayName: localizedOf(title) }))
