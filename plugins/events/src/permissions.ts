import type { PermissionDeclaration } from '@plinth/kernel'

/** Codes of the permissions of this plugin. */
export const own = { view: 'events:outbox:view', replay: 'events:outbox:replay' } as const

export const permissions: readonly PermissionDeclaration[] = [
  {
    code: own.view,
    displayName: { en: 'View the outbox', 'zh-CN': '查看发件箱' },
    description: { en: 'Events with their payloads.', 'zh-CN': '事件及其内容。' },
  },
  {
    code: own.replay,
    displayName: { en: 'Replay and skip failed events', 'zh-CN': '重放和跳过失败事件' },
  },
]
