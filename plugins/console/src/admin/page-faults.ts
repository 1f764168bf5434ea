import type {
  PageAction,
  PageBoard,
  PageBulkAction,
  PageColumn,
  PageDeclaration,
  PageForm,
  PageImport,
  PageLabelPicker,
  PageLivePreview,
  PagePreview,
  PageValue,
} from '@plinth/admin'
import type { Schema } from '@plinth/http'
import { linkedFieldProblems } from './field-choices.ts'
import { fileFieldProblems, isFile } from './file-fields.ts'
import { frameProblems } from './frames/frame-faults.ts'
import { itemOf, memberAt, membersOf, type Operation, withoutNull } from './operations.ts'
import { createdProblems, linkedMembers, type ObjectPages, objectPages, outcomeProblems } from './outcomes.ts'
import { builtInPages } from './own-pages.ts'
import { boardValues } from './page-views.ts'
import type { PlacedTimeline } from './timelines.ts'

type Operations = ReadonlyMap<string, Operation>

/** Names of members whose values are never shown. */
const secretName = /password|secret$|token$|privateKey/i

/** @param field member of the result of an operation */
export const missingTitleMessage = (field: string) => {
  const name = field.split('.').at(-1)
  return `"${field}" has no title: add "${name}" below "fields" to the messages of its plugin, in both languages`
}

const opensAnId = (page: string) => builtInPages.some(({ id, opens }) => id === page && opens !== undefined)

/** For each renderer: returns whether it can show values of this schema. */
const shows: Readonly<Record<PageColumn['as'], (schema: Schema) => boolean>> = {
  text: ({ type }) => type !== 'object' && type !== 'array',
  time: ({ format }) => format === 'date-time',
  count: ({ type }) => type === 'integer' || type === 'number',
  amount: ({ type }) => type === 'string' || type === 'integer',
  flag: ({ type }) => type === 'boolean',
  status: (schema) => schema['enum'] !== undefined || schema['anyOf'] !== undefined || schema['type'] === 'string',
  chips: ({ type }) => type === 'array',
  reference: ({ type }) => type === 'string' || type === 'integer' || type === 'array',
  json: () => true,
  difference: () => true,
  rows: ({ type }) => type === 'array',
  html: ({ type }) => type === 'string',
  described: ({ type }) => type === 'object',
  file: isFile,
}

/**
 * Returns the problems of the pages of a product: unknown members, missing parameters, and renderers that do not fit.
 * Each problem is one sentence. The compiler finds most of these problems. This function also checks plugins that were
 * compiled separately.
 */
export function findPageProblems(
  pages: Iterable<PageDeclaration>,
  operations: Operations,
  kinds: { readonly has: (kind: string) => boolean },
): readonly string[] {
  const declared = new Map([...pages].map((page) => [page.id, page]))
  return [...declared.values()].flatMap((page) => {
    const problems =
      page.kind === 'frame'
        ? frameProblems(page, operations)
        : new PageLook(operations, kinds, declared).problemsOf(page, operations.get(page.source))
    // Several parts of a page can have the same problem, for example both languages of a text, or an action and its undo.
    return [...new Set(problems)].map((problem) => `page "${page.id}": ${problem}`)
  })
}

/** Returns the problems of the timelines. Timelines of pages that are not loaded have no effect. */
export function findTimelineProblems(
  timelines: readonly PlacedTimeline[],
  operations: Operations,
  pages: ReadonlyMap<string, PageDeclaration>,
  kinds: { readonly has: (kind: string) => boolean },
): readonly string[] {
  return timelines.flatMap((timeline) => {
    const page = pages.get(timeline.page)
    if (page === undefined) return []
    const problems =
      page.kind === 'detail'
        ? new PageLook(operations, kinds, pages).problemsOfTimeline(timeline, page)
        : [`"${page.id}" is not a page of one object`]
    return problems.map((problem) => `timeline "${timeline.id}": ${problem}`)
  })
}

type ListOf = Extract<PageDeclaration, { kind: 'list' }>
type DetailOf = Extract<PageDeclaration, { kind: 'detail' }>

class PageLook {
  readonly faults: string[] = []
  readonly #operations: Operations
  readonly #kinds: { readonly has: (kind: string) => boolean }
  readonly #pages: ReadonlyMap<string, PageDeclaration>
  readonly #linked: ReadonlyMap<string, string>
  readonly #pageOf: ObjectPages

  constructor(
    operations: Operations,
    kinds: { readonly has: (kind: string) => boolean },
    pages: ReadonlyMap<string, PageDeclaration>,
  ) {
    this.#operations = operations
    this.#kinds = kinds
    this.#pages = pages
    this.#linked = linkedMembers(pages.values())
    this.#pageOf = objectPages(pages.values(), operations)
  }

