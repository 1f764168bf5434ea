import { htmlText } from '../pages/browser-page.ts'
import { ownText, type Translate } from '../texts.ts'

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
