import type { PermissionDeclaration } from '@plinth/kernel'

/** Codes of the permissions of this plugin. */
export const own = { view: 'rate-limit:view' } as const

export const permissions: readonly PermissionDeclaration[] = [
  { code: own.view, displayName: { en: 'View the rate limiter', 'zh-CN': '查看限流运行信息' } },
]
