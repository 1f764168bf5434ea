import { Store } from '../app/store.ts'

/** The language of the page. The display and the API calls share it. It is lost when the page is closed. */
export class LanguageChoice extends Store<Language> {
  constructor(wishes: readonly string[]) {
    super(bestLanguage(wishes))
  }

  choose(language: Language): void {
    this.set(language)
  }
}

/** Languages of the pages. The first one is the fallback. */
export const languages = ['en', 'zh-CN'] as const
export type Language = (typeof languages)[number]

/**
 * Returns the first preferred language that is available. Only the primary part is compared: `zh-Hans-SG` is Chinese,
 * and `en-GB` is English. The fallback is English.
 */
export function bestLanguage(wishes: readonly string[]): Language {
  for (const wish of wishes) {
    const [primary = ''] = wish.toLowerCase().split('-')
    const found = languages.find((language) => language.split('-')[0] === primary)
    if (found !== undefined) return found
  }
  return languages[0]
}
