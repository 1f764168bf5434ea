import { type AuditTexts, bilingual as text } from '@plinth/kernel'

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
