import type { MessageTree } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

type Params = Readonly<Record<string, string | number>>

/** The part of the translator that is needed here. */
export interface TextSource {
  translate(locale: string, key: string, params?: Params): string | undefined
}

/** Text for a key in a locale, or the original text when no catalogue has it. */
export type Say = (locale: string, key: string | undefined, params: Params, original: string) => string

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
export function ownText(key: string, params: Params = {}): string {
  const names = key.split('.').slice(1)
  const text = names.reduce<MessageTree | string>((tree, name) => (tree as MessageTree)[name] ?? '', en)
  return String(text).replace(/\{\{(\w+)\}\}/g, (_, name: string) => String(params[name] ?? ''))
}
