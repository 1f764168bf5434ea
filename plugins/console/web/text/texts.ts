import i18next, { type TFunction } from 'i18next'
import en from './en.json' with { type: 'json' }
import type { Language } from './language.ts'
import zhCN from './zh-CN.json' with { type: 'json' }

declare module 'i18next' {
  interface CustomTypeOptions {
    resources: { translation: typeof en }
  }
}

/** Says a text in one language; unknown keys are type errors. */
export type Say = TFunction

const texts = i18next.createInstance()
void texts.init({
  initAsync: false,
  fallbackLng: 'en',
  resources: { en: { translation: en }, 'zh-CN': { translation: zhCN } },
  // React escapes what it shows.
  interpolation: { escapeValue: false },
})

export function sayIn(language: Language): Say {
  return texts.getFixedT(language)
}
