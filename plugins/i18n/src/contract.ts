import { service } from '@plinth/kernel'

export interface Translator {
  /** Locales that have a catalogue. */
  readonly locales: readonly string[]
  /**
   * Returns the best locale for an `Accept-Language` header: exact, then language, then the site default. Never throws.
   */
  negotiate(acceptLanguage: string | undefined): string
  /**
   * Returns the text for a catalogue key such as `messages.notification.channel-unknown`, from the locale, then from
   * the site default, then in English. Returns `undefined` if no catalogue has the key. The caller then uses the original text.
   */
  translate(locale: string, key: string, params?: Readonly<Record<string, string | number>>): string | undefined
  /**
   * Translates text that is a catalogue key, written `messages.<path>` or `{messages.<path>}`. Returns other text, and
   * keys without a translation, unchanged.
   */
  resolve(locale: string, text: string, params?: Readonly<Record<string, string | number>>): string
}

/** Translates the texts that users see. */
export const i18n = service<Translator>('i18n', { from: '@plinth/i18n' })
