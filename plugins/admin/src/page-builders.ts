import type { LocalizedText } from '@plinth/kernel'
import type { Static, TSchema } from 'typebox'
import type {
  AttentionDeclaration,
  attentionSchema,
  MetricChart,
  OperationChart,
  operationChart,
  TileDeclaration,
  tileSchema,
} from './overview-declarations.ts'
import type { OptionsOf, PageColumn, PageValue } from './page-columns.ts'
import type { DetailPageDeclaration, ListPageDeclaration, PageMoment } from './page-declaration.ts'
import type { CheckedMap, CheckedName, Tone } from './page-vocabulary.ts'
import type {
  action,
  bulkAction,
  formSchema,
  livePreview,
  PageAction,
  PageBulkAction,
  PageChoices,
  PageForm,
  PageLabelPicker,
  PageLivePreview,
  PagePreview,
  PreviewVariable,
  preview,
} from './page-writes.ts'
import type { TimelineDeclaration } from './timeline-declaration.ts'

/**
 * Types of all operations by id. Each plugin with pages adds its own types, which `plinth openapi --types` generates
 * from the routes. So a page with a member that the response does not have does not compile.
 */
// biome-ignore lint/suspicious/noEmptyInterface: plugins add their operations to this interface
export interface Operations {}

/** Generated types of one operation. */
export interface OperationTypes {
  readonly params: object
  readonly query: object
  readonly body: object
  /** Type of the payload in the envelope. */
  readonly data: unknown
  /** Properties by which a list can be sorted. */
  readonly sort: string
}

/** Text with a time in ISO 8601. At run time, it is an ordinary string. */
export type Instant = string & { readonly format: 'date-time' }

type Plain = string | number | boolean
/** Id of an operation whose types are known. */
export type OperationId = keyof Operations & string
/** The compiler shows this text for an operation without types. */
export type Undescribed = 'Generate the types first: plinth openapi --types <plugin>'
type Of<O extends OperationId, Part extends keyof OperationTypes> = Operations[O] extends OperationTypes
  ? Operations[O][Part]
  : never
type Bare<V> = NonNullable<V>
type ItemOf<O extends OperationId> =
  Of<O, 'data'> extends { readonly items: readonly (infer Item)[] }
    ? Item
    : Of<O, 'data'> extends readonly (infer Item)[]
      ? Item
      : never
/** Ids of the operations that return a list. */
type ListOperation = { [O in OperationId]: [ItemOf<O>] extends [never] ? never : O }[OperationId]
/** Ids of the operations that return one object. */
type ReadOperation = { [O in OperationId]: [ItemOf<O>] extends [never] ? O : never }[OperationId]
type QueryName<O extends OperationId> = keyof Of<O, 'query'> & string
type BodyName<O extends OperationId> = keyof Of<O, 'body'> & string
type SortOf<O extends OperationId> = Of<O, 'sort'> | `-${Of<O, 'sort'>}`

/** Type of an object in the result: an item of the list, or the result itself. */
type AnswerOf<O extends OperationId> = [ItemOf<O>] extends [never] ? Bare<Of<O, 'data'>> : ItemOf<O>
/** Names of body members, including members of nested objects such as `address.city`. */
type FieldName<O extends OperationId> = {
  [N in BodyName<O>]:
    | N
    | (Bare<Of<O, 'body'>[N & keyof Of<O, 'body'>]> extends infer V
        ? V extends readonly unknown[] | Plain
          ? never
          : `${N}.${keyof V & string}`
        : never)
}[BodyName<O>]

type Leaf<T, V> = { [N in keyof T & string]: Bare<T[N]> extends V ? N : never }[keyof T & string]
type Inner<T, V> = {
  [N in keyof T & string]: Bare<T[N]> extends V
    ? N
    : Bare<T[N]> extends readonly unknown[]
      ? never
      : Bare<T[N]> extends object
        ? `${N}.${Leaf<Bare<T[N]>, V>}`
        : never
}[keyof T & string]
/** Names of members whose values have the type `V`, including nested objects up to three levels. */
export type MemberNames<T, V> = {
  [N in keyof T & string]: Bare<T[N]> extends V
    ? N
    : Bare<T[N]> extends readonly unknown[]
      ? never
      : Bare<T[N]> extends object
        ? `${N}.${Inner<Bare<T[N]>, V>}`
        : never
}[keyof T & string]

