import type {
  DetailPageDeclaration,
  ListPageDeclaration,
  PageAction,
  PageBulkAction,
  PageChoices,
  PageColumn,
  PageForm,
  PageLabelPicker,
  PagePreview,
  PageRefresh,
} from '@plinth/admin'
import { type Schema, spoken } from '@plinth/http'
import { type LocalizedText, localize } from '@plinth/kernel'
import { choicesView } from './field-choices.ts'
import { uploadView } from './file-fields.ts'
import { type HelpTexts, helpOf, itemOf, memberAt, membersOf, type Operation, withoutNull } from './operations.ts'
import { type BuiltInPage, builtInPages } from './own-pages.ts'

type Operations = ReadonlyMap<string, Operation>

/** Language and permissions of the user who opens the page. */
export interface PageViewer {
  readonly locale: string
  can(operation: Operation): boolean
  /** Returns true if the product has this page and the user may open it. */
  sees(page: Pick<BuiltInPage, 'source'>): boolean
  /** Returns a page of the product. */
  page(id: string): Pick<BuiltInPage, 'source'> | undefined
  /** Returns whether a loaded plugin provides labels of a kind. */
  hasLabels(kind: string): boolean
}

const translate = (text: LocalizedText, { locale }: PageViewer) => localize(text, locale)
/**
 * Returns how the browser keeps the page up to date: `hinted` (the server reports changes, and the page also polls) or
 * `polled`.
 */
const lifeOf = (live: PageRefresh | undefined) => (live === true ? 'polled' : live ? 'hinted' : undefined)

const given = <T, U>(value: T | undefined, name: string, view: (value: T) => U) =>
  value === undefined ? {} : { [name]: view(value) }

/** Returns the title of a schema member in the user's language. A member without a title has its name in words. */
export function titleOf(schema: Schema | undefined, name: string, { locale }: Pick<PageViewer, 'locale'>): string {
  const titles = schema?.['x-title']
  return titles?.[locale] ?? schema?.title ?? spoken(name)
}

const labelsOf = (labels: Readonly<Record<string, LocalizedText>>, reader: PageViewer) =>
  Object.fromEntries(Object.entries(labels).map(([value, text]) => [value, translate(text, reader)]))

/** Texts for the values of members, by member name. */
type Labels = ReadonlyMap<string, Readonly<Record<string, LocalizedText>>>

/**
 * Returns the texts for the values that the columns of a page show. The forms and filters of the page use the same
 * texts.
 */
const labelsIn = (columns: readonly PageColumn[]): Labels =>
  new Map(columns.flatMap(({ field, labels }) => (labels === undefined ? [] : [[field, labels] as const])))

/** Returns the help text of a field in the language of the user. */
const helpView = (helps: HelpTexts, name: string, reader: PageViewer) =>
  given(helpOf(helps, name), 'description', (text) => translate(text, reader))

/** Where columns come from: the schema of a row, and the help texts of its plugin. */
interface ColumnSource {
  readonly item: Schema | undefined
  readonly helps: HelpTexts
}

function columnView(
  { title, labels, columns, of, ...column }: PageColumn,
  { item, helps }: ColumnSource,
  reader: PageViewer,
): Readonly<Record<string, unknown>> {
  const schema = memberAt(item, column.field)
  return {
    ...column,
    ...given(of, 'of', (kind) => referenceView(kind, reader)),
    title: title === undefined ? titleOf(schema, column.field, reader) : translate(title, reader),
    ...helpView(helps, column.field, reader),
    ...given(labels, 'labels', (texts) => labelsOf(texts, reader)),
    ...(column.as === 'json' || column.as === 'difference' ? { titles: titlesIn(schema, reader) } : {}),
    ...given(columns, 'columns', (inner) => columnViews(inner, { item: withoutNull(schema)?.items, helps }, reader)),
  }
}

