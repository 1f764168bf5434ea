import { BusinessError } from '@plinth/kernel'
import type { TaskFailure } from './contract.ts'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

/** Every business failure of this plugin with its envelope code (decision B1); the texts are in messages/. */
const codes = {
  unknown: '404',
  finished: '409',
  'queue-full': '429',
  'owner-limit': '429',
  'no-artifact': '404',
  'file-forbidden': '403',
  'reader-gone': '403',
} as const

type Params = Readonly<Record<string, string | number>>

const filled = (text: string, params: Params) =>
  text.replace(/\{\{(\w+)\}\}/g, (whole, name: string) => String(params[name] ?? whole))

/** A business failure with the stable reason `async-task.<name>`. */
export const refusal = (reason: keyof typeof codes, params: Params = {}) =>
  new BusinessError(codes[reason], filled(en['async-task'][reason], params), { reason: `async-task.${reason}`, params })

/** What an owner is told about a task that failed for a reason of ours. */
export function taskFailure(reason: 'failed' | 'deadline' | 'lost', params: Params = {}): TaskFailure {
  return {
    reason: `async-task.${reason}`,
    message: filled(en['async-task'][reason], params),
    messageKey: `messages.async-task.${reason}`,
    params,
  }
}

/** The schema of a type has changed since the task was queued. */
export const paramsOutdated = () =>
  new BusinessError('500', en['async-task']['params-outdated'], { reason: 'async-task.params-outdated' })

/** By name, because the error may come from another copy of the kernel. */
const isBusinessError = (error: unknown): error is BusinessError =>
  error instanceof Error && error.name === 'BusinessError' && typeof (error as { code?: unknown }).code === 'string'

/** What an owner may learn of what a handler threw. */
export function failureOf(error: unknown): TaskFailure {
  if (!isBusinessError(error)) return taskFailure('failed')
  const { message, params, reason = 'async-task.failed', messageKey } = error
  return { reason, message, messageKey, params }
}
