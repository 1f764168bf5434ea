import { businessFailures } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

export const refusal = businessFailures('scheduler', en.scheduler, {
  'task-unknown': '404',
  'task-running': '409',
  'clock-agrees': '409',
  'clock-of-server': '409',
})
