import {
  type DetailPageDeclaration,
  formSchema,
  type ListPageDeclaration,
  type PageAction,
  type PageBulkAction,
  type PageForm,
  type PagePreview,
  type PageRefresh,
  pageSchema,
  type Translated,
  translated,
} from '@plinth/admin'
import type { Schema } from '@plinth/http'
import { localize, shape } from '@plinth/kernel'
import {
  bodyFields,
  type Column,
  callOf,
  choiceView,
  columnViews,
  fieldView,
  given,
  type Labels,
  labelsIn,
  type Operations,
  type PageViewer,
  titleOf,
  titleWithin,
  withoutUndefined,
} from './column-and-field-views.ts'
import { itemOf, memberAt, type Operation, withoutNull } from './operations.ts'
import { type BuiltInPage, operationIdsOf } from './own-pages.ts'

type Form = Translated<PageForm>
type ListPage = Translated<ListPageDeclaration>

/** Returns the columns of a response. For a list these are the columns of its items, otherwise those of the object. */
const answerViews = (columns: readonly Column[], operation: Operation, reader: PageViewer) =>
  columnViews(columns, { item: itemOf(operation) ?? operation.data, helps: operation.helps }, reader)

function previewView(preview: string | Translated<PagePreview>, operations: Operations, reader: PageViewer) {
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

/** Returns the outcome of a write with the texts for its values. A column of the response or of the page has them. */
export function outcomeView({ outcome, answer = [] }: Pick<Form, 'outcome' | 'answer'>, known: Labels) {
  if (outcome === undefined) return {}
  const { field, labels: own } = outcome
  const columns = answer.flatMap((column) => [
    column,
    ...(column.columns ?? []).map((inner) => ({ ...inner, field: `${column.field}.${inner.field}` })),
  ])
  const labels = own ?? columns.find((column) => column.field === field)?.labels ?? known.get(field)
  return { outcome: { ...outcome, ...withoutUndefined({ labels }) } }
}

/**
 * Returns the link to the object that a write created, with the title of its page. There is no link to a page that the
 * user may not open.
 */
function createdView(created: Form['created'], operation: Operation, reader: PageViewer) {
  const link = created ?? reader.created(operation)
  const page = link && reader.page(link.page)
  return {
    created:
      page !== undefined && reader.sees(page) ? { ...link, title: localize(page.title, reader.locale) } : undefined,
  }
}

function writeView(
  write: Pick<Form, 'preview' | 'answer' | 'body' | 'version' | 'outcome' | 'created'>,
  operation: Operation,
  operations: Operations,
  reader: PageViewer,
  known: Labels,
) {
  const { preview, answer, body = {}, version } = write
  return {
    ...callOf(operation, reader),
    ...given(sentUntyped(body, version), 'titles', (names) => titlesOf(names, operation, reader)),
    ...given(preview, 'preview', (one) => previewView(one, operations, reader)),
    ...given(answer, 'answer', (columns) => answerViews(columns, operation, reader)),
    ...outcomeView(write, known),
    ...createdView(write.created, operation, reader),
  }
}

function actionView(
  { ask, options, choices, optional: _, ...action }: Translated<PageAction>,
  operations: Operations,
  reader: PageViewer,
  known: Labels,
) {
  const operation = operationOf(action.operation, operations)
  return {
    ...action,
    ...writeView(action, operation, operations, reader, known),
    ...given(ask, 'ask', (names) => bodyFields(names, operation, operations, reader, known, { options, choices })),
  }
}

function formView(
  { fields, showWhen = {}, defaults = {}, options, choices, livePreview, optional: _, ...form }: Form,
  operations: Operations,
  reader: PageViewer,
  known: Labels,
) {
  const operation = operationOf(form.operation, operations)
  return {
    ...form,
    ...writeView(form, operation, operations, reader, known),
    fields: bodyFields(fields, operation, operations, reader, known, { options, choices }).map((field) => ({
      ...field,
      ...withoutUndefined({ follows: defaults[field.name], showWhen: showWhen[field.name] }),
    })),
    ...given(livePreview, 'livePreview', (preview) => previewView(preview, operations, reader)),
  }
}

function bulkView(
  { ask, ...bulk }: Translated<PageBulkAction>,
  operations: Operations,
  reader: PageViewer,
  known: Labels,
) {
  const operation = operationOf(bulk.operation, operations)
  return {
    ...bulk,
    ...writeView(bulk, operation, operations, reader, known),
    ...given(ask, 'ask', (names) => bodyFields(names, operation, operations, reader, known)),
    max: Number(memberAt(operation.body, bulk.ids)?.['maxItems'] ?? 100),
  }
}

/**
 * Returns how the browser keeps the page up to date: `hinted` (the server reports changes, and the page also polls) or
 * `polled`.
 */
const lifeOf = (live: PageRefresh | undefined) => (live === true ? 'polled' : live ? 'hinted' : undefined)

function listView(page: ListPage, operations: Operations, reader: PageViewer) {
  const operation = operationOf(page.source, operations)
  const {
    columns,
    filters = [],
    actions = [],
    bulk = [],
    create,
    edit,
    board,
    import: rowImport,
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
    ...withoutUndefined({ live: lifeOf(live) }),
    ...given(search, 'search', (name) => ({ name, title: titleOf(operation.query[name], name, reader) })),
    columns: columnViews(columns, { item, helps: operation.helps }, reader),
    ...pagingOf(operation),
    sorts: sortsOf(operation),
    ...given(operation.query['from']?.['x-range'], 'range', (field) => rangeView(field, page, operation, reader)),
    filters: filterViews(filters, page, operation, reader),
    actions: actions.map((action) => actionView(action, operations, reader, known)),
    bulk: bulk.map((one) => bulkView(one, operations, reader, known)),
    ...given(create, 'create', (form) => formView(withCreated(form, page, operations), operations, reader, known)),
    ...given(edit, 'edit', (form) => formView(form, operations, reader, known)),
    ...given(board, 'board', (one) => ({ ...one, values: boardValues(memberAt(item, one.column)) })),
    ...given(rowImport, 'import', ({ operation: id }) => {
      const creation = operationOf(id, operations)
      return { ...callOf(creation, reader), max: Number(memberAt(creation.body, 'rows')?.['maxItems'] ?? 1_000) }
    }),
    links: links.filter(({ page: id }) => {
      const linked = reader.page(id)
      return linked !== undefined && reader.sees(linked)
    }),
    forms: forms.map((form) => formView(withCreated(form, page, operations), operations, reader, known)),
  }
}

/** Returns the values of a board, in the order of their schema. */
export function boardValues(schema: Schema | undefined): readonly (string | number | boolean)[] {
  const { type, enum: values = [] } = withoutNull(schema) ?? {}
  return type === 'boolean' ? [false, true] : (values as readonly (string | number)[])
}

/** Links the message after a row was created to its page, if the response contains the key of the row. */
function withCreated(form: Form, { key, detail }: ListPage, operations: Operations): Form {
  const { data } = operationOf(form.operation, operations)
  if (form.created !== undefined || detail === undefined || memberAt(data, key) === undefined) return form
  return { ...form, created: { page: detail, field: key } }
}

/** Maximum number of members that the command palette shows in addition to the name of a row. */
const maxFacts = 2

/**
 * Returns how the command palette finds rows of a list: the operation, the parameters that accept the typed text, and
 * the displayed members. Returns `undefined` if no parameter accepts a typed text.
 * @param canName returns whether the user may read the labels of a kind
 */
export function lookupView(
  declared: ListPageDeclaration,
  operation: Operation,
  reader: PageViewer,
  canName: (kind: string) => boolean,
) {
  const page = translated(pageSchema, declared, reader.locale)
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
    title,
    key,
    name,
    ways,
    ...pagingOf(operation),
    ...withoutUndefined({ detail }),
    facts: columnViews(facts.slice(0, maxFacts), { item: itemOf(operation), helps: operation.helps }, reader),
  }
}

