import type { Translator } from '@plinth/i18n'
import {
  defineBusinessErrors,
  errorCodeOf,
  errorReason,
  fillText,
  fitTextToColumn,
  type LocalizedText,
  localize,
  type MessageCatalogues,
  type MessageTree,
  type TextParams,
} from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }
import preflightEn from './preflight/messages/en.json' with { type: 'json' }
import preflightZhCN from './preflight/messages/zh-CN.json' with { type: 'json' }

/** Matches directories of the server in paths of any operating system, but not the file name. */
const directories = /(?:\b[A-Za-z]:)?(?:[\\/][^\s\\/'"`,;:()]+)+[\\/](?=[^\s\\/'"`,;:()])/g
const maxReasonLength = 500

/**
 * Returns the reason of an error without directories of the server, for the person who installs. The log contains the
 * whole error.
 */
export function publicReason(error: unknown): string {
  const code = errorCodeOf(error)
  const isOfFile = typeof error === 'object' && error !== null && 'path' in error && typeof error.path === 'string'
  if (isOfFile && code !== undefined) return code
  return fitTextToColumn(errorReason(error).replace(directories, ''), maxReasonLength)
}

const tree = {
  en: { install: { ...en.install, preflight: preflightEn } },
  'zh-CN': { install: { ...zhCN.install, preflight: preflightZhCN } },
}
export const messages: MessageCatalogues = tree

/** Returns a text of this plugin, for example `translate('en', 'step.install-lock.name')`. */
export type Translate = (locale: string, name: string, params?: TextParams) => string

/** Returns a function that uses the translator, or English texts if there is no translator. */
export function createTranslate(translator: Pick<Translator, 'translate'> | undefined): Translate {
  return (locale, name, params = {}) =>
    translator?.translate(locale, `messages.install.${name}`, params) ?? englishText(name, params)
}

/** Returns the English text, or an empty text for an unknown name. */
export function englishText(name: string, params: TextParams = {}): string {
  const found = name.split('.').reduce<MessageTree | string | undefined>((branch, part) => {
    return typeof branch === 'object' ? branch[part] : undefined
  }, tree.en.install)
  return typeof found === 'string' ? fillText(found, params) : ''
}

/** A text of this plugin with its parameters. It is stored in this form and translated for each reader. */
export interface Sentence {
  readonly text: string
  readonly params?: SentenceParams | undefined
}
export type SentenceParams = Readonly<Record<string, SentenceParam>>
type SentenceParam = string | number | LocalizedText | Sentence | readonly Sentence[]

export function sayIn(translate: Translate, locale: string, { text, params = {} }: Sentence): string {
  const said = Object.entries(params).map(([name, value]) => [name, sayParam(translate, locale, value)])
  return translate(locale, text, Object.fromEntries(said))
}

/** Text between the sentences of a list. It is empty in Chinese. */
const separator = 'result.between'

/** Returns the text of one parameter of a sentence. */
export function sayParam(translate: Translate, locale: string, value: SentenceParam): string | number {
  if (typeof value !== 'object') return value
  if (isList(value)) {
    return value.map((one) => sayParam(translate, locale, one)).join(translate(locale, separator))
  }
  return 'text' in value ? sayIn(translate, locale, value as Sentence) : localize(value as LocalizedText, locale)
}

const isList = (value: object): value is readonly Sentence[] => Array.isArray(value)

/** Returns a sentence as stored text, with its English text for the search. */
export const storedSentence = (sentence: Sentence): string =>
  JSON.stringify({ en: sayIn(createTranslate(undefined), 'en', sentence), ...sentence })

/**
 * Returns the function that translates stored sentences. It returns any other text unchanged, such as a sentence of an
 * earlier release. A sentence with a text that no longer exists stays in English.
 */
export const createReader = (translate: Translate, locale: string) => (stored: string) => {
  if (!stored.startsWith('{"en":')) return stored
  let isComplete = true
  const translateKnown: Translate = (...request) => {
    const text = translate(...request)
    isComplete &&= text !== '' || request[1] === separator
    return text
  }
  try {
    const { en, ...sentence }: Sentence & { readonly en: string } = JSON.parse(stored)
    const text = sayIn(translateKnown, locale, sentence)
    return isComplete ? text : en
  } catch {
    // A masked secret can make a stored sentence invalid. Its English text comes first.
    return /^\{"en":"((?:[^"\\]|\\.)*)/.exec(stored)?.[1]?.replaceAll(/\\(.)/g, '$1') ?? stored
  }
}

export const businessError = defineBusinessErrors('install', tree.en.install, {
  'cross-site': '403',
  'probe-busy': '429',
  running: '409',
  'session-unknown': '404',
  'audit-unknown': '404',
  'token.invalid': '403',
  'token.not-allowed': '403',
  'token.too-many-failures': '429',
})