type Given<Wanted, T> = {
  readonly [N in keyof Wanted]:
    | MemberNames<T, Bare<Wanted[N]>>
    | { readonly value: Wanted[N] }
    | (Bare<Wanted[N]> extends readonly (infer Item)[] ? { readonly list: readonly MemberNames<T, Item>[] } : never)
}
type At<T, F extends string> = F extends keyof T
  ? T[F]
  : F extends `${infer First}.${infer Rest}`
    ? First extends keyof T
      ? At<Bare<T[First]>, Rest>
      : never
    : never
type ListItem<V> = Bare<V> extends readonly (infer Item)[] ? Item : never
type Literal<V> = Bare<V> extends infer Value extends string ? (string extends Value ? string : Value) : never

/** Schema of an object, as TypeBox creates it. */
export interface MembersSchema {
  readonly properties: Readonly<Record<string, object>>
}

/** A value, and how a page shows it. The schema is `describedValue` of `@plinth/http`. */
export interface DescribedValue {
  /** Text, or several texts. Ids if `labels` is set; minor units if `unit` is set. */
  readonly value: string | readonly string[]
  /** Text that is shown instead of the value. */
  readonly name: string | null
  readonly labels: string | null
  readonly page: string | null
  readonly unit: string | null
}

/** A file in a response. The schema is `fileView` of `@plinth/storage`. */
export interface FileValue {
  readonly id: string
  readonly name: string
  /** Address at which the browser of the user can read the file. */
  readonly url: string
}

/** Options that all columns have. */
type Shown = Pick<PageColumn, 'title' | 'hidden'>

/** Options of a column with this renderer, in rows of the type `T`. */
type ColumnOptions<Renderer extends PageColumn['as'], T> = Checked<OptionsOf<Renderer>, never, T>

type Labels<V> = { readonly [Value in Literal<V>]?: LocalizedText }

/** Names of members that can be an outcome, including those of the items of a list. */
type OutcomeName<T> =
  | MemberNames<T, Plain>
  | { [N in keyof T & string]: `${N}.${MemberNames<ListItem<T[N]>, Plain>}` }[keyof T & string]

/** Names that a declaration may use, for the operation `O` and rows of the type `T`. */
interface Names<O extends OperationId, T> {
  // Members of the row.
  readonly any: keyof T & string
  readonly plain: MemberNames<T, Plain>
  readonly text: MemberNames<T, string>
  readonly number: MemberNames<T, number>
  readonly figure: MemberNames<T, number | string>
  // Members of the request and of the response of the operation.
  readonly field: FieldName<O>
  readonly body: BodyName<O>
  readonly result: keyof Bare<Of<O, 'data'>> & string
  readonly count: MemberNames<Bare<Of<O, 'data'>>, number | readonly unknown[]>
  readonly variables: MemberNames<Bare<Of<O, 'data'>>, readonly PreviewVariable[]>
  readonly outcome: OutcomeName<AnswerOf<O>>
  readonly 'answer flag': MemberNames<AnswerOf<O>, boolean>
  readonly 'answer id': MemberNames<AnswerOf<O>, string | number>
  readonly operation: OperationId
}
type NameOf<Kind, O extends OperationId, T> = Kind extends keyof Names<O, T> ? Names<O, T>[Kind] & string : never

/** Data of a declaration in which the compiler checks the names. */
type Checked<Data, O extends OperationId, T> =
  Data extends CheckedName<infer Kind>
    ? NameOf<Kind, O, T>
    : Data extends CheckedMap<infer Kind, infer Value>
      ? { readonly [Name in NameOf<Kind, O, T>]?: Checked<Value, O, T> }
      : Data extends readonly (infer Item)[]
        ? readonly Checked<Item, O, T>[]
        : Data extends object
          ? { readonly [Name in keyof Data]: Checked<Data[Name], O, T> }
          : Data

