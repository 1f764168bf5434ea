import {
  type AuditTexts,
  defineBusinessErrors,
  errorTable,
  type PermissionDeclaration,
  bilingual as text,
} from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

/** Errors that stop the start. */
export const openPlatformError = errorTable({
  PLINTH_OPEN_PLATFORM_SCOPE: `The scope "{{scope}}" of plugin "{{plugin}}" cannot be declared: {{reason}}.
    Choose a unique code of lower-case words with digits and hyphens, joined by colons.`,
  PLINTH_OPEN_PLATFORM_ROUTE: `Some routes cannot accept signed requests: {{routes}}.
    Correct the openApi() annotation, or declare the scope with the service openScopes.`,
})

export const messages = { en, 'zh-CN': zhCN }

/**
 * An unknown application, a disabled application and a wrong signature cause the same error, so that a caller cannot
 * find out which applications exist.
 */
export const businessError = defineBusinessErrors('open-platform', en['open-platform'], {
  'header-missing': '401',
  'header-invalid': '401',
  'timestamp-out-of-range': '401',
  'query-malformed': '400',
  'signature-invalid': '401',
  'nonce-used': '401',
  'scope-missing': '403',
  'replay-check-unavailable': '503',
  'metering-unavailable': '503',
  'secret-key-unusable': '503',
  'app-unknown': '404',
  'owner-out-of-scope': '403',
  'scope-unknown': '400',
  'version-conflict': '409',
  'grace-running': '409',
  'day-range': '400',
})

export const permissionCodes = {
  appView: 'open-platform:app:view',
  appCreate: 'open-platform:app:create',
  appUpdate: 'open-platform:app:update',
  appRotateSecret: 'open-platform:app:rotate-secret',
  appDelete: 'open-platform:app:delete',
  usageView: 'open-platform:usage:view',
} as const

export const permissions: readonly PermissionDeclaration[] = [
  {
    code: permissionCodes.appView,
    displayName: { en: 'View open-platform applications', 'zh-CN': '查看开放平台应用' },
    description: { en: 'Also the scopes; never a secret.', 'zh-CN': '包括授权范围，不含密钥。' },
  },
  {
    code: permissionCodes.appCreate,
    displayName: { en: 'Create open-platform applications', 'zh-CN': '创建开放平台应用' },
  },
  {
    code: permissionCodes.appUpdate,
    displayName: { en: 'Change open-platform applications', 'zh-CN': '修改开放平台应用' },
    description: { en: 'Scopes, limit, owner; enable and disable.', 'zh-CN': '授权范围、限额、负责人；启用和停用。' },
  },
  {
    code: permissionCodes.appRotateSecret,
    displayName: { en: 'Rotate secrets of open-platform applications', 'zh-CN': '轮换开放平台应用密钥' },
  },
  {
    code: permissionCodes.appDelete,
    displayName: { en: 'Delete open-platform applications', 'zh-CN': '删除开放平台应用' },
  },
  { code: permissionCodes.usageView, displayName: { en: 'View open-platform usage', 'zh-CN': '查看开放平台用量' } },
]

/** Names of the audited actions, for people. */
export const audited: Readonly<Record<string, AuditTexts>> = {
  'open-app': {
    title: text('Application', '应用'),
    page: 'open-platform.app',
    labels: 'open-platform.app',
    nameFrom: 'name',
    facts: {
      appKey: { title: text('App key', '应用标识') },
      name: { title: text('Name', '名称') },
      graceSeconds: { title: text('Old secret stays valid, in seconds', '旧密钥继续有效的秒数') },
      force: { title: text('Without grace period', '立即失效') },
    },
  },
}
