import { randomUUID } from 'node:crypto'
import type { SqlEntityManager } from '@mikro-orm/sql'
import { type Database, insertRow, insertRowsIfAbsent, versionConflictData } from '@plinth/database'
import type { Operator } from '@plinth/iam'
import { auditFieldsOfCaller, type Kernel, writeAuditEntry } from '@plinth/kernel'
import type { Storage, Uploads } from '@plinth/storage'
import type { Compiler } from '../compile/compiler.ts'
import { businessError } from '../declarations.ts'
import {
  Template,
  type TemplateAttachment,
  TemplateDraft,
  type TemplateDraftRow,
  type TemplateRow,
  TemplateVersion,
  type TemplateVersionRow,
} from '../entities.ts'
import { assertTestValues, checkedSource, fieldsOf, type StoredFields, type TemplateFields } from './checked-source.ts'

/** Writes rows of templates with optimistic lock and audit, as the resource of templates does. */
export interface TemplateStore {
  get(id: number, version?: number): Promise<TemplateRow>
  change(before: TemplateRow, columns: Partial<TemplateRow>, verb: string): Promise<TemplateRow>
}

interface VersionDependencies {
  readonly db: Database
  readonly kernel: Pick<Kernel, 'contributions'>
  readonly compiler: Pick<Compiler, 'compile'>
  readonly store: (operator: Operator) => TemplateStore
  /** Undefined in a product without files. */
  readonly files: { readonly storage: Storage; readonly uploads: Uploads } | undefined
}

/** Directory of the attachments of templates on the private disk. */
const directory = 'message-templates'
export const maxAttachments = 10
/** Kinds of files that a template can contain. */
export const attachmentTypes = [
  'image/png',
  'image/jpeg',
  'image/gif',
  'application/pdf',
  'text/plain',
  'text/calendar',
]

/** A draft, or the published text if there is no draft. `version` is 0 then. */
export type DraftView = TemplateFields &
  Pick<TemplateDraftRow, 'templateId' | 'baseVersion' | 'version'> & {
    readonly published: TemplateRow
    readonly updatedAt: Date | null
    readonly updatedBy: string | null
  }

export interface DraftInput extends Omit<TemplateFields, 'attachments'> {
  /** Number of the published version that the editor has seen. */
  readonly baseVersion: number
  /** Version of the draft that the editor has seen. 0: there was no draft. */
  readonly version: number
}

/**
 * Writes the row of a published version, and ends the one before it. Runs in the transaction that changes the template.
 */
export async function recordVersion(
  db: Database,
  em: SqlEntityManager,
  row: TemplateRow,
  now: Date,
  note: string | null,
): Promise<void> {
  await endVersions(em, row.id, now)
  const { id: templateId, version: number, updatedBy: createdBy, enabled: _, createdAt, updatedAt, ...columns } = row
  await insertRow(db, TemplateVersion.entity, {
    ...columns,
    id: db.newId(),
    templateId,
    number,
    note,
    createdAt: now,
    createdBy,
    supersededAt: null,
  } as never)
}

/** Marks the published version of a template as replaced. Messages that wait for their time can still use it. */
export const endVersions = (em: SqlEntityManager, templateId: number, now: Date) =>
  em.nativeUpdate(TemplateVersion.entity, { templateId, supersededAt: null }, { supersededAt: now })

export const removeDraft = (em: SqlEntityManager, templateId: number, version?: number) =>
  em.nativeDelete(TemplateDraft.entity, { templateId, ...(version === undefined ? {} : { version }) })

/** Drafts, publication and history of templates. */
export class Versions {
  readonly #parts: VersionDependencies

  constructor(parts: VersionDependencies) {
    this.#parts = parts
  }

  /** @throws BusinessError "404" `template.unknown` */
  async draft(templateId: number): Promise<DraftView> {
    const em = this.#parts.db.fork()
    const published = await em.findOne(Template.entity, { id: templateId })
    if (published === null) throw businessError('unknown')
    const row = await em.findOne(TemplateDraft.entity, { templateId })
    if (row !== null) return { ...fieldsOf(row), ...editsOf(row), templateId, baseVersion: row.baseVersion, published }
    const none = { version: 0, updatedAt: null, updatedBy: null }
    return { ...fieldsOf(published), ...none, templateId, baseVersion: published.version, published }
  }