/** Options of a part of a page, without those that its builder declares itself. */
type Options<Schema extends TSchema, O extends OperationId, T, Own extends string> = Omit<
  Checked<Static<Schema>, O, T>,
  'operation' | 'source' | 'kind' | Own
>

interface WriteOptions<O extends OperationId, T> {
  readonly body?: Partial<Given<Of<O, 'body'>, T>>
  /** See `adminPreview`. */
  readonly preview?: BodyName<O> | For<PagePreview, T>
  readonly answer?: (it: Row<AnswerOf<O>>) => readonly For<PageColumn, AnswerOf<O>>[]
}
type WriteMember = keyof WriteOptions<never, never>

interface ActionOptions<O extends OperationId, T>
  extends WriteOptions<O, T>,
    Options<typeof action, O, T, WriteMember | 'params' | 'query' | 'when'> {
  readonly params: Given<Of<O, 'params'>, T>
  readonly query?: Partial<Given<Of<O, 'query'>, T>>
  readonly when?: { readonly [N in MemberNames<T, Plain>]?: At<T, N> | readonly At<T, N>[] }
}

interface FormOptions<O extends OperationId, T>
  extends WriteOptions<O, T>,
    Options<typeof formSchema, O, T, WriteMember | 'params' | 'livePreview'> {
  readonly params?: Given<Of<O, 'params'>, T>
  readonly livePreview?: For<PageLivePreview, T>
}

interface ReadOptions<O extends OperationId, T> {
  readonly params?: Given<Of<O, 'params'>, T>
  readonly body?: Partial<Given<Of<O, 'body'>, T>>
  readonly answer: (it: Row<AnswerOf<O>>) => readonly For<PageColumn, AnswerOf<O>>[]
}
type ReadMember = keyof ReadOptions<never, never> | 'columns'

interface PreviewOptions<O extends OperationId, T>
  extends ReadOptions<O, T>,
    Options<typeof preview, O, T, ReadMember> {}

interface LivePreviewOptions<O extends OperationId, T>
  extends ReadOptions<O, T>,
    Options<typeof livePreview, O, T, ReadMember> {}

interface ChoicesOptions<O extends OperationId> {
  readonly value: MemberNames<ItemOf<O>, string | number>
  readonly name?: MemberNames<ItemOf<O>, Plain>
  /** Each parameter is a field of the form, a member of the object of the page, or a constant. */
  readonly params?: FromFields<Of<O, 'params'>>
  readonly query?: Partial<FromFields<Of<O, 'query'>>>
  readonly search?: QueryName<O>
  readonly title?: LocalizedText
}

type FromFields<Wanted> = { readonly [N in keyof Wanted]: string | { readonly value: Wanted[N] } }

interface BulkOptions<O extends OperationId>
  extends WriteOptions<O, never>,
    Options<typeof bulkAction, O, never, WriteMember> {}

/** Unit of an amount; see the same members of `PageColumn`. */
type UnitOf<T> =
  | { readonly currency: MemberNames<T, string> }
  | { readonly asset: string }
  | { readonly decimals: MemberNames<T, number>; readonly symbol: MemberNames<T, string> }

declare const owner: unique symbol
/** Part of a page that only fits rows of the type `T`. */
type For<Part, T> = Part & { readonly [owner]?: (thing: T) => void }

