/** The language of the page, shared by what is shown and by what is asked of the server. Lives as long as the page. */
export class LanguageChoice {
  readonly #listeners = new Set<() => void>()
  #current: Language

  constructor(wishes: readonly string[]) {
    this.#current = bestLanguage(wishes)
  }

  readonly current = (): Language => this.#current

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  choose(language: Language): void {
    this.#current = language
    for (const listener of this.#listeners) listener()
  }
}

/** Languages of the pages, the fallback first. */
export const languages = ['en', 'zh-CN'] as const
export type Language = (typeof languages)[number]

/**
 * The first of the wished languages that we have, by its primary part: `zh-Hans-SG` is Chinese, `en-GB` English. Whoever
 * asks for neither gets English.
 */
export function bestLanguage(wishes: readonly string[]): Language {
  for (const wish of wishes) {
    const [primary = ''] = wish.toLowerCase().split('-')
    const found = languages.find((language) => language.split('-')[0] === primary)
    if (found !== undefined) return found
  }
  return languages[0]
}