  problemsOf(page: ListOf | DetailOf, source: Operation | undefined): readonly string[] {
    if (source === undefined) this.faults.push(`no loaded plugin provides the operation "${page.source}"`)
    else if (page.kind === 'list') this.#list(page, source)
    else this.#detail(page, source)
    return this.faults
  }

  /** Checks entries of a timeline on the page of an object. */
  problemsOfTimeline(
    { source, filter = {}, objectId, at, columns, opens }: PlacedTimeline,
    page: DetailOf,
  ): readonly string[] {
    const operation = this.#operation(source)
    const item = operation && itemOf(operation)
    if (operation === undefined) return this.faults
    if (operation.method !== 'GET' || item === undefined) this.faults.push(`${source} does not return a list`)
    if (!shows.time(withoutNull(memberAt(item, at)) ?? {})) this.faults.push(`"${at}" is not a time of the result`)
    const given = [...Object.keys(filter), ...(objectId === undefined ? [] : [objectId])]
    for (const name of given)
      if (!(name in operation.query || name in operation.params))
        this.faults.push(`"${name}" is not a parameter of ${source}`)
    for (const name of Object.keys(operation.params))
      if (!given.includes(name)) this.faults.push(`${source} needs the path parameter "${name}"`)
    this.#given(filter, this.#operations.get(page.source)?.data)
    this.#columns(columns, item)
    if (opens !== undefined) {
      this.#detailOf(opens.page)
      this.#given({ id: { field: opens.field } }, item)
    }
    return this.faults
  }

  #list(page: ListOf, source: Operation): void {
    const item = itemOf(source)
    if (memberAt(item, page.key) === undefined) this.faults.push(`its key "${page.key}" is not a member of a row`)
    this.#columns(page.columns, item)
    for (const name of [
      ...(page.search === undefined ? [] : [page.search]),
      ...(page.filters ?? []).map(({ name }) => name),
    ]) {
      if (!(name in source.query)) this.faults.push(`"${name}" is not a parameter of ${source.id}`)
    }
    for (const { options } of page.filters ?? []) this.#choice(options)
    const taken = [page.search, ...(page.filters ?? []).map(({ name }) => name)]
    for (const name of page.find ?? []) {
      if (!taken.includes(name))
        this.faults.push(`"find" lists "${name}", which is neither the search nor a filter of the page`)
      if (Object.keys(source.params).length > 0)
        this.faults.push(`"find" needs an operation without path parameters; ${source.id} has some`)
    }
    const sorts = source.query['sort']?.['x-sort'] ?? []
    if (page.sort !== undefined && !sorts.includes(page.sort.replace(/^-/, ''))) {
      this.faults.push(`${source.id} does not sort by "${page.sort}"`)
    }
    if (page.detail !== undefined) this.#detailOf(page.detail)
    this.#actions(page.actions, item)
    for (const bulk of page.bulk ?? []) this.#bulk(bulk)
    for (const { page: id, optional = false } of page.links ?? [])
      if (!optional && !this.#pages.has(id) && !builtInPages.some((own) => own.id === id))
        this.faults.push(`"links" lists the page "${id}", which does not exist`)
    if (page.edit !== undefined) this.#edit(page.edit, page, item)
    if (page.board !== undefined) this.#board(page.board, page, source)
    if (page.import !== undefined) this.#import(page.import, page)
    for (const form of [...(page.create === undefined ? [] : [page.create]), ...(page.forms ?? [])])
      this.#form(form, undefined)
  }