/** Creates the parts of a page for rows of the type `T`. The compiler rejects members that a part cannot show. */
export interface Row<T> {
  text(field: MemberNames<T, Plain>, options?: ColumnOptions<'text', T>): For<PageColumn, T>
  /** Shows a time in the time zone of the site. With `link`, it opens the page of the row. */
  time(field: MemberNames<T, Instant>, options?: ColumnOptions<'time', T>): For<PageColumn, T>
  count(field: MemberNames<T, number>, options?: ColumnOptions<'count', T>): For<PageColumn, T>
  /** Shows an amount in its unit. The member contains minor units, as a number or decimal text. */
  amount(
    field: MemberNames<T, string | number>,
    options: UnitOf<T> & Omit<ColumnOptions<'amount', T>, 'currency' | 'asset' | 'decimals' | 'symbol'>,
  ): For<PageColumn, T>
  /** Shows yes or no, or the text for the value. */
  flag(
    field: MemberNames<T, boolean>,
    options?: Shown & { readonly labels?: { readonly true: LocalizedText; readonly false: LocalizedText } },
  ): For<PageColumn, T>
  /** Shows a state with a colour. The compiler requires a tone for each value. */
  status<F extends MemberNames<T, string>>(
    field: F,
    tones: { readonly [Value in Literal<At<T, F>>]: Tone },
    options?: Shown & { readonly labels?: Labels<At<T, F>> },
  ): For<PageColumn, T>
  /** Shows several short texts. If the items are objects, `member` is the member that is shown. */
  chips<F extends MemberNames<T, readonly unknown[]>>(
    field: F,
    member?: F extends keyof T ? keyof ListItem<T[F]> & string : string,
    options?: Shown & { readonly labels?: Labels<ListItem<At<T, F>>> },
  ): For<PageColumn, T>
  /** Shows one or more ids as names. `labels` is the kind of the objects. */
  reference(
    field: MemberNames<T, string | number | readonly (string | number)[]>,
    of: NonNullable<PageColumn['of']>,
    options?: Omit<ColumnOptions<'reference', T>, 'of'>,
  ): For<PageColumn, T>
  json(field: keyof T & string, options?: Shown): For<PageColumn, T>
  /** A value that itself says how it is shown: as names, link, amount or text. */
  described(
    field: { [N in keyof T & string]: Bare<T[N]> extends DescribedValue ? N : never }[keyof T & string],
    options?: Shown,
  ): For<PageColumn, T>
  difference(
    before: keyof T & string,
    after: keyof T & string,
    options?: Omit<ColumnOptions<'difference', T>, 'before'>,
  ): For<PageColumn, T>
  /** Shows a list that is part of the object. */
  rows<F extends MemberNames<T, readonly unknown[]>>(
    field: F,
    build: (item: Row<ListItem<At<T, F>>>) => readonly For<PageColumn, ListItem<At<T, F>>>[],
    options?: Shown,
  ): For<PageColumn, T>
  /** Entries in the timeline for the items of a list that is part of the object. */
  each<F extends MemberNames<T, readonly unknown[]>>(
    field: F,
    build: (item: Row<ListItem<At<T, F>>>) => MomentOptions<ListItem<At<T, F>>>,
  ): For<PageMoment, T>
  /**
   * Returns columns for all members that have no column yet, so that new members appear without a change of the page.
   * Lists and objects are omitted, because they need their own columns.
   *
   * @param schema schema of the row, such as `viewOf(Entity).schema`
   * @param named columns of the page, and members that it must not show
   */
  others(
    schema: MembersSchema,
    named: readonly (For<PageColumn, T> | (keyof T & string))[],
    options?: Pick<Shown, 'hidden'>,
  ): readonly For<PageColumn, T>[]
  /** Shows a picture, or a link to a file of another type. The form of the page can replace it. */
  file(
    field: { [N in keyof T & string]: Bare<T[N]> extends FileValue ? N : never }[keyof T & string],
    options?: Shown,
  ): For<PageColumn, T>
  /** Shows HTML of another source in isolation: it cannot run scripts, follow links or load resources. */
  html(field: MemberNames<T, string>, options?: Shown): For<PageColumn, T>
  action<O extends OperationId>(operation: O | Undescribed, options: ActionOptions<O, T>): For<PageAction, T>
  form<O extends OperationId>(operation: O | Undescribed, options: FormOptions<O, T>): For<PageForm, T>
  /** Shows the result of another operation before the action or form is sent. */
  preview<O extends OperationId>(operation: O | Undescribed, options: PreviewOptions<O, T>): For<PagePreview, T>
  /** Shows the result of another operation for the current content of a form, and updates it while the user types. */
  livePreview<O extends OperationId>(
    operation: O | Undescribed,
    options: LivePreviewOptions<O, T>,
  ): For<PageLivePreview, T>
}

