import type { PageChoices, PageColumn, PageForm, PageLabelPicker, Translated } from '@plinth/admin'
import { type Schema, spoken } from '@plinth/http'
import { localize } from '@plinth/kernel'
import { choicesView } from './field-choices.ts'
import { uploadView } from './file-fields.ts'
import { type HelpTexts, helpOf, memberAt, membersOf, type Operation, withoutNull } from './operations.ts'
import type { ObjectPages } from './outcomes.ts'
import { type BuiltInPage, builtInPages } from './own-pages.ts'

/* Describes the columns and the fields of pages for one user, with the titles and help texts of their schemas. */

export type Operations = ReadonlyMap<string, Operation>

/** Language and permissions of the user who opens the page. */
export interface PageViewer {
  readonly locale: string
  can(operation: Operation): boolean
  /** Returns true if the product has this page and the user may open it. */
  sees(page: Pick<BuiltInPage, 'source' | 'parts'>): boolean
  /** Returns a page of the product. */
  page(id: string): Pick<BuiltInPage, 'source' | 'parts' | 'title'> | undefined
  /** Finds the page of the object that an operation creates. */
  readonly created: ObjectPages
  /** Returns whether a loaded plugin provides labels of a kind. */
  hasLabels(kind: string): boolean
  /** Returns the address of a trace with `{{traceId}}` as placeholder; see `Tracing`. */
  traceLink?(): string | undefined
}

export const given = <T, U>(value: T | undefined, name: string, view: (value: T) => U) =>
  value === undefined ? {} : { [name]: view(value) }

/** Returns the members that are not undefined. */
export const withoutUndefined = <T extends object>(members: T): { [Name in keyof T]?: Exclude<T[Name], undefined> } =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Partial<T> as never

/** Returns the title of a schema member in the user's language. A member without a title has its name in words. */
export function titleOf(schema: Schema | undefined, name: string, { locale }: Pick<PageViewer, 'locale'>): string {
  const titles = schema?.['x-title']
  return titles?.[locale] ?? schema?.title ?? spoken(name)
}

/** A column with its texts in the language of the user. */
export type Column = Translated<PageColumn>

/** Texts for the values of members, by member name. */
export type Labels = ReadonlyMap<string, Readonly<Record<string, string>>>

/**
 * Returns the texts for the values that the columns of a page show. The forms and filters of the page use the same
 * texts.
 */
export const labelsIn = (columns: readonly Column[]): Labels =>
  new Map(columns.flatMap(({ field, labels }) => (labels === undefined ? [] : [[field, labels] as const])))

/** Returns the help text of a field in the language of the user. */
const helpView = (helps: HelpTexts, name: string, { locale }: PageViewer) =>
  given(helpOf(helps, name), 'description', (text) => localize(text, locale))

/** Sources of the titles and descriptions of columns. */
interface ColumnSource {
  readonly item: Schema | undefined
  readonly helps: HelpTexts
}

function columnView(
  column: Column,
  { item, helps }: ColumnSource,
  reader: PageViewer,
): Readonly<Record<string, unknown>> {
  const { field, title, columns, of } = column
  const schema = memberAt(item, field)
  return {
    ...column,
    ...given(of, 'of', (kind) => referenceView(kind, reader)),
    ...(column.trace ? withoutUndefined({ traceLink: reader.traceLink?.() }) : {}),
    title: title ?? titleOf(schema, field, reader),
    ...helpView(helps, field, reader),
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
function referenceView({ labels: kind, page }: NonNullable<Column['of']>, reader: PageViewer) {
  const labels = reader.hasLabels(kind) ? kind : ''
  const own = builtInPages.find(({ id }) => id === page)
  if (own === undefined) return { labels, ...given(page, 'page', (id) => id) }
  return reader.sees(own) ? { labels, page: own.id, opens: own.opens ?? [] } : { labels }
}

export const columnViews = (columns: readonly Column[], source: ColumnSource, reader: PageViewer) =>
  columns.map((column) => columnView(column, source, reader))

export function fieldView(
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

export function choiceView(choice: Translated<PageLabelPicker> | undefined, reader: PageViewer) {
  if (choice === undefined) return {}
  const { title, optional: _, ...options } = choice
  return { ...withoutUndefined({ title }), ...(reader.hasLabels(options.labels) ? { options } : {}) }
}

/** Returns the choices of a field. Without the plugin of their operation, the field has none. */
function operationChoices(choices: Translated<PageChoices> | undefined, operations: Operations, reader: PageViewer) {
  const operation = operations.get(choices?.operation ?? '')
  if (choices === undefined || operation === undefined) return {}
  const { title } = choices
  return { choices: choicesView(choices, callOf(operation, reader), operation), ...withoutUndefined({ title }) }
}

/** How the user chooses the values of fields. */
interface Pickers {
  readonly options?: Translated<PageForm>['options'] | undefined
  readonly choices?: Translated<PageForm>['choices'] | undefined
}

export function bodyFields(
  names: readonly string[],
  { body, helps }: Operation,
  operations: Operations,
  reader: PageViewer,
  known: Labels,
  { options = {}, choices = {} }: Pickers = {},
) {
  return names.map((name) => ({
    ...fieldView(name, memberAt(body, name), isRequired(body, name), helps, reader),
    ...withoutUndefined({ labels: known.get(name) }),
    ...(name.includes('.') ? { title: titleWithin(body, name, reader) } : {}),
    ...choiceView(options[name], reader),
    ...operationChoices(choices[name], operations, reader),
    ...uploadView(memberAt(body, name), operations, (upload) => callOf(upload, reader)),
  }))
}

/** Returns the title of a member. The title of a nested member includes the title of its parent. */
export function titleWithin(schema: Schema | undefined, name: string, reader: PageViewer): string {
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
  const { id, method, path, takesReason, access, body, freshSeconds } = operation
  return {
    operation: id,
    method,
    path,
    takesReason,
    hasBody: body !== undefined,
    allowed: reader.can(operation),
    ...(typeof access === 'object' ? { permission: access.permission } : {}),
    ...(typeof access === 'object' && access.scope === 'all' ? { dataScope: 'all' } : {}),
    ...(freshSeconds === undefined ? {} : { freshSeconds }),
  }
}