/** Returns the titles of the members of a structured value by name, including those of nested structures. */
function titlesIn(schema: Schema | undefined, reader: PageViewer): Readonly<Record<string, string>> {
  const { properties = {}, items } = withoutNull(schema) ?? {}
  const inner = [...Object.values(properties), ...(items === undefined ? [] : [items])]
  const own = Object.entries(properties).map(([name, part]) => [name, titleOf(part, name, reader)] as const)
  return Object.assign({}, ...inner.map((part) => titlesIn(part, reader)), Object.fromEntries(own))
}

/**
 * Returns the link of a column to another object. A custom page receives the id in its URL. If the user may not see
 * that page, there is no link.
 */
function referenceView({ labels: kind, page }: NonNullable<PageColumn['of']>, reader: PageViewer) {
  const labels = reader.hasLabels(kind) ? kind : ''
  const own = builtInPages.find(({ id }) => id === page)
  if (own === undefined) return { labels, ...given(page, 'page', (id) => id) }
  return reader.sees(own) ? { labels, page: own.id, opens: own.opens ?? [] } : { labels }
}

export const columnViews = (columns: readonly PageColumn[], source: ColumnSource, reader: PageViewer) =>
  columns.map((column) => columnView(column, source, reader))

function fieldView(
  name: string,
  schema: Schema | undefined,
  isRequired: boolean,
  helps: HelpTexts,
  reader: PageViewer,
) {
  const { description: _, ...rules } = wordedSchema(withoutNull(schema) ?? {}, name, helps, reader)
  const choices = schema?.anyOf
  return {
    name,
    title: titleOf(schema, name, reader),
    required: isRequired,
    schema: rules,
    nullable: choices?.some(({ type }) => type === 'null') ?? false,
    ...helpView(helps, name, reader),
  }
}

/** Returns a schema whose members have their title and help text in the language of the user. */
function wordedSchema(schema: Schema, name: string, helps: HelpTexts, reader: PageViewer): Schema {
  const { 'x-title': _, title: __, description: ___, items, properties, ...rules } = schema
  const member = ([own, part]: readonly [string, Schema]) => {
    const worded = wordedSchema(withoutNull(part) ?? {}, `${name}.${own}`, helps, reader)
    return [own, { ...worded, title: titleOf(part, own, reader) }] as const
  }
  return {
    ...rules,
    ...helpView(helps, name, reader),
    ...given(items, 'items', (item) => ({ ...wordedSchema(item, name, helps, reader), description: undefined })),
    ...given(properties, 'properties', (members) => Object.fromEntries(Object.entries(members).map(member))),
  }
}

function choiceView(choice: PageLabelPicker | undefined, reader: PageViewer) {
  if (choice === undefined) return {}
  const { labels, title, more, free } = choice
  const own = given(title, 'title', (text) => translate(text, reader))
  if (!reader.hasLabels(labels)) return own
  const texts = given(more, 'more', (values) => labelsOf(values, reader))
  return { options: { labels, ...texts, ...given(free, 'free', (value) => value) }, ...own }
}

/** Returns the choices of a field. Without the plugin of their operation, the field has none. */
function operationChoices(choices: PageChoices | undefined, operations: Operations, reader: PageViewer) {
  const operation = operations.get(choices?.operation ?? '')
  if (choices === undefined || operation === undefined) return {}
  return {
    choices: choicesView(choices, callOf(operation, reader), operation),
    ...given(choices.title, 'title', (text) => translate(text, reader)),
  }
}

/** How the user chooses the values of fields. */
interface Pickers {
  readonly options?: PageForm['options'] | undefined
  readonly choices?: PageForm['choices'] | undefined
}

