import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PageLocale } from './plugin-pages.ts'

/**
 * Returns a function that translates texts of the sources for a generated page. `scripts/zh-CN` contains the Chinese
 * text of each English text.
 */
export function translatorOf(file: string, locale: PageLocale): (text: string) => string {
  if (locale === 'en') return (text) => text
  const path = join(import.meta.dirname, locale, file)
  const texts: Readonly<Record<string, string>> = JSON.parse(readFileSync(path, 'utf8'))
  return (text) => {
    const translated = texts[text]
    if (translated === undefined) throw new Error(`${path}: add the text ${JSON.stringify(text)}`)
    return translated
  }
}
