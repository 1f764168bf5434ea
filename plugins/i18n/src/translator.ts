import { errorTable, type MessageTree, type Plugin } from '@plinth/kernel'
import { createInstance } from 'i18next'
import { LRUCache } from 'lru-cache'
import Negotiator from 'negotiator'
import { type SupportedLocale, supportedLocales } from './config.ts'
import type { Translator } from './contract.ts'

export const i18nError = errorTable({
  PLINTH_I18N_DUPLICATE_MESSAGE: `Message keys are declared twice: {{clashes}}.
    Put the texts of each plugin under a unique name, for example messages.<plugin id>.<path>.`,
})

/** Texts by their full key, which starts with `messages.`. */
type Catalogue = ReadonlyMap<string, string>
type Catalogues = Readonly<Record<SupportedLocale, Catalogue>>

/**
 * Joins the catalogues of all plugins.
 *
 * @throws PlinthError `PLINTH_I18N_DUPLICATE_MESSAGE` with all conflicts: two plugins declare the same key, or the key
 *   of one plugin is a parent of a key of another plugin
 */
export function joinCatalogues(plugins: readonly Pick<Plugin, 'id' | 'messages'>[]): Catalogues {
  const clashes: string[] = []
  const join = (locale: SupportedLocale): Catalogue => {
    const texts = new Map<string, string>()
    /** First plugin that has a text at a path. */
    const owners = new Map<string, string>()
    /** First plugin that has a text below a path. */
    const branches = new Map<string, string>()
    /** @param above plugin that has a text at this path or at one of its parents */
    const add = (id: string, tree: MessageTree, path: string, above: string | undefined) => {
      for (const [name, node] of Object.entries(tree)) {
        const key = `${path}.${name}`
        if (typeof node !== 'string') {
          add(id, node, key, owners.get(key) ?? above)
          continue
        }
        const other = owners.get(key) ?? branches.get(key) ?? above
        if (other !== undefined) clashes.push(`"${key}" (${locale}) of plugin "${id}" clashes with plugin "${other}"`)
        texts.set(key, node)
        owners.set(key, id)
      }
      if (Object.keys(tree).length > 0 && !branches.has(path)) branches.set(path, id)
    }
    for (const { id, messages } of plugins) add(id, messages?.[locale] ?? {}, 'messages', undefined)
    return texts
  }
  const joined = Object.fromEntries(supportedLocales.map((locale) => [locale, join(locale)])) as Catalogues
  if (clashes.length === 0) return joined
  throw i18nError('PLINTH_I18N_DUPLICATE_MESSAGE', { clashes: clashes.join('; ') })
}

/** Maximum length of the header. No browser sends a longer one. */
const maxHeaderLength = 1024

/**
 * Returns the supported language for a BCP 47 tag, in any case. A language matches in any script and region: `zh`,
 * `zh-Hans` and `zh-CN` all match `zh-CN`.
 */
function matchTag(tag: string): SupportedLocale | undefined {
  const expected = tag.trim().toLowerCase()
  return (
    supportedLocales.find((locale) => locale.toLowerCase() === expected) ??
    supportedLocales.find((locale) => languageOf(locale.toLowerCase()) === languageOf(expected))
  )
}

/** Returns the first supported language of an `Accept-Language` header, by weight, then by order. Never throws. */
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

/**
 * Maximum number of remembered headers. Browsers send few different headers, but an attacker could fill the memory with
 * invented ones.
 */
const rememberedHeaders = 256
const maxRememberedLength = 256

const keyPattern = /^(?:(messages\.[\w.-]+)|\{(messages\.[\w.-]+)\})$/

/** @param siteLocale called for each translation, so that a change of the default language applies immediately */
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
    // `nest: false` prevents i18next from expanding values such as `$t(other.key)`.
    return engine.exists(key, options) ? engine.t(key, { ...options, nest: false }) : undefined
  }
  const translate = (locale: string, key: string, params: Params = {}) => {
    const site = siteLocale()
    const expected = matchTag(locale) ?? site
    // English comes last, because a plugin may have only English texts.
    for (const candidate of new Set<SupportedLocale>([expected, site, 'en'])) {
      const text = textIn(candidate, key, params)
      if (text !== undefined) return text
    }
    return undefined
  }

  const remembered = new LRUCache<string, { readonly match: SupportedLocale | undefined }>({
    max: rememberedHeaders,
    memoMethod: (header) => ({ match: matchHeader(header) }),
  })
  const matchRemembered = (header: string) =>
    header.length > maxRememberedLength ? matchHeader(header) : remembered.memo(header).match

  return {
    locales: supportedLocales,
    negotiate: (header) => (header === undefined ? undefined : matchRemembered(header)) ?? siteLocale(),
    translate,
    resolve(locale, text, params) {
      const [, bare, braced] = keyPattern.exec(text.trim()) ?? []
      const key = bare ?? braced
      return (key === undefined ? undefined : translate(locale, key, params)) ?? text
    },
  }
}
