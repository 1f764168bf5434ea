import { createStaticLabelSource, type LabelSource } from '@plinth/admin'
import {
  type AuditTexts,
  defineBusinessErrors,
  localize,
  type PermissionDeclaration,
  bilingual as text,
} from '@plinth/kernel'
import type { BoundScheduledTask } from '@plinth/kernel/host'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

export const businessError = defineBusinessErrors('scheduler', en.scheduler, {
  'task-unknown': '404',
  'task-running': '409',
  'clock-agrees': '409',
  'clock-of-server': '409',
})

export const permissionCodes = {
  taskView: 'scheduler:task:view',
  taskRun: 'scheduler:task:run',
  clockConfirm: 'scheduler:clock:confirm',
} as const

export const permissions: readonly PermissionDeclaration[] = [
  {
    code: permissionCodes.taskView,
    displayName: { en: 'View scheduled tasks and their runs', 'zh-CN': '查看定时任务及运行记录' },
  },
  {
    code: permissionCodes.taskRun,
    displayName: { en: 'Run, pause and resume scheduled tasks', 'zh-CN': '执行、暂停和恢复定时任务' },
  },
  {
    code: permissionCodes.clockConfirm,
    displayName: { en: 'Confirm the clock of the host', 'zh-CN': '确认主机时钟' },
  },
]

export const taskLabels = (tasks: readonly BoundScheduledTask[]): LabelSource =>
  createStaticLabelSource(
    (locale) => tasks.map(({ name, displayName }) => ({ id: name, name: localize(displayName, locale) })),
    permissionCodes.taskView,
  )

/** Names of the audited actions, for people. */
export const audited: Readonly<Record<string, AuditTexts>> = {
  'scheduled-task': {
    title: text('Scheduled task', '定时任务'),
    page: 'scheduler.task',
    labels: 'scheduler.task',
    actions: {
      'run-now': text('Run now', '立即运行'),
      pause: text('Pause', '暂停'),
      resume: text('Resume', '恢复'),
    },
  },
  'database-clock': {
    title: text('Clock of the host', '主机时钟'),
    actions: { confirm: text('Confirm', '确认') },
    facts: {
      state: { title: text('State', '状态') },
      differenceMs: { title: text('Difference in milliseconds', '相差毫秒数') },
    },
  },
}