  /**
   * Creates or replaces the draft. The text need not compile, so that unfinished work can be saved.
   *
   * @throws BusinessError "404" `template.unknown`, "409" `template.version-conflict`, "400" `template.test-values-refused`
   */
  async save(templateId: number, input: DraftInput, operator: Operator): Promise<DraftView> {
    assertTestValues(input.testValues)
    const { attachments } = await this.draft(templateId)
    return this.#write(templateId, { ...input, attachments }, operator)
  }

  /**
   * Adds an uploaded file to the draft.
   *
   * @throws BusinessError "400" `template.too-many-attachments`, `template.attachment-taken`, `template.no-files`; errors of
   * `Uploads.take` and of `save`
   */
  async attach(
    templateId: number,
    { file, name, contentId, version }: { file: string; name?: string; contentId?: string; version: number },
    operator: Operator,
  ): Promise<DraftView> {
    const { files } = this.#parts
    if (files === undefined) throw businessError('no-files')
    const draft = await this.draft(templateId)
    const attachments = draft.attachments ?? []
    if (attachments.length >= maxAttachments)
      throw businessError('too-many-attachments', { params: { max: maxAttachments } })
    const own = name ?? file.slice(file.lastIndexOf('/') + 1)
    const taken = attachments.some(
      (one) => one.name === own || (contentId !== undefined && one.contentId === contentId),
    )
    if (taken) throw businessError('attachment-taken', { params: { name: own }, data: { field: 'name' } })
    const disk = files.storage.localDisk
    // Each attempt has a directory of its own, so that a failed one does not delete the file of another.
    const place = `${directory}/${randomUUID()}`
    const path = await files.uploads.take(file, { disk, directory: place, types: attachmentTypes, field: 'file' })
    const added: TemplateAttachment = { name: own, disk, path, ...(contentId === undefined ? {} : { contentId }) }
    try {
      return await this.#write(templateId, { ...draft, version, attachments: [...attachments, added] }, operator)
    } catch (error) {
      await files.storage.delete(disk, path)
      throw error
    }
  }

  /** Removes a file from the draft. @throws BusinessError "404" `template.attachment-unknown`; errors of `save` */
  async detach(templateId: number, name: string, version: number, operator: Operator): Promise<DraftView> {
    const draft = await this.draft(templateId)
    const all = draft.attachments ?? []
    const attachments = all.filter((one) => one.name !== name)
    if (attachments.length === all.length) throw businessError('attachment-unknown', { params: { name } })
    return this.#write(templateId, { ...draft, version, attachments }, operator)
  }

