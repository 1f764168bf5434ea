import type { WebhookHint } from './contract.ts'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

/** Key of the text of a hint; whoever shows it translates it. */
export const hintKey = (hint: WebhookHint | 'truncated'): string =>
  hint === 'truncated' ? 'messages.webhook.truncated' : `messages.webhook.hint.${hint}`
