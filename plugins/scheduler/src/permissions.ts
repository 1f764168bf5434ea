import type { PermissionDeclaration } from '@plinth/kernel'

/** Codes of the permissions of this plugin. */
export const own = {
  taskView: 'scheduler:task:view',
  taskRun: 'scheduler:task:run',
  clockConfirm: 'scheduler:clock:confirm',
} as const

export const permissions: readonly PermissionDeclaration[] = [
  { code: own.taskView, displayName: { en: 'View scheduled tasks and their runs', 'zh-CN': '查看定时任务及运行记录' } },
  {
    code: own.taskRun,
    displayName: { en: 'Run, pause and resume scheduled tasks', 'zh-CN': '执行、暂停和恢复定时任务' },
  },
  {
    code: own.clockConfirm,
    displayName: { en: 'Confirm the clock of the host', 'zh-CN': '确认主机时钟' },
  },
]
