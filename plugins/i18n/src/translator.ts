import { createInstance } from 'i18next'
import Negotiator from 'negotiator'
import type { Catalogues } from './catalogues.ts'
import { type SupportedLocale, supportedLocales } from './config.ts'
import type { Translator } from './contract.ts'

/** A longer header is ignored, because no browser sends one. */
const maxHeaderLength = 1024

/**
 * Returns the locale for a BCP 47 tag: the same tag, otherwise the same language in any script or region. Thus `zh`,
 * `zh-Hans` and `zh-CN` all match `zh-CN`. Case is ignored.
 */
function matchTag(tag: string): SupportedLocale | undefined {
  const expected = tag.trim().toLowerCase()
  return (
    supportedLocales.find((locale) => locale.toLowerCase() === expected) ??
    supportedLocales.find((locale) => languageOf(locale.toLowerCase()) === languageOf(expected))
  )
}

/**
 * Returns the locale for the first supported language of an `Accept-Language` header, by weight, then by order. Never
 * throws.
 */
function matchHeader(header: string): SupportedLocale | undefined {
  if (header.length > maxHeaderLength) return undefined
  for (const tag of new Negotiator({ headers: { 'accept-language': header } }).languages()) {
    const locale = matchTag(tag)
    if (locale !== undefined) return locale
  }
  return undefined
}

const languageOf = (tag: string) => tag.split(/[-_]/, 1)[0]

type Params = Readonly<Record<string, string | number>>

/** Browsers send few distinct headers. The limits keep an attacker from filling the memory with invented ones. */
const rememberedHeaders = 256
const maxRememberedLength = 256

const keyForm = /^(?:(messages\.[\w.-]+)|\{(messages\.[\w.-]+)\})$/

/**
 * Translates from the joined catalogues. `siteLocale` is called for each translation, so that a change of the default
 * language applies immediately.
 */
export function createTranslator(catalogues: Catalogues, siteLocale: () => SupportedLocale): Translator {
  const engine = createInstance({
    initAsync: false,
    fallbackLng: false,
    keySeparator: false,
    nsSeparator: false,
    // An empty text is valid: some languages put nothing between two sentences.
    returnEmptyString: true,
    load: 'currentOnly',
    interpolation: { escapeValue: false },
    resources: Object.fromEntries(
      supportedLocales.map((locale) => [locale, { translation: Object.fromEntries(catalogues[locale]) }]),
    ),
  })
  engine.init()

  const textIn = (locale: SupportedLocale, key: string, params: Params): string | undefined => {
    const { count } = params
    const plural = typeof count === 'number' ? { count } : {}
    const options = { lng: locale, replace: params, ...plural }
    // `nest: false`: a value that looks like `$t(other.key)` is not expanded.
    return engine.exists(key, options) ? engine.t(key, { ...options, nest: false }) : undefined
  }
  const translate = (locale: string, key: string, params: Params = {}) => {
    const site = siteLocale()
    const expected = matchTag(locale) ?? site
    // English last, because a plugin may have English texts only.
    for (const candidate of new Set<SupportedLocale>([expected, site, 'en'])) {
      const text = textIn(candidate, key, params)
      if (text !== undefined) return text
    }
    return undefined
  }

  const remembered = new Map<string, SupportedLocale | undefined>()
  const matchRemembered = (header: string) => {
    if (header.length > maxRememberedLength) return matchHeader(header)
    if (remembered.has(header)) return remembered.get(header)
    if (remembered.size >= rememberedHeaders) remembered.clear()
    const match = matchHeader(header)
    remembered.set(header, match)
    return match
  }

  return {
    locales: supportedLocales,
    negotiate: (header) => (header === undefined ? undefined : matchRemembered(header)) ?? siteLocale(),
    translate,
    resolve(locale, text, params) {
      const [, bare, braced] = keyForm.exec(text.trim()) ?? []
      const key = bare ?? braced
      return (key === undefined ? undefined : translate(locale, key, params)) ?? text
    },
  }
}
