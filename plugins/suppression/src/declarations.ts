import { defineBusinessErrors, type PermissionDeclaration } from '@plinth/kernel'
import { permission } from '@plinth/resource'
import { localizedOf } from '@plinth/table'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

export const businessError = defineBusinessErrors('suppression', en.suppression, {
  'address-invalid': '400',
  'category-unexpected': '400',
  'category-unknown': '400',
  'entry-unknown': '404',
  'end-passed': '400',
  listed: '409',
})

export const viewEntries = permission('suppression:entry:view', 'View suppressed addresses', '查看禁发地址')
export const manageEntries = permission(
  'suppression:entry:manage',
  'Add and release suppressed addresses',
  '添加和解除禁发地址',
)

export const permissions: readonly PermissionDeclaration[] = [viewEntries, manageEntries].map(({ code, title }) => ({
  code,
  displayName: localizedOf(title),
}))
