import type { TemplateQuery } from './contract.ts'

/** Channel of templates for all channels that have none of their own. */
export const allChannels = 'all'

export interface Candidate {
  readonly id: number
  readonly channel: string
  readonly locale: string
  readonly version: number
}

/**
 * A language tag in its canonical form (BCP 47; RFC 5646, 4.5); undefined when it is none.
 */
export function canonicalLocale(tag: string): string | undefined {
  try {
    return Intl.getCanonicalLocales(tag)[0]
  } catch {
    return undefined
  }
}

/**
 * The candidates that fit, the best first. Language comes before channel, because a text that cannot be read helps nobody:
 * the tag as it is asked for, then the language alone, then the same language elsewhere; then the same for the default
 * language. In one language the channel's own template wins over the one for all channels (document 2, "Template rules").
 */
export function byFit(
  candidates: readonly Candidate[],
  { channel, locale }: Pick<TemplateQuery, 'channel' | 'locale'>,
  defaultLocale: string,
): readonly Candidate[] {
  const asked = locale === undefined ? undefined : canonicalLocale(locale)
  const wanted = [...(asked === undefined ? [] : [asked]), defaultLocale]
  const rankOf = (candidate: Candidate) => {
    const distances = wanted.map((tag) => distance(candidate.locale, tag))
    const at = distances.findIndex((one) => one < foreign)
    return at < 0 ? undefined : [at, distances[at] ?? foreign, candidate.channel === channel ? 0 : 1]
  }
  return candidates
    .flatMap((candidate) => {
      const rank = rankOf(candidate)
      return rank === undefined ? [] : [{ candidate, rank: [...rank, candidate.locale] }]
    })
    .sort((one, other) => compare(one.rank, other.rank))
    .map(({ candidate }) => candidate)
}

const foreign = 3

function distance(locale: string, wanted: string): number {
  if (locale === wanted) return 0
  const language = languageOf(wanted)
  if (locale === language) return 1
  return languageOf(locale) === language ? 2 : foreign
}

const languageOf = (tag: string) => tag.split('-', 1)[0] ?? tag

function compare(one: readonly (string | number)[], other: readonly (string | number)[]): number {
  const at = one.findIndex((value, index) => value !== other[index])
  return at < 0 ? 0 : (one[at] ?? '') < (other[at] ?? '') ? -1 : 1
}