function bodyFields(
  names: readonly string[],
  { body, helps }: Operation,
  operations: Operations,
  reader: PageViewer,
  known: Labels,
  { options = {}, choices = {} }: Pickers = {},
) {
  return names.map((name) => ({
    ...fieldView(name, memberAt(body, name), isRequired(body, name), helps, reader),
    ...given(known.get(name), 'labels', (texts) => labelsOf(texts, reader)),
    ...(name.includes('.') ? { title: titleWithin(body, name, reader) } : {}),
    ...choiceView(options[name], reader),
    ...operationChoices(choices[name], operations, reader),
    ...uploadView(memberAt(body, name), operations, (upload) => callOf(upload, reader)),
  }))
}

/** Returns the title of a member. The title of a nested member includes the title of its parent. */
function titleWithin(schema: Schema | undefined, name: string, reader: PageViewer): string {
  const [first = '', ...rest] = name.split('.')
  const member = membersOf(schema)[first]
  const title = titleOf(member, first, reader)
  return rest.length === 0 ? title : `${title} · ${titleWithin(member, rest.join('.'), reader)}`
}

/** True if the nested member and all of its parents are required. */
function isRequired(schema: Schema | undefined, name: string): boolean {
  const [first = '', ...rest] = name.split('.')
  const own = (withoutNull(schema)?.required ?? []).includes(first)
  return own && (rest.length === 0 || isRequired(membersOf(schema)[first], rest.join('.')))
}

/** Describes how the browser calls an operation, and whether this user may call it. */
export function callOf(operation: Operation, reader: PageViewer) {
  const { id, method, path, takesReason, access, body } = operation
  return {
    operation: id,
    method,
    path,
    takesReason,
    hasBody: body !== undefined,
    allowed: reader.can(operation),
    ...(typeof access === 'object' ? { permission: access.permission } : {}),
  }
}

/** Returns the columns of a response. For a list these are the columns of its items, otherwise those of the object. */
const answerViews = (columns: readonly PageColumn[], operation: Operation, reader: PageViewer) =>
  columnViews(columns, { item: itemOf(operation) ?? operation.data, helps: operation.helps }, reader)

function previewView(preview: string | PagePreview, operations: Operations, reader: PageViewer) {
  if (typeof preview === 'string') return preview
  const operation = operationOf(preview.operation, operations)
  return { ...preview, ...callOf(operation, reader), columns: answerViews(preview.columns, operation, reader) }
}

/** Returns the names of the members that a form sends without user input. */
function sentUntyped(body: Readonly<Record<string, unknown>>, version: string | undefined) {
  const names = [...Object.keys(body), ...(version === undefined ? [] : [version])]
  return names.length === 0 ? undefined : names
}

const titlesOf = (names: readonly string[], { body }: Operation, reader: PageViewer) =>
  Object.fromEntries(names.map((name) => [name, titleWithin(body, name, reader)]))

function writeView(
  { preview, answer, body = {}, version }: Pick<PageForm, 'preview' | 'answer' | 'body' | 'version'>,
  operation: Operation,
  operations: Operations,
  reader: PageViewer,
) {
  return {
    ...callOf(operation, reader),
    ...given(sentUntyped(body, version), 'titles', (names) => titlesOf(names, operation, reader)),
    ...given(preview, 'preview', (one) => previewView(one, operations, reader)),
    ...given(answer, 'answer', (columns) => answerViews(columns, operation, reader)),
  }
}

function actionView(
  { label, confirm, ask, options, choices, ...action }: PageAction,
  operations: Operations,
  reader: PageViewer,
  known: Labels,
) {
  const operation = operationOf(action.operation, operations)
  return {
    ...action,
    ...writeView(action, operation, operations, reader),
    label: translate(label, reader),
    ...given(confirm, 'confirm', (text) => translate(text, reader)),
    ...given(ask, 'ask', (names) => bodyFields(names, operation, operations, reader, known, { options, choices })),
  }
}

