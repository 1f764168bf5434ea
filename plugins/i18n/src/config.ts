import { key } from '@plinth/kernel'

/** Every catalogue has texts in these locales. */
export const supportedLocales = ['en', 'zh-CN'] as const

export type SupportedLocale = (typeof supportedLocales)[number]

export const keys = {
  'platform.i18n.default-locale': key.enum({
    title: { en: 'Default language', 'zh-CN': '默认语言' },
    description: {
      en: 'Language of texts for callers who ask for no language, or for one that has no catalogue.',
      'zh-CN': '调用方未指定语言，或所指定的语言没有译文时使用的语言。',
    },
    values: supportedLocales,
    default: 'en',
    reload: 'live',
  }),
}
