import { service } from '@plinth/kernel'

export interface Translator {
  /** Languages that have a catalogue. */
  readonly locales: readonly string[]
  /**
   * Returns the best language for an `Accept-Language` header: the same tag, then the same language, then the site
   * default. Never throws.
   */
  negotiate(acceptLanguage: string | undefined): string
  /**
   * Returns the text of a key such as `messages.notification.channel-unknown`: in this language, then in the site
   * default, then in English. Returns `undefined` if no catalogue contains the key. The caller then uses its original
   * text.
   */
  translate(locale: string, key: string, params?: Readonly<Record<string, string | number>>): string | undefined
  /**
   * Translates a text of the form `messages.<path>` or `{messages.<path>}`. Returns any other text, and keys without a
   * translation, unchanged.
   */
  resolve(locale: string, text: string, params?: Readonly<Record<string, string | number>>): string
}

/** Translates the texts that users see. */
export const i18n = service<Translator>('i18n', { from: '@plinth/i18n' })
