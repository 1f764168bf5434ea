import { businessFailures, isBusinessError } from '@plinth/kernel'
import type { TaskFailure } from './contract.ts'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

export const refusal = businessFailures('async-task', en['async-task'], {
  unknown: '404',
  finished: '409',
  'queue-full': '429',
  'owner-limit': '429',
  'no-artifact': '404',
  'file-forbidden': '403',
  'reader-gone': '403',
  'params-outdated': '500',
  failed: '500',
  deadline: '500',
  lost: '500',
})

/** What the owner of a task learns of what its handler threw. */
export function failureOf(error: unknown): TaskFailure {
  const {
    message,
    params,
    reason = 'async-task.failed',
    messageKey,
  } = isBusinessError(error) ? error : refusal('failed')
  return { reason, message, messageKey, params }
}
