import { type Database, exactInteger } from '@plinth/database'
import { LRUCache } from 'lru-cache'
import type { CompiledTemplate } from './compile/program.ts'
import type { RenderedTemplate, TemplateInfo, TemplateQuery, Templates } from './contract.ts'
import { MessageTemplate } from './entities.ts'
import { refusal } from './failures.ts'
import { RenderedTooMuch } from './render/render-program.ts'
import { renderTemplate } from './render/render-template.ts'
import { plainVariables, valueAt } from './render/values.ts'
import { allChannels, byFit, type Candidate } from './template-match.ts'

interface TemplateServiceParts {
  readonly db: Pick<Database, 'fork' | 'query'>
  /** Asked at every rendering: the default language may change. */
  readonly defaultLocale: () => string
  /** Characters of compiled templates that are kept. */
  readonly cacheSize: number
}

interface Loaded {
  readonly info: TemplateInfo
  readonly compiled: CompiledTemplate
}

/**
 * Finds and renders templates. Which template and which version counts is asked of the database each time, by one read of an
 * index; what a version was compiled to never changes and is kept. So a change counts at once on every instance, and no
 * instance has to hear of it.
 */
export class TemplateService implements Templates {
  readonly #parts: TemplateServiceParts
  /** By id and version. */
  readonly #loaded: LRUCache<string, Loaded>

  constructor(parts: TemplateServiceParts) {
    this.#parts = parts
    this.#loaded = new LRUCache({ max: 10_000, maxSize: parts.cacheSize })
  }

  async find(query: TemplateQuery): Promise<TemplateInfo | undefined> {
    return (await this.#load(query))?.info
  }

  async render({ variables, ...query }: Parameters<Templates['render']>[0]): Promise<RenderedTemplate | undefined> {
    const loaded = await this.#load(query)
    if (loaded === undefined) return undefined
    const { info, compiled } = loaded
    const plain = plainVariables(variables)
    try {
      return {
        template: info,
        ...renderTemplate(compiled, plain),
        missingVariables: info.variables.filter((path) => valueAt(plain, path.split('.')) === undefined),
      }
    } catch (error) {
      if (!(error instanceof RenderedTooMuch)) throw error
      throw refusal('output-too-large', { params: { code: info.code }, data: { code: info.code } })
    }
  }

  async #load(query: TemplateQuery): Promise<Loaded | undefined> {
    const [best] = byFit(await this.#candidates(query), query, this.#parts.defaultLocale())
    if (best === undefined) return undefined
    return this.#loaded.get(keyOf(best)) ?? this.#read(best.id)
  }

  async #candidates({ code, channel }: TemplateQuery): Promise<readonly Candidate[]> {
    // Without a condition on `enabled`, of which some databases would rather use the index.
    const rows = await this.#parts.db.query<Candidate & { readonly enabled: boolean | number }>(
      'select id, channel, locale, version, enabled from message_template where code = ? and channel in (?, ?)',
      [code, channel, allChannels],
    )
    return rows
      .filter(({ enabled }) => Boolean(enabled))
      .map((row) => ({ ...row, id: exactInteger(row.id), version: exactInteger(row.version) }))
  }

  /** The newest version; `undefined` when it was deleted meanwhile. */
  async #read(id: number): Promise<Loaded | undefined> {
    const row = await this.#parts.db.fork().findOne(MessageTemplate, { id }, { exclude: ['content', 'html'] })
    if (row === null) return undefined
    const { code, channel, locale, version, variables } = row
    const info = { id, code, channel, locale, version, variables }
    const compiled: CompiledTemplate = JSON.parse(row.compiled)
    const loaded = { info, compiled }
    this.#loaded.set(keyOf(row), loaded, { size: row.compiled.length + 1 })
    return loaded
  }
}

const keyOf = ({ id, version }: Pick<Candidate, 'id' | 'version'>) => `${id}:${version}`