  /** @throws BusinessError "404" `template.no-draft`, "409" `template.version-conflict` */
  async discard(templateId: number, version: number | undefined, operator: Operator): Promise<void> {
    const { published } = await this.draft(templateId)
    const removed = await this.#parts.db.transactional(async (em) => {
      const count = await removeDraft(em, templateId, version)
      if (count > 0) await this.#audit('discard-draft', published, operator)
      return count
    })
    if (removed === 0) throw await this.#conflict(templateId)
  }

  /**
   * Publishes the draft as the next version, and removes it.
   *
   * @param version version of the draft that the operator has seen
   * @throws BusinessError "404" `template.no-draft`, "409" `template.version-conflict`, `template.draft-outdated` if another
   * version was published after the editor began; errors of `checkedSource`
   */
  async publish(templateId: number, version: number, note: string | null, operator: Operator): Promise<TemplateRow> {
    const draft = await this.draft(templateId)
    if (draft.version === 0) throw businessError('no-draft')
    if (draft.version !== version) throw await this.#conflict(templateId)
    const { published, baseVersion } = draft
    if (published.version !== baseVersion) {
      const params = { number: published.version }
      throw businessError('draft-outdated', { params, data: { published: published.version, baseVersion } })
    }
    const before = await this.#parts.store(operator).get(templateId, baseVersion)
    return this.#publish(before, draft, 'reject', { note, verb: 'publish', operator }, async (em) => {
      if ((await removeDraft(em, templateId, version)) === 0) throw await this.#conflict(templateId)
    })
  }

  /**
   * Publishes an earlier version again, as a new version. The draft does not change. To undo this, take back the version
   * before.
   *
   * @param current number of the published version that the operator has seen
   * @throws BusinessError "404" `template.version-unknown`, `template.unknown`, "409" `template.version-conflict`; errors of
   * `checkedSource`
   */
  async takeBack(
    id: number,
    current: number | undefined,
    note: string | null,
    operator: Operator,
  ): Promise<TemplateRow> {
    const old = await this.version(id)
    const before = await this.#parts.store(operator).get(old.templateId, current)
    return this.#publish(before, fieldsOf(old), 'remove', { note, verb: 'take-back', operator })
  }

  /**
   * Returns the compiled text with its test values. @throws BusinessError "404" `template.unknown`; errors of `checkedSource`
   */
  async sample(templateId: number, text: 'draft' | 'published') {
    const { published, ...draft } = await this.draft(templateId)
    const { code, channel, locale, compiled } = published
    if (text === 'published' || draft.version === 0) return { ...fieldsOf(published), compiled, code, channel, locale }
    return { ...(await checkedSource(draft, locale, this.#parts.compiler, 'reject')), code, channel, locale }
  }

  /** @throws BusinessError "404" `template.version-unknown` */
  async version(id: number): Promise<TemplateVersionRow> {
    const row = await this.#parts.db.fork().findOne(TemplateVersion.entity, { id })
    if (row === null) throw businessError('version-unknown', { params: { code: id } })
    return row
  }

  /** Returns another version of the same template: its number, the version before, or the published one. */
  async other({ templateId, number }: TemplateVersionRow, which: string): Promise<TemplateFields | undefined> {
    const em = this.#parts.db.fork()
    const where = {
      previous: { number: { $lt: number } },
      published: { supersededAt: null },
    }[which] ?? { number: Number(which) }
    const row = await em.findOne(TemplateVersion.entity, { templateId, ...where }, { orderBy: { number: 'desc' } })
    return row === null ? undefined : fieldsOf(row)
  }

  async #publish(
    before: TemplateRow,
    fields: TemplateFields,
    unknownValues: 'reject' | 'remove',
    { note, verb, operator }: { note: string | null; verb: string; operator: Operator },
    also: (em: SqlEntityManager) => Promise<void> = async () => {},
  ): Promise<TemplateRow> {
    const { db, compiler, store } = this.#parts
    const columns = await checkedSource(fields, before.locale, compiler, unknownValues)
    return db.transactional(async (em) => {
      const row = await store(operator).change(before, columns, verb)
      await recordVersion(db, em, row, new Date(db.clock.now()), note)
      await also(em)
      return row
    })
  }

  async #write(
    templateId: number,
    { version, ...draft }: StoredFields & Pick<DraftInput, 'baseVersion' | 'version'>,
    operator: Operator,
  ): Promise<DraftView> {
    const { db } = this.#parts
    const { published } = await this.draft(templateId)
    const now = new Date(db.clock.now())
    const columns = {
      ...fieldsOf(draft),
      baseVersion: draft.baseVersion,
      version: version + 1,
      updatedAt: now,
      updatedBy: operator.principal.username,
    }
    const written = await db.transactional(async (em) => {
      const row = { ...columns, id: db.newId(), templateId, createdAt: now }
      const count = await (version > 0
        ? em.nativeUpdate(TemplateDraft.entity, { templateId, version }, columns as never)
        : insertRowsIfAbsent(db, TemplateDraft.entity, 'templateId', [row as never]))
      if (count > 0) await this.#audit('save-draft', published, operator)
      return count
    })
    if (written === 0) throw await this.#conflict(templateId)
    return this.draft(templateId)
  }

  #audit(verb: string, { id, code, channel, locale }: TemplateRow, operator: Operator): Promise<void> {
    const entry = { ...auditFieldsOfCaller(operator), action: `template.${verb}`, subject: id }
    return writeAuditEntry(this.#parts.kernel, { ...entry, summary: { code, channel, locale } })
  }

  async #conflict(templateId: number): Promise<Error> {
    const row = await this.#parts.db.fork().findOne(TemplateDraft.entity, { templateId })
    return row === null
      ? businessError('no-draft')
      : businessError('version-conflict', { data: versionConflictData(row) })
  }
}

const editsOf = ({ version, updatedAt, updatedBy = null }: TemplateDraftRow) => ({ version, updatedAt, updatedBy })
