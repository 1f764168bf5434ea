import { fillText, type MessageTree, type TextParams } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }
import { htmlText } from './pages/browser-page.ts'

export const messages = { en, 'zh-CN': zhCN }

interface TextSource {
  translate(locale: string, key: string, params?: TextParams): string | undefined
}

/** Returns the text of a key in a language; `original` if no catalogue contains the key. */
export type Translate = (locale: string, key: string | undefined, params: TextParams, original: string) => string

/**
 * Returns a function that translates if the product contains the i18n plugin. The function never throws, because errors
 * must be reported in any case.
 */
export function createTranslate(translator: TextSource | undefined): Translate {
  return (locale, key, params, original) => {
    try {
      return (key === undefined ? undefined : translator?.translate(locale, key, params)) ?? original
    } catch {
      return original
    }
  }
}

/** Returns the English text, for products without translations. */
export function englishText(key: string, params: TextParams = {}): string {
  const names = key.split('.').slice(1)
  const text = names.reduce<MessageTree | string>(
    (tree, name) => (typeof tree === 'string' ? '' : (tree[name] ?? '')),
    en,
  )
  return fillText(String(text), params)
}

export interface PageTexts {
  readonly locale: string
  /** Returns a text of the reference as HTML. */
  text(key: string): string
  /** Returns the text of a reason; empty if there is none. */
  reason(reason: string): string
  /** Returns a link relative to the start page. It keeps the language that the user has chosen. */
  link(path: string): string
}

/** Message keys of reasons whose key is not equal to the reason. */
const otherKeys: Readonly<Record<string, string>> = { 'access.identity-missing': 'http.identity-missing' }

/** Returns text as HTML, with `<code>` for parts between backticks. */
export const textWithCodeToHtml = (text: string): string => htmlText(text).replace(/`([^`]+)`/g, '<code>$1</code>')

/** @param chosen language in the query of the URL, which links repeat */
export const pageTexts = (translate: Translate, locale: string, chosen: string | undefined): PageTexts => ({
  locale,
  text: (key) =>
    htmlText(translate(locale, `messages.http.reference.${key}`, {}, englishText(`messages.http.reference.${key}`))),
  reason: (reason) => translate(locale, `messages.${otherKeys[reason] ?? reason}`, {}, ''),
  link: (path) => htmlText(chosen === undefined ? path : `${path}?lang=${encodeURIComponent(chosen)}`),
})
