import { fillText, type MessageTree, type TextParams } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }
import { htmlText } from './pages/browser-page.ts'

export const messages = { en, 'zh-CN': zhCN }

/** The part of the translator that is used here. */
interface TextSource {
  translate(locale: string, key: string, params?: TextParams): string | undefined
}

/** Returns the text for a key in a locale, or the original text if no catalogue has it. */
export type Translate = (locale: string, key: string | undefined, params: TextParams, original: string) => string

/** Translates if the product has a translator. Never throws, because failures must be reported in any case. */
export function createSay(translator: TextSource | undefined): Translate {
  return (locale, key, params, original) => {
    try {
      return (key === undefined ? undefined : translator?.translate(locale, key, params)) ?? original
    } catch {
      return original
    }
  }
}

/** Returns the English text of a key of this plugin: the original if nothing translates it. */
export function ownText(key: string, params: TextParams = {}): string {
  const names = key.split('.').slice(1)
  const text = names.reduce<MessageTree | string>(
    (tree, name) => (typeof tree === 'string' ? '' : (tree[name] ?? '')),
    en,
  )
  return fillText(String(text), params)
}

/** Language, texts and links of one response. */
export interface PageTexts {
  readonly locale: string
  /** Returns a text of this page as HTML. */
  text(key: string): string
  /** Returns the text of a reason, or an empty text. */
  reason(reason: string): string
  /** Returns the address of a page of the reference, relative to its root, in the chosen language. */
  link(path: string): string
}

/** Texts of reasons whose key differs from their name. */
const otherKeys: Readonly<Record<string, string>> = { 'access.identity-missing': 'http.identity-missing' }

/** Returns a text as HTML, with code for the parts between backticks. */
export const proseHtml = (text: string): string => htmlText(text).replace(/`([^`]+)`/g, '<code>$1</code>')

/** @param chosen value of `lang` in the query, which links repeat */
export const pageTexts = (translate: Translate, locale: string, chosen: string | undefined): PageTexts => ({
  locale,
  text: (key) =>
    htmlText(translate(locale, `messages.http.reference.${key}`, {}, ownText(`messages.http.reference.${key}`))),
  reason: (reason) => translate(locale, `messages.${otherKeys[reason] ?? reason}`, {}, ''),
  link: (path) => htmlText(chosen === undefined ? path : `${path}?lang=${encodeURIComponent(chosen)}`),
})
