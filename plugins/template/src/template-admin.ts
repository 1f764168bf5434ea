import { UniqueConstraintViolationException } from '@mikro-orm/core'
import type { Label, LabelSource, PreviewVariable } from '@plinth/admin'
import { type Database, findPage, versionConflictData } from '@plinth/database'
import {
  type AuditedRequest,
  auditFieldsOfCaller,
  type BusinessError,
  type Clock,
  type Kernel,
  writeAuditEntry,
} from '@plinth/kernel'
import type { Compiler } from './compile/compiler.ts'
import type { TemplateSource } from './compile/source.ts'
import { findVariableUses } from './compile/variables.ts'
import type { TemplateValue } from './contract.ts'
import { businessError, permissionCodes } from './declarations.ts'
import { TemplateRow } from './entities.ts'
import { RenderLimitError, renderTemplate } from './render/render-program.ts'
import { copyPlainVariables, templateValueAt } from './render/values.ts'
import { canonicalLocale } from './template-service.ts'

interface PreviewedTemplate {
  readonly subject: string
  readonly content: string
  readonly html: string | null
  readonly variables: readonly PreviewVariable[]
}

export const maxPreviewVariables = 200

/**
 * Renders a template without saving it. The same limits apply as for saving and sending.
 *
 * @throws BusinessError "400" `template.html-format` for HTML without a format, `template.value-refused`,
 * `template.output-too-large`; errors of `Compiler.preview`
 */
export async function previewTemplate(
  source: TemplateSource,
  variables: Readonly<Record<string, TemplateValue>>,
  compiler: Pick<Compiler, 'preview'>,
): Promise<PreviewedTemplate> {
  const plain = copyPlainVariables(variables)
  const { html: markup, htmlFormat } = source
  if (markup !== null && htmlFormat === null) throw businessError('html-format', { data: { field: 'htmlFormat' } })
  const compiled = await compiler.preview(source)
  const parts = Object.entries({ subject: compiled.subject, content: compiled.content, html: compiled.html ?? [] })
  const uses = parts.map(([field, program]) => [field, findVariableUses([program])] as const)
  const names = [...new Set(uses.flatMap(([, used]) => [...used.keys()]))]
  try {
    const { subject, content, html } = renderTemplate(compiled, plain)
    return {
      subject,
      content,
      html: html ?? null,
      variables: names.slice(0, maxPreviewVariables).map((name) => ({
        name,
        usedIn: uses.filter(([, used]) => used.has(name)).map(([field]) => field),
        needed: compiled.variables.includes(name),
        given: templateValueAt(plain, name.split('.')) !== undefined,
      })),
    }
  } catch (error) {
    throw error instanceof RenderLimitError ? businessError('output-too-large', { text: 'preview-too-large' }) : error
  }
}

/** Identifies a template. These fields never change. */
interface TemplateName {
  readonly code: string
  readonly channel: string
  readonly locale: string
}

export interface TemplateContent extends Omit<TemplateSource, 'locale'> {
  readonly enabled: boolean
}

/** The operator who changes a template, and the request. */
export type Author = AuditedRequest & { readonly username: string }

interface TemplateAdminDependencies {
  readonly db: Database
  readonly clock: Pick<Clock, 'now'>
  readonly compiler: Pick<Compiler, 'compile'>
  readonly kernel: Pick<Kernel, 'contributions'>
}

/** Changes templates. A source is compiled before it is stored, so that every stored template can be rendered. */
export class TemplateAdmin {
  readonly #parts: TemplateAdminDependencies

  constructor(parts: TemplateAdminDependencies) {
    this.#parts = parts
  }

  /** @throws BusinessError "404" `template.unknown` */
  async get(id: number): Promise<TemplateRow> {
    const found = await this.#parts.db.fork().findOne(TemplateRow, { id })
    if (found === null) throw businessError('unknown')
    return found
  }

