import { defineBusinessErrors, type PermissionDeclaration } from '@plinth/kernel'
import { permission } from '@plinth/resource'
import { localizedOf } from '@plinth/table'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

export const businessError = defineBusinessErrors('push', en.push, {
  'device-unknown': '404',
  'endpoint-rejected': '400',
  'key-invalid': '400',
  'secret-key-unusable': '503',
})

export const viewDevices = permission('push:device:view', 'View push devices', '查看推送设备')
export const removeDevices = permission('push:device:remove', 'Remove push devices', '移除推送设备')

export const permissions: readonly PermissionDeclaration[] = [viewDevices, removeDevices].map(({ code, title }) => ({
  code,
  displayName: localizedOf(title),
}))