/** Members of a list that do not depend on the type of its rows. */
type ListMembers = Pick<
  ListPageDeclaration,
  | 'id'
  | 'title'
  | 'lead'
  | 'place'
  | 'formerly'
  | 'bulk'
  | 'create'
  | 'import'
  | 'links'
  | 'forms'
  | 'detail'
  | 'empty'
  | 'live'
>

interface ListOptions<O extends OperationId, T> extends ListMembers {
  readonly key: MemberNames<T, string | number>
  readonly columns: readonly For<PageColumn, T>[]
  readonly search?: QueryName<O>
  readonly find?: readonly QueryName<O>[]
  readonly filters?: readonly (
    | QueryName<O>
    | {
        readonly name: QueryName<O>
        readonly labels?: Readonly<Record<string, LocalizedText>>
        readonly options?: PageLabelPicker
      }
  )[]
  readonly sort?: SortOf<O>
  readonly actions?: readonly For<PageAction, T>[]
  readonly edit?: For<PageForm, T>
  readonly board?: {
    readonly column: MemberNames<T, Plain> & QueryName<O>
    readonly cards?: readonly MemberNames<T, unknown>[]
  }
}

interface MomentOptions<T> extends Pick<PageMoment, 'title'> {
  readonly at: MemberNames<T, Instant>
  readonly columns?: readonly For<PageColumn, T>[]
}

interface DetailOptions<O extends OperationId, T>
  extends Pick<DetailPageDeclaration, 'id' | 'title' | 'place' | 'formerly' | 'live'> {
  readonly name?: MemberNames<T, Plain>
  readonly param?: keyof Of<O, 'params'> & string
  readonly sections: readonly { readonly title?: LocalizedText; readonly columns: readonly For<PageColumn, T>[] }[]
  readonly moments?: readonly (MomentOptions<T> | For<PageMoment, T>)[]
  readonly related?: readonly {
    readonly page: string
    readonly title: LocalizedText
    readonly filter: Readonly<Record<string, MemberNames<T, Plain> | { readonly value: Plain }>>
    readonly optional?: boolean
  }[]
  readonly form?: For<PageForm, T>
  readonly actions?: readonly For<PageAction, T>[]
}

/** Declares a list page for an operation that returns rows. */
export function adminList<O extends ListOperation>(
  source: O | Undescribed,
  build: (row: Row<ItemOf<O>>) => ListOptions<O, ItemOf<O>>,
): ListPageDeclaration {
  const { filters, ...options } = build(rowOf<ItemOf<O>>())
  const named = filters?.map((filter) => (typeof filter === 'string' ? { name: filter } : filter))
  return { kind: 'list', source, ...options, ...(named === undefined ? {} : { filters: named }) }
}

/** Declares a page for the object that an operation returns. */
export function adminDetail<O extends ReadOperation>(
  source: O | Undescribed,
  build: (it: Row<Bare<Of<O, 'data'>>>) => DetailOptions<O, Bare<Of<O, 'data'>>>,
): DetailPageDeclaration {
  const { related, ...options } = build(rowOf<Bare<Of<O, 'data'>>>())
  const lists = related?.map((list) => ({ ...list, filter: valuesOf(list.filter) }))
  return { kind: 'detail', source, ...options, ...(lists === undefined ? {} : { related: lists }) }
}

/** Declares a form that creates an object. */
export function adminForm<O extends OperationId>(operation: O | Undescribed, options: FormOptions<O, never>): PageForm {
  return formOf(operation, options as never)
}