function formView(
  {
    title,
    lead,
    submit,
    fields,
    sections,
    showWhen = {},
    defaults = {},
    options,
    choices,
    livePreview,
    ...form
  }: PageForm,
  operations: Operations,
  reader: PageViewer,
  known: Labels,
) {
  const operation = operationOf(form.operation, operations)
  return {
    ...form,
    ...writeView(form, operation, operations, reader),
    title: translate(title, reader),
    ...given(lead, 'lead', (text) => translate(text, reader)),
    ...given(submit, 'submit', (text) => translate(text, reader)),
    fields: bodyFields(fields, operation, operations, reader, known, { options, choices }).map((field) => ({
      ...field,
      ...given(defaults[field.name], 'follows', (other) => other),
      ...given(showWhen[field.name], 'showWhen', (members) => members),
    })),
    ...given(sections, 'sections', (groups) =>
      groups.map((group) => ({ ...group, title: translate(group.title, reader) })),
    ),
    ...given(livePreview, 'livePreview', (preview) => previewView(preview, operations, reader)),
  }
}

function bulkView(
  { label, confirm, ask, ...bulk }: PageBulkAction,
  operations: Operations,
  reader: PageViewer,
  known: Labels,
) {
  const operation = operationOf(bulk.operation, operations)
  return {
    ...bulk,
    ...writeView(bulk, operation, operations, reader),
    ...given(ask, 'ask', (names) => bodyFields(names, operation, operations, reader, known)),
    label: translate(label, reader),
    max: Number(memberAt(operation.body, bulk.ids)?.['maxItems'] ?? 100),
    ...given(confirm, 'confirm', (text) => translate(text, reader)),
  }
}

function listView(page: ListPageDeclaration, operations: Operations, reader: PageViewer) {
  const operation = operationOf(page.source, operations)
  const {
    lead,
    empty,
    columns,
    filters = [],
    actions = [],
    bulk = [],
    create,
    links = [],
    forms = [],
    search,
    find: _,
    live,
    ...rest
  } = page
  const item = itemOf(operation)
  const known = labelsIn(columns)
  return {
    ...rest,
    ...callOf(operation, reader),
    ...given(lifeOf(live), 'live', (life) => life),
    title: translate(page.title, reader),
    ...given(lead, 'lead', (text) => translate(text, reader)),
    ...given(empty, 'empty', (text) => translate(text, reader)),
    ...given(search, 'search', (name) => ({ name, title: titleOf(operation.query[name], name, reader) })),
    columns: columnViews(columns, { item, helps: operation.helps }, reader),
    ...pagingOf(operation),
    sorts: sortsOf(operation),
    ...given(operation.query['from']?.['x-range'], 'range', (field) => rangeView(field, page, operation, reader)),
    filters: filters.map(({ name, labels, options }) => ({
      ...fieldView(name, operation.query[name], false, operation.helps, reader),
      ...choiceView(options, reader),
      ...given(labels ?? known.get(name), 'labels', (texts) => labelsOf(texts, reader)),
    })),
    actions: actions.map((action) => actionView(action, operations, reader, known)),
    bulk: bulk.map((one) => bulkView(one, operations, reader, known)),
    ...given(create, 'create', (form) => formView(form, operations, reader, known)),
    links: links.flatMap(({ page: id, label }) => {
      const linked = reader.page(id)
      return linked !== undefined && reader.sees(linked) ? [{ page: id, label: translate(label, reader) }] : []
    }),
    forms: forms.map((form) => formView(form, operations, reader, known)),
  }
}

/** Maximum number of members that the command palette shows in addition to the name of a row. */
const maxFacts = 2

/**
 * Returns how the command palette finds rows of a list: the operation, the parameters that accept the typed text, and
 * the displayed members. Returns `undefined` if no parameter accepts a typed text.
 * @param canName returns whether the user may read the labels of a kind
 */
