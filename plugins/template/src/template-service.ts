import { type Database, exactInteger } from '@plinth/database'
import type { Clock, MessageFile } from '@plinth/kernel'
import { LRUCache } from 'lru-cache'
import type { CompiledTemplate } from './compile/program.ts'
import { optionalVariablesOf } from './compile/variables.ts'
import type {
  FallbackStep,
  RenderedTemplate,
  TemplateInfo,
  TemplateQuery,
  TemplateSample,
  Templates,
  TemplateVersions,
} from './contract.ts'
import { businessError } from './declarations.ts'
import { Template, TemplateVersion } from './entities.ts'
import { RenderLimitError, renderTemplate } from './render/render-program.ts'
import { copyPlainVariables, templateValueAt, type Variables } from './render/values.ts'
import type { Versions } from './versions/template-versions.ts'

/** Channel of templates that apply to all channels without their own template. */
export const allChannels = 'all'

interface Candidate {
  readonly id: number
  readonly channel: string
  readonly locale: string
  readonly version: number
}

/** Returns the canonical form of a BCP 47 tag (RFC 5646, 4.5), also of `zh_CN`; undefined for an invalid tag. */
export function canonicalLocale(tag: string): string | undefined {
  try {
    return Intl.getCanonicalLocales(tag.replaceAll('_', '-'))[0]
  } catch {
    return undefined
  }
}

/**
 * Sorts templates, the best one first (document 2 of the specification, "Template rules"). Users must be able to read
 * the text, so the language matters more than the channel. Order: the requested tag, its language, the language with
 * another region; then the same for the default language. In the same language, a template for the channel is preferred
 * to a template for all channels.
 */