/** Declares a preview: the result of another operation, shown before a form that creates an object is sent. */
export function adminPreview<O extends OperationId>(
  operation: O | Undescribed,
  options: PreviewOptions<O, never>,
): PagePreview {
  return previewOf(operation, options as never)
}

/** Declares a preview that is updated while the user types in a form that creates an object. */
export function adminLivePreview<O extends OperationId>(
  operation: O | Undescribed,
  options: LivePreviewOptions<O, never>,
): PageLivePreview {
  return livePreviewOf(operation, options as never)
}

/** Declares the choices of a field: the items that an operation returns. */
export function adminChoices<O extends ListOperation>(
  operation: O | Undescribed,
  options: ChoicesOptions<O>,
): PageChoices {
  return { operation, ...writtenOf(options as never) } as PageChoices
}

/** Declares an action on several rows. */
export function adminBulkAction<O extends OperationId>(
  operation: O | Undescribed,
  options: BulkOptions<O>,
): PageBulkAction {
  return { operation, ...writtenOf(options as never) } as PageBulkAction
}

interface AttentionOptions<O extends OperationId>
  extends Options<typeof attentionSchema, O, never, 'query' | 'oldest'> {
  readonly query?: Partial<Of<O, 'query'>>
  readonly oldest?: AttentionDeclaration['oldest']
}

/** Declares a number on the overview that shows how often something needs an operator. */
export function adminAttention<O extends OperationId>(
  source: O | Undescribed,
  options: AttentionOptions<O>,
): AttentionDeclaration {
  return { source, ...(options as object as Omit<AttentionDeclaration, 'source'>) }
}

interface ChartOptions<O extends OperationId, T> extends Options<typeof operationChart, O, T, 'query'> {
  readonly query?: Partial<Of<O, 'query'>>
}

/** Declares a chart of the rows of an operation. Each row has a time. */
export function adminChart<O extends ListOperation>(
  source: O | Undescribed,
  options: ChartOptions<O, ItemOf<O>>,
): OperationChart {
  return { kind: 'operation', source, ...(options as object as Omit<OperationChart, 'kind' | 'source'>) }
}

interface TileOptions<O extends OperationId, T> extends Options<typeof tileSchema, O, T, 'query'> {
  readonly query?: Partial<Of<O, 'query'>>
}

/** Declares a tile: a number of an object, or the sum over the rows of a list. */
export function adminTile<O extends OperationId>(
  source: O | Undescribed,
  options: TileOptions<O, AnswerOf<O>>,
): TileDeclaration {
  return { source, ...(options as object as Omit<TileDeclaration, 'source'>) }
}

/** Declares a chart of counters of this process. */
export function metricChart(options: Omit<MetricChart, 'kind'>): MetricChart {
  return { kind: 'measured', ...options }
}

interface TimelineOptions<T> extends Pick<TimelineDeclaration, 'id' | 'page' | 'ofAudited' | 'objectId' | 'title'> {
  /** Values of parameters: names of members of the object of the page, or constants. */
  readonly filter?: Readonly<Record<string, string | { readonly value: Plain }>>
  readonly at: MemberNames<T, Instant>
  readonly columns: readonly For<PageColumn, T>[]
  readonly opens?: { readonly page: string; readonly field: MemberNames<T, Plain> }
}

/** Declares entries in the timeline of an object: the rows of a list that belong to it. */
export function adminTimeline<O extends ListOperation>(
  source: O | Undescribed,
  build: (row: Row<ItemOf<O>>) => TimelineOptions<ItemOf<O>>,
): TimelineDeclaration {
  const { filter = {}, ...options } = build(rowOf<ItemOf<O>>())
  return { source, ...options, filter: valuesOf(filter) }
}

type Source = string | { readonly value: unknown }
const valuesOf = (given: object): Readonly<Record<string, PageValue>> =>
  Object.fromEntries(
    Object.entries(given as Readonly<Record<string, Source>>).map(([name, source]) => [
      name,
      typeof source === 'string' ? { field: source } : (source as PageValue),
    ]),
  )