  /** Checks the form of the cells. Each of its fields is sent alone, in a small dialog. */
  #edit(edit: PageForm, { columns }: ListOf, item: Schema | undefined): void {
    this.#form(edit, item)
    const { operation, fields, body = {}, version = '', whole, preview, once, answer, reason } = edit
    const sent = [...Object.keys(body), version]
    const others = this.#operations.get(operation)?.body?.required?.filter((name) => !sent.includes(name)) ?? []
    if (others.length > 0 || whole)
      this.faults.push(`"edit" sends one field, but ${operation} requires ${others.join(', ')}`)
    if (reason === 'required' || [preview, once, answer].some((option) => option !== undefined))
      this.faults.push(`${operation} needs a dialog, so it cannot change a cell`)
    for (const name of fields) {
      if (name.includes('.')) this.faults.push(`"${name}" in "edit" is part of a structure, so it cannot be sent alone`)
      if (!columns.some(({ field }) => field === name))
        this.faults.push(`"${name}" in "edit" is not a column of the list`)
    }
  }

  #board({ column, cards = [] }: PageBoard, { columns, actions = [] }: ListOf, source: Operation): void {
    const values = boardValues(memberAt(itemOf(source), column))
    if (values.length === 0) this.faults.push(`"${column}" has no list of values, so it cannot be a board`)
    if (!(column in source.query)) this.faults.push(`"${column}" is not a parameter of ${source.id}`)
    for (const name of [column, ...cards])
      if (!columns.some(({ field }) => field === name))
        this.faults.push(`"${name}" in "board" is not a column of the list`)
    const targets = actions.flatMap(({ leadsTo }) => leadsTo ?? [])
    if (targets.length === 0) this.faults.push('"board" needs an action with "leadsTo", otherwise no card can be moved')
    for (const value of targets)
      if (!values.includes(value)) this.faults.push(`"${value}" in "leadsTo" is not a value of "${column}"`)
  }

  #import({ operation: id }: PageImport, { create }: ListOf): void {
    const operation = this.#operation(id)
    if (operation === undefined) return
    if (create === undefined) this.faults.push('"import" needs "create", whose fields the rows have')
    this.#body(operation, ['rows', 'mode'])
    for (const name of ['outcome', 'valid', 'created', 'problems'])
      if (memberAt(operation.data, name) === undefined)
        this.faults.push(`"${name}" is not a member of the result of ${id}`)
  }

  #detail(page: DetailOf, { data, params }: Operation): void {
    if (page.name !== undefined && memberAt(data, page.name) === undefined)
      this.faults.push(`its name "${page.name}" is not a member of the result`)
    if (page.param !== undefined && !(page.param in params)) this.faults.push(`"${page.param}" is not a path parameter`)
    for (const { columns } of page.sections) this.#columns(columns, data)
    for (const { at, each, columns = [] } of page.moments ?? []) {
      const item = each === undefined ? data : withoutNull(memberAt(data, each))?.items
      if (!shows.time(withoutNull(memberAt(item, at)) ?? {})) this.faults.push(`"${at}" is not a time of the result`)
      this.#columns(columns, item)
    }
    this.#actions(page.actions, data)
    if (page.form !== undefined) this.#form(page.form, data)
    for (const { page: id, filter, optional = false } of page.related ?? []) {
      const related = this.#pages.get(id)
      if (related === undefined && optional) continue
      const source = related && this.#operations.get(related.source)
      if (related?.kind !== 'list' && related?.kind !== 'detail')
        this.faults.push(`the related page "${id}" is not a list or a detail`)
      for (const name of Object.keys(filter)) {
        const isKnown = source === undefined || name in source.query || name in source.params
        if (!isKnown) this.faults.push(`"${name}" is not a filter of "${id}"`)
      }
      for (const name of Object.keys(source?.params ?? {}))
        if (!(name in filter)) this.faults.push(`the related page "${id}" needs the path parameter "${name}"`)
      this.#given(filter, data)
    }
  }

  #columns(columns: readonly PageColumn[], item: Schema | undefined): void {
    for (const {
      field,
      as,
      of,
      before,
      format,
      fallback,
      opens,
      currency,
      decimals,
      symbol,
      columns: inner,
      unit,
      total,
    } of columns) {
      const schema = withoutNull(memberAt(item, field))
      if (schema === undefined) this.faults.push(`"${field}" is not a member of the result`)
      else if (!shows[as](schema)) this.faults.push(`"${field}" cannot be shown as ${as}`)
      if (schema !== undefined && schema['x-title'] === undefined) this.faults.push(missingTitleMessage(field))
      if (total && ((as !== 'count' && as !== 'amount') || unit === 'percent'))
        this.faults.push(`"${field}" has a total, but is neither a count nor an amount`)
      if (secretName.test(field)) this.faults.push(`"${field}" may contain a secret, which a page must not show`)
      for (const name of [before, format, fallback, currency, decimals, symbol])
        if (name !== undefined && memberAt(item, name) === undefined)
          this.faults.push(`"${name}" is not a member of the result`)
      if (opens !== undefined && memberAt(item, opens.base) === undefined)
        this.faults.push(`"${opens.base}" is not a member of the result`)
      if (inner !== undefined) this.#columns(inner, schema?.items)
      if (of?.optional !== true) this.#kind(of?.labels)
      if (of?.page !== undefined && !opensAnId(of.page)) this.#detailOf(of.page)
    }
  }

  #actions(actions: readonly PageAction[] = [], item: Schema | undefined): void {
    for (const action of actions) {
      if (this.#isLeftOut(action)) continue
      this.#action(action, item)
      if (action.undo === undefined) continue
      const inverse = actions.find(({ operation }) => operation === action.undo)
      if (inverse === undefined) this.faults.push(`"${action.undo}" is not an operation of an action of this page`)
      // Neither action has a dialog, so neither can ask for input.
      for (const { operation, ask, preview, type, once, answer, reason } of [action, ...(inverse ? [inverse] : [])]) {
        const needsDialog = [ask, preview, type, once, answer].some((option) => option !== undefined)
        if (needsDialog || reason === 'required') this.faults.push(`${operation} needs a dialog, so it has no undo`)
      }
    }
  }

  #action(action: PageAction, item: Schema | undefined): void {
    const operation = this.#operation(action.operation)
    if (operation === undefined) return
    const { params, query = {}, body = {}, ask = [], when = {}, type, options = {} } = action
    this.#path(operation, params)
    for (const name of Object.keys(query)) {
      if (!(name in operation.query)) this.faults.push(`"${name}" is not a parameter of ${operation.id}`)
    }
    this.#body(operation, [...Object.keys(body), ...ask])
    this.#shown(action, operation, item)
    for (const choice of Object.values(options)) this.#choice(choice)
    this.faults.push(...linkedFieldProblems(action, { fields: ask, operation, item }, this.#operations))
    this.faults.push(...fileFieldProblems(ask, operation, this.#operations))
    for (const values of [params, query, body]) this.#given(values, item)
    this.#confirm(action, item)
    for (const name of [...Object.keys(when), ...(type === undefined ? [] : [type])]) {
      if (memberAt(item, name) === undefined) this.faults.push(`"${name}" is not a member of the result`)
    }
    const known = memberAt(item, 'version') !== undefined
    const takes = 'version' in membersOf(operation.body) || 'version' in operation.query
    if (known && takes && !('version' in body) && !('version' in query)) {
      this.faults.push(`the version is not sent to ${operation.id}, so concurrent changes would be overwritten`)
    }
  }

  #bulk(bulk: PageBulkAction): void {
    const { operation, ids, ask = [], body = {} } = bulk
    const found = this.#operation(operation)
    if (found === undefined) return
    if (memberAt(found.body, ids)?.['type'] !== 'array') {
      this.faults.push(`"${ids}" is not a list in the body of ${operation}`)
    } else this.#body(found, [ids, ...ask, ...Object.keys(body)])
    this.#shown(bulk, found, undefined)
    this.#confirm(bulk, undefined)
  }

  /** Checks what is shown before a write (preview) and after it (response). */
  #shown(write: PageForm | PageAction | PageBulkAction, operation: Operation, item: Schema | undefined): void {
    const { preview, answer = [], outcome, created = this.#pageOf(operation) } = write
    const shown = { answer, ...(created && { created }) }
    const result = itemOf(operation) ?? operation.data
    this.#columns(answer, result)
    this.faults.push(...outcomeProblems(outcome, operation), ...createdProblems(shown, operation, item, this.#linked))
    if (created !== undefined) {
      this.#detailOf(created.page)
      this.#given({ id: { field: created.field } }, result)
    }
    if (typeof preview === 'string') this.#exist(operation, [preview])
    else if (preview !== undefined) this.#preview(preview, item)
  }

  #preview(
    { operation: id, params = {}, body = {}, takes = [], columns }: PagePreview,
    item: Schema | undefined,
  ): void {
    const operation = this.#operation(id)
    if (operation === undefined) return
    this.#path(operation, params)
    this.#body(operation, [...Object.keys(body), ...takes])
    this.#columns(columns, itemOf(operation) ?? operation.data)
    for (const values of [params, body]) this.#given(values, item)
  }

  #form(form: PageForm, item: Schema | undefined): void {
    if (this.#isLeftOut(form)) return
    const { operation: id, fields, params = {}, body = {}, version, options = {} } = form
    const operation = this.#operation(id)
    if (operation === undefined) return
    this.#path(operation, params)
    this.#body(operation, [...Object.keys(body), ...fields, ...(version === undefined ? [] : [version])])
    this.#shown(form, operation, item)
    for (const values of [params, body]) this.#given(values, item)
    for (const choice of Object.values(options)) this.#choice(choice)
    this.faults.push(...linkedFieldProblems(form, { fields, operation, item }, this.#operations))
    this.faults.push(...fileFieldProblems(fields, operation, this.#operations))
    this.#layout(form, operation, item)
    if (form.livePreview !== undefined) this.#livePreview(form.livePreview, form, item)
    const sends = version !== undefined || 'version' in body
    if (item !== undefined && 'version' in membersOf(operation.body) && !sends) {
      this.faults.push(`the version is not sent to ${id}, so concurrent changes would be overwritten`)
    }
  }

  /** Checks that groups and conditions name fields of the form, and that a condition can be met. */
  #layout({ fields, sections = [], showWhen = {} }: PageForm, { body }: Operation, item: Schema | undefined): void {
    const grouped = sections.flatMap((section) => section.fields)
    for (const name of [...grouped, ...Object.keys(showWhen)])
      if (!fields.includes(name)) this.faults.push(`"${name}" is not a field of the form`)
    for (const name of new Set(grouped))
      if (grouped.indexOf(name) !== grouped.lastIndexOf(name)) this.faults.push(`"${name}" is in two sections`)
    for (const name of Object.values(showWhen).flatMap((members) => Object.keys(members))) {
      const isKnown = fields.includes(name) ? memberAt(body, name) !== undefined : memberAt(item, name) !== undefined
      if (!isKnown) this.faults.push(`"${name}" in "showWhen" is neither a field nor a member of the result`)
    }
  }

  #livePreview(preview: PageLivePreview, { fields }: PageForm, item: Schema | undefined): void {
    this.#preview(preview, item)
    const { operation: id, takes, samples } = preview
    for (const name of takes) if (!fields.includes(name)) this.faults.push(`"${name}" is not a field of the form`)
    const operation = this.#operations.get(id)
    if (samples === undefined || operation === undefined) return
    this.#exist(operation, [samples.into])
    if (memberAt(operation.data, samples.of)?.['type'] !== 'array')
      this.faults.push(`"${samples.of}" is not a list in the result of ${id}`)
  }

  /** Returns true for a write whose plugin may be missing, and is. */
  #isLeftOut({ optional = false, operation }: PageAction | PageForm): boolean {
    return optional && !this.#operations.has(operation)
  }

  #operation(id: string): Operation | undefined {
    const operation = this.#operations.get(id)
    if (operation === undefined) this.faults.push(`no loaded plugin provides the operation "${id}"`)
    return operation
  }

  /** Checks that a page sets exactly the path parameters of an operation. */
  #path({ id, params }: Operation, given: Readonly<Record<string, unknown>>): void {
    for (const name of Object.keys(params))
      if (!(name in given)) this.faults.push(`the path parameter "${name}" of ${id} is missing`)
    for (const name of Object.keys(given))
      if (!(name in params)) this.faults.push(`"${name}" is not in the path of ${id}`)
  }

  /** Checks that each sent member exists, and that each required member is sent. */
  #body(operation: Operation, names: readonly string[]): void {
    this.#exist(operation, names)
    const sent = new Set(names.map((name) => name.split('.')[0]))
    for (const name of operation.body?.required ?? []) {
      if (!sent.has(name)) this.faults.push(`"${name}" is missing, which the body of ${operation.id} requires`)
    }
  }

  #exist({ id, body }: Operation, names: readonly string[]): void {
    for (const name of names)
      if (memberAt(body, name) === undefined) this.faults.push(`"${name}" is not a member of the body of ${id}`)
  }

  #given(values: Readonly<Record<string, PageValue>>, item: Schema | undefined): void {
    for (const value of Object.values(values)) {
      for (const name of 'field' in value ? [value.field] : 'list' in value ? value.list : [])
        if (memberAt(item, name) === undefined) this.faults.push(`"${name}" is not a member of the result`)
    }
  }

  /** Checks the placeholders in a confirmation text. Members of the row replace them. */
  #confirm({ confirm = '' }: PageAction | PageBulkAction, item: Schema | undefined): void {
    for (const text of typeof confirm === 'string' ? [confirm] : Object.values(confirm)) {
      for (const [, name = ''] of text.matchAll(/(?<!\{)\{([\w.]+)\}(?!\})/g))
        this.faults.push(`"confirm" contains {${name}}: placeholders have two braces, {{${name}}}`)
      for (const [, name = ''] of text.matchAll(/\{\{([\w.]+)\}\}/g))
        if (memberAt(item, name) === undefined) this.faults.push(`"${name}" in "confirm" is not a member of the result`)
    }
  }

  #kind(kind: string | undefined): void {
    if (kind !== undefined && !this.#kinds.has(kind))
      this.faults.push(`no loaded plugin provides labels of kind "${kind}"`)
  }

  #choice(choice: PageLabelPicker | undefined): void {
    if (choice?.optional !== true) this.#kind(choice?.labels)
  }

  #detailOf(id: string): void {
    if (this.#pages.get(id)?.kind !== 'detail') this.faults.push(`"${id}" is not a detail page`)
  }
}
