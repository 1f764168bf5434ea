import { bestLanguage, type Language } from './language.ts'

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