  /** @throws BusinessError "400" `template.locale-invalid`, "409" `template.taken`; errors of `Compiler.compile` */
  async create(name: TemplateName, content: TemplateContent, author: Author): Promise<TemplateRow> {
    const locale = canonicalLocale(name.locale)
    if (locale === undefined)
      throw businessError('locale-invalid', { params: { locale: name.locale }, data: { field: 'locale' } })
    const compiled = await this.#compiled(content, locale)
    const { db, clock } = this.#parts
    const now = new Date(clock.now())
    const id = db.newId()
    const row = {
      id,
      ...name,
      locale,
      ...compiled,
      version: 1,
      createdAt: now,
      updatedAt: now,
      updatedBy: author.username,
    }
    await db
      .transactional(async (em) => {
        await em.insert(TemplateRow, row)
        await this.#record('create', row, author)
      })
      .catch((error: unknown) => {
        throw error instanceof UniqueConstraintViolationException
          ? businessError('taken', { data: { field: 'code' }, cause: error })
          : error
      })
    return this.get(id)
  }

  /**
   * Replaces the content if the stored version still equals `version`.
   *
   * @throws BusinessError "404" `template.unknown`, "409" `template.version-conflict`; errors of `Compiler.compile`
   */
  async update(id: number, content: TemplateContent, version: number, author: Author): Promise<TemplateRow> {
    const before = await this.get(id)
    if (before.version !== version) throw this.#conflict(before)
    const compiled = await this.#compiled(content, before.locale)
    const { db, clock } = this.#parts
    await db.transactional(async (em) => {
      const changes = {
        ...compiled,
        version: version + 1,
        updatedAt: new Date(clock.now()),
        updatedBy: author.username,
      }
      const written = await em.nativeUpdate(TemplateRow, { id, version }, changes)
      if (written === 0) throw this.#conflict(await this.get(id))
      await this.#record('update', before, author)
    })
    return this.get(id)
  }

  /** @throws BusinessError "404" `template.unknown`, "409" `template.version-conflict` */
  async delete(id: number, version: number | undefined, author: Author): Promise<void> {
    const before = await this.get(id)
    await this.#parts.db.transactional(async (em) => {
      const deleted = await em.nativeDelete(TemplateRow, { id, version: version ?? before.version })
      if (deleted === 0) throw this.#conflict(await this.get(id))
      await this.#record('delete', before, author)
    })
  }

  async #compiled(content: TemplateContent, locale: string) {
    const { subject, html, htmlFormat, enabled } = content
    if ((html === null) !== (htmlFormat === null)) throw businessError('html-format', { data: { field: 'htmlFormat' } })
    const compiled = await this.#parts.compiler.compile({ subject, content: content.content, html, htmlFormat, locale })
    return {
      subject,
      content: content.content,
      html,
      htmlFormat,
      enabled,
      compiled: JSON.stringify(compiled),
      variables: [...compiled.variables],
    }
  }

  #conflict(row: TemplateRow): BusinessError {
    return businessError('version-conflict', { data: versionConflictData(row) })
  }

  /** Writes an audit entry in the current transaction. */
  #record(verb: string, { id, code, channel, locale }: TemplateName & { readonly id: number }, author: Author) {
    const entry = {
      ...auditFieldsOfCaller(author),
      action: `template.${verb}`,
      subject: id,
      summary: { code, channel, locale },
    }
    return writeAuditEntry(this.#parts.kernel, entry)
  }
}

/** Rows that a search reads. A code has one row for each channel and language, so there are more rows than labels. */
const window = { orderBy: [{ property: 'code', direction: 'asc' }], size: 100, offset: 0, count: 'none' } as const

/**
 * Labels of templates. Their id is the code, because messages contain it. A search finds only the beginning of a code,
 * so that it uses an index.
 */
export const templateLabels = (db: Database): LabelSource => ({
  permission: permissionCodes.view,
  scope: 'none',
  byIds: async (codes) => labelsOf(await db.fork().find(TemplateRow, { code: { $in: [...codes] } })),
  async search(text) {
    const where = text === '' ? {} : { code: { $gte: text, $lt: `${text}\u{10ffff}` } }
    return labelsOf((await findPage<TemplateRow>(db.fork(), TemplateRow, where, window)).items)
  },
})

function labelsOf(rows: readonly Pick<TemplateRow, 'code' | 'subject'>[]): readonly Label[] {
  const subjects = new Map(rows.map(({ code, subject }) => [code, subject]))
  return [...subjects].map(([id, subject]) => ({ id, name: subject === '' ? id : `${id} · ${subject}` })).slice(0, 20)
}
