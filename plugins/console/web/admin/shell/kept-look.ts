import { localStorageColorSchemeManager } from '@mantine/core'
import { LanguageChoice } from '../../text/language-choice.ts'
import { browserStorage } from './kept-context.ts'

/** What the browser asks for, unless somebody has chosen another language here before, whoever has signed in. */
export function keptLanguages(base: string): LanguageChoice {
  const [storage, key] = [browserStorage(), `plinth.language ${base}`]
  const chosen = storage?.getItem(key) ?? undefined
  const languages = new LanguageChoice([...(chosen === undefined ? [] : [chosen]), ...navigator.languages])
  languages.subscribe(() => {
    try {
      storage?.setItem(key, languages.current())
    } catch {
      // The browser keeps no more; the page has the language all the same.
    }
  })
  return languages
}

/** Light, dark, or as the system has it. */
export const keptColours = (base: string) => localStorageColorSchemeManager({ key: `plinth.colours ${base}` })
