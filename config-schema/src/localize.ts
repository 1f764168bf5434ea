import type { LocalizedText } from './declaration.ts'

/** Both texts; a plain string stands for both. */
export type Localized = { readonly en: string; readonly 'zh-CN': string }

/** The text for a locale: every Chinese tag reads `zh-CN`, every other `en`. */
export function localize(text: LocalizedText, locale: string): string {
  return inBothLocales(text)[/^zh(-|$)/i.test(locale) ? 'zh-CN' : 'en']
}

/** The text of each locale. */
export function inBothLocales(text: LocalizedText): Localized {
  return typeof text === 'string' ? { en: text, 'zh-CN': text } : text
}

/** Chinese sets no blank between its own characters, but one before others. */
export const spaced = (text: string) => (/^[\x21-\x7e]/.test(text) ? ` ${text}` : text)

/** A text in the two languages of the house. */
export const bilingual = (en: string, zh: string): LocalizedText => ({ en, 'zh-CN': zh })
