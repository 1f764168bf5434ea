import Negotiator from 'negotiator'
import { type SupportedLocale, supportedLocales } from './config.ts'

/** A header beyond this is not a person's list of languages. */
const longestHeader = 1024

/**
 * The locale for a BCP 47 tag: the same tag, else the same language in whatever script or region, so that `zh`,
 * `zh-Hans` and `zh-CN` all read `zh-CN`. Case does not matter.
 */
export function matchTag(tag: string): SupportedLocale | undefined {
  const wanted = tag.trim().toLowerCase()
  return (
    supportedLocales.find((locale) => locale.toLowerCase() === wanted) ??
    supportedLocales.find((locale) => languageOf(locale.toLowerCase()) === languageOf(wanted))
  )
}

/** The first language of an `Accept-Language` header, by weight and then order, that has a locale. Never throws. */
export function matchHeader(header: string): SupportedLocale | undefined {
  if (header.length > longestHeader) return undefined
  for (const tag of new Negotiator({ headers: { 'accept-language': header } }).languages()) {
    const locale = matchTag(tag)
    if (locale !== undefined) return locale
  }
  return undefined
}

const languageOf = (tag: string) => tag.split(/[-_]/, 1)[0]
