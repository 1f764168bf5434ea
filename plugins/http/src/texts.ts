import { fillText, type MessageTree, type TextParams } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

/** The part of the translator that is needed here. */
interface TextSource {
  translate(locale: string, key: string, params?: TextParams): string | undefined
}

/** Text for a key in a locale, or the original text when no catalogue has it. */
export type Say = (locale: string, key: string | undefined, params: TextParams, original: string) => string

/** Speaks through the translator when the product has one. Never throws: a failure has to be told all the same. */
export function createSay(translator: TextSource | undefined): Say {
  return (locale, key, params, original) => {
    try {
      return (key === undefined ? undefined : translator?.translate(locale, key, params)) ?? original
    } catch {
      return original
    }
  }
}

/** English text of one of our own keys: the original when nothing translates it. */
export function ownText(key: string, params: TextParams = {}): string {
  const names = key.split('.').slice(1)
  const text = names.reduce<MessageTree | string>((tree, name) => (tree as MessageTree)[name] ?? '', en)
  return fillText(String(text), params)
}
