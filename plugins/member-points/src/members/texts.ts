import type { Translator } from '@plinth/i18n'
import { fillText, type LocalizedText, localize } from '@plinth/kernel'
import en from '../messages/en.json' with { type: 'json' }
import type { Parts } from '../parts.ts'

type Params = Readonly<Record<string, string | number>>

/** Texts in the language of the caller, or in English if the product has no translations. */
export class Texts {
  readonly #translator: Translator | undefined

  constructor({ i18n }: Pick<Parts, 'i18n'>) {
    this.#translator = i18n
  }

  /** Returns a text of this plugin. @param path path below the texts of this plugin, such as `kinds.check-in` */
  find(locale: string, path: string, params: Params = {}): string | undefined {
    const found = path.split('.').reduce<unknown>((branch, name) => Object(branch)[name], en['member-points'])
    const translated = this.#translator?.translate(locale, `messages.member-points.${path}`, params)
    return translated ?? (typeof found === 'string' ? fillText(found, params) : undefined)
  }

  /** Prefers a text that an operator has written to the text of the plugin. */
  written(locale: string, text: LocalizedText | null | undefined, path: string, params: Params): string | undefined {
    return text == null ? this.find(locale, path, params) : localize(text, locale)
  }
}