type AnswerColumns = (it: Row<never>) => readonly PageColumn[]
interface Written {
  readonly params?: object
  readonly query?: object
  readonly body?: object
  readonly answer?: AnswerColumns
}

/** Replaces functions and short forms by plain data. */
const writtenOf = ({ params, query, body, answer, ...options }: Written) => ({
  ...options,
  ...(params === undefined ? {} : { params: valuesOf(params) }),
  ...(query === undefined ? {} : { query: valuesOf(query) }),
  ...(body === undefined ? {} : { body: valuesOf(body) }),
  ...(answer === undefined ? {} : { answer: answer(rowOf<never>()) }),
})

const formOf = (operation: string, options: Written) => ({ operation, ...writtenOf(options) }) as PageForm

const previewOf = (operation: string, options: Written): PagePreview => {
  const { answer, ...rest } = writtenOf(options)
  return { operation, ...rest, columns: answer ?? [] }
}

const livePreviewOf = previewOf as (operation: string, options: Written) => PageLivePreview

const column =
  (as: PageColumn['as']) =>
  (field: string, options: object = {}): PageColumn => ({ field, as, ...options })

interface MemberSchema {
  readonly type?: string
  readonly format?: string
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly MemberSchema[]
}

/** Returns how a member with this schema is shown; `undefined` for lists, objects and unions of several types. */
function formOfMember({ type, format, enum: values, anyOf, ...rest }: MemberSchema): PageColumn['as'] | undefined {
  if (anyOf !== undefined) {
    const forms = new Set(anyOf.filter((one) => one.type !== 'null').map(formOfMember))
    return forms.size === 1 ? [...forms][0] : undefined
  }
  if (type === 'integer' || type === 'number') return 'count'
  if (type === 'boolean') return 'flag'
  if (type === 'string' && format === 'date-time') return 'time'
  return type === 'string' || values !== undefined || typeof rest.const === 'string' ? 'text' : undefined
}

function others(
  { properties }: MembersSchema,
  named: readonly (string | PageColumn)[],
  options: object = {},
): readonly PageColumn[] {
  const known = new Set(named.map((one) => (typeof one === 'string' ? one : one.field)))
  return Object.entries(properties).flatMap(([field, schema]) => {
    const as = known.has(field) ? undefined : formOfMember(schema)
    return as === undefined ? [] : [{ field, as, ...options }]
  })
}

/** All pages share this object, because it has no state. */
const row = {
  text: column('text'),
  time: column('time'),
  count: column('count'),
  amount: column('amount'),
  flag: column('flag'),
  status: (field: string, tones: PageColumn['tones'], options?: object) => ({ field, as: 'status', tones, ...options }),
  chips: (field: string, member?: string, options?: object) => ({
    field,
    as: 'chips',
    ...(member === undefined ? {} : { member }),
    ...options,
  }),
  reference: (field: string, of: PageColumn['of'], options?: object) => ({ field, as: 'reference', of, ...options }),
  json: column('json'),
  described: column('described'),
  html: column('html'),
  file: column('file'),
  others,
  difference: (before: string, after: string, options?: object) => ({
    field: after,
    as: 'difference',
    before,
    ...options,
  }),
  rows: (field: string, build: AnswerColumns, options?: object) => ({
    field,
    as: 'rows',
    columns: build(rowOf<never>()),
    ...options,
  }),
  each: (field: string, build: (item: Row<never>) => object) => ({ each: field, ...build(rowOf<never>()) }),
  action: (operation: string, { when, ...options }: Written & { readonly when?: object }) => ({
    operation,
    ...writtenOf(options),
    ...(when === undefined
      ? {}
      : { when: Object.fromEntries(Object.entries(when).map(([name, value]) => [name, [value].flat()])) }),
  }),
  form: formOf,
  preview: previewOf,
  livePreview: livePreviewOf,
}

const rowOf = <T>() => row as unknown as Row<T>
