import { key } from '@plinth/kernel'

/** Languages in which every catalogue has texts. */
export const supportedLocales = ['en', 'zh-CN'] as const

export type SupportedLocale = (typeof supportedLocales)[number]

export const keys = {
  'platform.i18n.default-locale': key.enum({
    title: { en: 'Default language', 'zh-CN': '默认语言' },
    description: {
      en: 'Language of texts for callers who do not request a language, or who request a language without texts.',
      'zh-CN': '调用方未请求语言，或所请求的语言没有译文时使用的语言。',
    },
    values: supportedLocales,
    default: 'en',
    reload: 'live',
  }),
}
