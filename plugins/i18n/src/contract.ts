import { service } from '@plinth/kernel'

export interface Translator {
  /** Locales that have a catalogue. */
  readonly locales: readonly string[]
  /** Best locale for an `Accept-Language` header: exact, then language, then the site default. Never throws. */
  negotiate(acceptLanguage: string | undefined): string
  /**
   * Text for a catalogue key such as `messages.notification.channel-unknown`, from the locale, then the site default.
   * `undefined` when no catalogue has the key: callers fall back on the original text.
   */
  translate(locale: string, key: string, params?: Readonly<Record<string, string | number>>): string | undefined
  /**
   * Resolves text that may be a catalogue key, written `messages.<path>` or `{messages.<path>}`; other text, and keys
   * without a translation, come back unchanged.
   */
  resolve(locale: string, text: string, params?: Readonly<Record<string, string | number>>): string
}

/** Translation of texts for people. */
export const i18n = service<Translator>('i18n', { from: '@plinth/i18n' })