function byFit(
  candidates: readonly Candidate[],
  { channel, locale }: Pick<TemplateQuery, 'channel' | 'locale'>,
  defaultLocale: string,
): readonly Candidate[] {
  const expected = expectedLocales(locale, defaultLocale)
  const rankOf = (candidate: Candidate) => {
    const distances = expected.map((tag) => distance(candidate.locale, tag))
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
const rules = ['exact', 'language', 'region'] as const

/** Returns the requested tag, if it is valid, and the default language. */
function expectedLocales(locale: string | undefined, defaultLocale: string): readonly string[] {
  const requested = locale === undefined ? undefined : canonicalLocale(locale)
  return [...new Set([...(requested === undefined ? [] : [requested]), defaultLocale])]
}

/** The script is compared too: readers of `zh-TW` need not be able to read `zh-CN`. */
function distance(locale: string, expected: string): number {
  if (locale === expected) return 0
  if (languageOf(locale) !== languageOf(expected)) return foreign
  return locale === locale.split('-', 1)[0] ? 1 : 2
}

/** Returns language and script, such as `zh-Hant` for `zh-TW`. */
function languageOf(tag: string): string {
  const { language, script = '' } = new Intl.Locale(tag).maximize()
  return `${language}-${script}`
}

/** Dates and numbers are in the language of the text, with the region of the reader if both have the same language. */
const formatLocale = (textLocale: string, readerLocale: string | undefined): string =>
  readerLocale !== undefined && languageOf(readerLocale) === languageOf(textLocale) ? readerLocale : textLocale

function compare(one: readonly (string | number)[], other: readonly (string | number)[]): number {
  const at = one.findIndex((value, index) => value !== other[index])
  return at < 0 ? 0 : (one[at] ?? '') < (other[at] ?? '') ? -1 : 1
}

interface TemplateServiceDependencies {
  readonly db: Pick<Database, 'fork' | 'query'>
  /** Returns the default language. Called for each query, because the language may change. */
  readonly defaultLocale: () => string
  readonly siteTimeZone: () => string
  readonly versions: Pick<Versions, 'sample'>
  readonly clock: Pick<Clock, 'now'>
  /** Maximum number of characters of all cached templates together. */
  readonly cacheSize: number
}

interface Loaded {
  readonly info: TemplateInfo
  readonly attachments: readonly MessageFile[]
  readonly compiled: CompiledTemplate
}

/**
 * Finds and renders templates. Each call reads from the database which version is current, so that a change takes
 * effect immediately on every instance. Only the compiled form of a version is cached, because it never changes.
 */
export class TemplateService implements Templates {
  readonly #parts: TemplateServiceDependencies
  /** Compiled templates by id and version. */
  readonly #loaded: LRUCache<string, Loaded>

  constructor(parts: TemplateServiceDependencies) {
    this.#parts = parts
    this.#loaded = new LRUCache({ max: 10_000, maxSize: parts.cacheSize })
  }

  async find(query: TemplateQuery): Promise<TemplateInfo | undefined> {
    return (await this.#load(query))?.info
  }

  async render({ variables, ...query }: Parameters<Templates['render']>[0]): Promise<RenderedTemplate | undefined> {
    const loaded = await this.#load(query)
    if (loaded === undefined) return undefined
    const { info, attachments, compiled } = loaded
    const plain = copyPlainVariables(variables)
    const { siteTimeZone, clock } = this.#parts
    const { locale = '', timeZone = siteTimeZone() } = query
    const format = { locale: formatLocale(info.locale, canonicalLocale(locale)), timeZone, now: clock.now() }
    return {
      template: info,
      attachments,
      ...this.#rendered(info.code, () => renderTemplate(compiled, plain, format)),
      missingVariables: info.variables.filter((path) => templateValueAt(plain, path.split('.')) === undefined),
    }
  }

  #rendered<T>(code: string, render: () => T): T {
    try {
      return render()
    } catch (error) {
      if (!(error instanceof RenderLimitError)) throw error
      throw businessError('output-too-large', { params: { code }, data: { code } })
    }
  }

  async sample(id: number, text: 'draft' | 'published'): Promise<TemplateSample> {
    const { siteTimeZone, clock, versions } = this.#parts
    const { compiled, testValues, attachments, code, channel, locale } = await versions.sample(id, text)
    const variables = copyPlainVariables((testValues ?? {}) as Variables)
    const format = { locale, timeZone: siteTimeZone(), now: clock.now() }
    const rendered = this.#rendered(code, () => renderTemplate(JSON.parse(compiled), variables, format))
    return { ...rendered, code, channel, locale, attachments: attachments ?? [] }
  }

  async publishedVersions(code: string): Promise<TemplateVersions> {
    const rows = await this.#rows(code)
    return Object.fromEntries(rows.filter(({ enabled }) => Boolean(enabled)).map(({ id, version }) => [id, version]))
  }

  async fallback(query: TemplateQuery): Promise<readonly FallbackStep[]> {
    const defaultLocale = this.#parts.defaultLocale()
    const found = byFit(await this.#candidates(query), query, defaultLocale)[0]?.locale
    const steps = expectedLocales(query.locale, defaultLocale).flatMap((locale, index, { length }) =>
      rules.map((rule, at) => {
        const isFound = found !== undefined && distance(found, locale) === at
        return { locale, rule, isDefaultLanguage: index === length - 1, found: isFound ? found : null }
      }),
    )
    const end = steps.findIndex((step) => step.found !== null)
    return end < 0 ? steps : steps.slice(0, end + 1)
  }

  async #load(query: TemplateQuery): Promise<Loaded | undefined> {
    const [best] = byFit(await this.#candidates(query), query, this.#parts.defaultLocale())
    if (best === undefined) return undefined
    return this.#loaded.get(keyOf(best)) ?? this.#read(best)
  }

  async #candidates({ code, channel, versions }: TemplateQuery): Promise<readonly Candidate[]> {
    const rows = await this.#rows(code)
    const current = rows.filter((row) =>
      versions === undefined ? Boolean(row.enabled) : versions[row.id] === row.version,
    )
    const older = versions === undefined ? [] : await this.#replaced(versions, current)
    if (versions !== undefined && Object.keys(versions).length > 0 && current.length + older.length === 0)
      throw businessError('version-unknown', { params: { code }, data: { code } })
    return [...current, ...older].filter((row) => row.channel === channel || row.channel === allChannels)
  }

  /** Returns the templates of a code. `enabled` is not a condition of the query, because some databases would then choose the wrong index. */
  async #rows(code: string): Promise<readonly (Candidate & { readonly enabled: boolean | number })[]> {
    const rows = await this.#parts.db.query<Candidate & { readonly enabled: boolean | number }>(
      'select id, channel, locale, version, enabled from message_template where code = ?',
      [code],
    )
    return rows.map((row) => ({ ...row, id: exactInteger(row.id), version: exactInteger(row.version) }))
  }

  /** Returns the requested versions that are no longer the current ones. */
  async #replaced(versions: TemplateVersions, current: readonly Candidate[]): Promise<readonly Candidate[]> {
    const known = new Set(current.map(({ id }) => String(id)))
    const wanted = Object.entries(versions).filter(([id]) => !known.has(id))
    if (wanted.length === 0) return []
    const rows = await this.#parts.db
      .fork()
      .find(
        TemplateVersion.entity,
        { $or: wanted.map(([templateId, number]) => ({ templateId: Number(templateId), number })) },
        { fields: ['templateId', 'channel', 'locale', 'number'] },
      )
    return rows.map(({ templateId, channel, locale, number }) => ({ id: templateId, channel, locale, version: number }))
  }

  /** Reads a version; undefined if it was deleted in the meantime. The current version is also in the template itself. */
  async #read({ id, version }: Candidate): Promise<Loaded | undefined> {
    const em = this.#parts.db.fork()
    const row =
      (await em.findOne(Template.entity, { id, version }, { exclude: ['content', 'html'] })) ??
      (await em.findOne(TemplateVersion.entity, { templateId: id, number: version }, { exclude: ['content', 'html'] }))
    if (row === null) return undefined
    const { code, channel, locale, variables, attachments } = row
    const compiled: CompiledTemplate = JSON.parse(row.compiled)
    const optionalVariables = optionalVariablesOf(compiled)
    const info = { id, code, channel, locale, version, variables, optionalVariables }
    const loaded = { info, attachments: attachments ?? [], compiled }
    this.#loaded.set(keyOf({ id, version }), loaded, { size: row.compiled.length + 1 })
    return loaded
  }
}

const keyOf = ({ id, version }: Pick<Candidate, 'id' | 'version'>) => `${id}:${version}`