/**
 * Returns the filters of a list: those that the page declares, which are always shown, and then all other columns that
 * the operation can filter. A declared filter of such a column has the operators of the column.
 */
function filterViews(
  declared: NonNullable<ListPage['filters']>,
  { columns }: ListPage,
  operation: Operation,
  reader: PageViewer,
) {
  const known = labelsIn(columns)
  const filterable = operation.query['filter']?.['x-filter'] ?? {}
  const item = itemOf(operation)
  const view = (name: string, options?: (typeof declared)[number]) => {
    const operators = filterable[name]
    const column = columns.find(({ field }) => field === name)
    const picker = options?.options ?? (column?.of && { labels: column.of.labels })
    const { as, currency, asset, decimals, symbol } = column ?? {}
    return {
      ...fieldView(name, operation.query[name] ?? memberAt(item, name), false, operation.helps, reader),
      ...withoutUndefined({ title: column?.title }),
      ...choiceView(picker, reader),
      ...withoutUndefined({ labels: options?.labels ?? known.get(name) }),
      ...(operators === undefined
        ? {}
        : {
            operators,
            ...withoutUndefined({ as, currency, asset, decimals, symbol }),
            schema: withoutNull(memberAt(item, name)),
          }),
      isShown: options !== undefined,
    }
  }
  const names = new Set(declared.map(({ name }) => name))
  return [
    ...declared.map((one) => view(one.name, one)),
    ...Object.keys(filterable).flatMap((name) => (names.has(name) ? [] : [view(name)])),
  ]
}

