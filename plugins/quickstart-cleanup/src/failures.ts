import { businessFailures, type LocalizedText } from '@plinth/kernel'
import type { ErrorKey, Outcome } from './contract.ts'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

export const refusal = businessFailures('quickstart-cleanup', en['quickstart-cleanup'], {
  disabled: '403',
  'module-unknown': '404',
  'confirmation-mismatch': '400',
})

/** What is said of an outcome. */
export function outcomeText(name: Exclude<Outcome, 'failed'> | ErrorKey): LocalizedText {
  return { en: en['quickstart-cleanup'].outcome[name], 'zh-CN': zhCN['quickstart-cleanup'].outcome[name] }
}
