import { type AuditTexts, bilingual as text } from '@plinth/kernel'

/** Names of the audited actions, for people. */
export const audited: Readonly<Record<string, AuditTexts>> = {
  'async-task': {
    title: text('Task', '任务'),
    page: 'async-task.task',
    actions: { cancel: text('Cancel', '取消') },
    facts: {
      ownerId: { title: text('Owner', '所有者'), labels: 'iam.user', page: 'iam.user' },
      taskType: { title: text('Type', '类型') },
      file: { title: text('File', '文件') },
    },
  },
}