/** Returns whether a list supports paging (`size`) and a choice of how the total is counted (`count`). */
const pagingOf = ({ query }: Operation) => ({ isPaged: 'size' in query, canCount: 'count' in query })

/** Returns the title of the time range filter of a list. It is the title of the column with the filtered time. */
function rangeView(field: string, { columns }: ListPage, operation: Operation, reader: PageViewer) {
  const column = columns.find((one) => one.field === field)
  return { title: column?.title ?? titleOf(memberAt(itemOf(operation), field), field, reader) }
}

const sortsOf = ({ query }: Operation) => query['sort']?.['x-sort'] ?? []

function detailView(page: Translated<DetailPageDeclaration>, operations: Operations, reader: PageViewer) {
  const operation = operationOf(page.source, operations)
  const { sections, moments = [], related = [], form, actions = [], live, ...rest } = page
  const known = labelsIn(sections.flatMap(({ columns }) => columns))
  return {
    ...rest,
    ...callOf(operation, reader),
    ...withoutUndefined({ live: lifeOf(live) }),
    sections: sections.map((section) => ({
      ...section,
      columns: columnViews(section.columns, { item: operation.data, helps: operation.helps }, reader),
    })),
    moments: moments.map((moment) => {
      const { each, columns = [] } = moment
      const item = each === undefined ? operation.data : withoutNull(memberAt(operation.data, each))?.items
      return { ...moment, columns: columnViews(columns, { item, helps: operation.helps }, reader) }
    }),
    related: related.map(({ optional: _, ...list }) => list),
    ...given(form, 'form', (one) => formView(one, operations, reader, known)),
    actions: actions.map((action) => actionView(action, operations, reader, known)),
  }
}

/** Schema of the texts for the values of members. */
const labelsSchema = shape.map(shape.map(shape.localized))

/** Describes a custom page: the operations that the product has, and for each whether the user may call it. */
function ownView(page: BuiltInPage, operations: Operations, reader: PageViewer) {
  const { id, kind, title, form } = page
  const labels = translated(labelsSchema, page.labels ?? {}, reader.locale)
  return {
    id,
    kind,
    title: localize(title, reader.locale),
    ...given(form, 'form', (one) =>
      formView(translated(formSchema, one, reader.locale), operations, reader, new Map(Object.entries(labels))),
    ),
    operations: Object.fromEntries(
      operationIdsOf(page).flatMap((name) => {
        const operation = operations.get(name)
        return operation === undefined ? [] : [[name, callOf(operation, reader)]]
      }),
    ),
  }
}

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
  return page.kind === 'list'
    ? listView(translated(pageSchema, page, reader.locale), operations, reader)
    : detailView(translated(pageSchema, page, reader.locale), operations, reader)
}
