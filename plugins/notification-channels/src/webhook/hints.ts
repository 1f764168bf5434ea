import type { Translator } from '@plinth/i18n'
import type { WebhookHint } from './contract.ts'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

/** Texts of hints in the language of the site, whose operators read them; in English without translations. */
export function hintTexts(translator: Translator | undefined): (hint: WebhookHint | 'truncated') => string {
  const path = (hint: WebhookHint | 'truncated') =>
    hint === 'truncated' ? 'messages.webhook.truncated' : `messages.webhook.hint.${hint}`
  const english = (hint: WebhookHint | 'truncated') =>
    hint === 'truncated' ? en.webhook.truncated : en.webhook.hint[hint]
  return (hint) => translator?.translate(translator.negotiate(undefined), path(hint)) ?? english(hint)
}
