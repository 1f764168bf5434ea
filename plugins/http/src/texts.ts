import { fillText, type MessageTree, type TextParams } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

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
  const text = names.reduce<MessageTree | string>((tree, name) => (tree as MessageTree)[name] ?? '', en)
  return fillText(String(text), params)
}