export function lookupView(
  page: ListPageDeclaration,
  operation: Operation,
  reader: PageViewer,
  canName: (kind: string) => boolean,
) {
  const { id, title, key, detail, search, find = search === undefined ? [] : [search], filters = [], columns } = page
  const ways = find.flatMap((parameter) => {
    const labels = filters.find(({ name }) => name === parameter)?.options?.labels
    if (labels !== undefined && !canName(labels)) return []
    const { schema } = fieldView(parameter, operation.query[parameter], false, operation.helps, reader)
    return [{ parameter, schema, isSearch: parameter === search, ...given(labels, 'labels', (kind) => kind) }]
  })
  if (ways.length === 0 || Object.keys(operation.params).length > 0) return undefined
  const shown = columns.filter(({ hidden }) => !hidden)
  const name = (shown.find(({ link }) => link) ?? shown.find(({ as }) => as === 'text'))?.field ?? key
  const facts = shown.filter(({ field, as }) => field !== name && ['text', 'status', 'time'].includes(as))
  return {
    ...callOf(operation, reader),
    id,
    title: translate(title, reader),
    key,
    name,
    ways,
    ...pagingOf(operation),
    ...given(detail, 'detail', (page) => page),
    facts: columnViews(facts.slice(0, maxFacts), { item: itemOf(operation), helps: operation.helps }, reader),
  }
}

/** Returns whether a list supports paging (`size`) and a choice of how the total is counted (`count`). */
const pagingOf = ({ query }: Operation) => ({ isPaged: 'size' in query, canCount: 'count' in query })

/** Returns the title of the time range filter of a list. It is the title of the column with the filtered time. */
function rangeView(field: string, { columns }: ListPageDeclaration, operation: Operation, reader: PageViewer) {
  const title = columns.find((column) => column.field === field)?.title
  const shown =
    title === undefined ? titleOf(memberAt(itemOf(operation), field), field, reader) : translate(title, reader)
  return { title: shown }
}

const sortsOf = ({ query }: Operation) => query['sort']?.['x-sort'] ?? []

function detailView(page: DetailPageDeclaration, operations: Operations, reader: PageViewer) {
  const operation = operationOf(page.source, operations)
  const { sections, related = [], form, actions = [], live, ...rest } = page
  const known = labelsIn(sections.flatMap(({ columns }) => columns))
  return {
    ...rest,
    ...callOf(operation, reader),
    ...given(lifeOf(live), 'live', (life) => life),
    title: translate(page.title, reader),
    sections: sections.map(({ title, columns }) => ({
      ...given(title, 'title', (text) => translate(text, reader)),
      columns: columnViews(columns, { item: operation.data, helps: operation.helps }, reader),
    })),
    related: related.map(({ title, optional: _, ...list }) => ({ ...list, title: translate(title, reader) })),
    ...given(form, 'form', (one) => formView(one, operations, reader, known)),
    actions: actions.map((action) => actionView(action, operations, reader, known)),
  }
}

/** Describes a custom page: the operations that the product has, and for each whether the user may call it. */
const ownView = (
  { id, kind, title, source, operations: others, form, labels = {} }: BuiltInPage,
  operations: Operations,
  reader: PageViewer,
) => ({
  id,
  kind,
  title: translate(title, reader),
  ...given(form, 'form', (one) => formView(one, operations, reader, new Map(Object.entries(labels)))),
  operations: Object.fromEntries(
    [source, ...others].flatMap((name) => {
      const operation = operations.get(name)
      return operation === undefined ? [] : [[name, callOf(operation, reader)]]
    }),
  ),
})

function operationOf(id: string, operations: Operations): Operation {
  const operation = operations.get(id)
  if (operation === undefined) throw new TypeError(`there is no operation "${id}"`)
  return operation
}

/** Describes a page for one user, with its texts and the operations that it calls. */
export function pageView(
  page: ListPageDeclaration | DetailPageDeclaration | BuiltInPage,
  operations: Operations,
  reader: PageViewer,
) {
  if (page.kind === 'own') return ownView(page, operations, reader)
  return page.kind === 'list' ? listView(page, operations, reader) : detailView(page, operations, reader)
}
