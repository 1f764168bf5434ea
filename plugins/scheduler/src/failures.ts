import { BusinessError } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

export const taskUnknown = (task: string) =>
  new BusinessError('404', `There is no scheduled task "${task}".`, {
    reason: 'scheduler.task-unknown',
    params: { task },
  })

export const taskRunning = (task: string) =>
  new BusinessError('409', `The task "${task}" is running. Ask again when it has ended.`, {
    reason: 'scheduler.task-running',
    params: { task },
  })
