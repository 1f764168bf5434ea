import type { LocalizedText } from '@plinth/kernel'
import type { AttentionDeclaration, MeasuredChart, OperationChart } from './overview-declarations.ts'
import type {
  DetailPageDeclaration,
  ListPageDeclaration,
  PageAction,
  PageAmount,
  PageBulk,
  PageChoice,
  PageColumn,
  PageForm,
  PageLivePreview,
  PagePreview,
  PageValue,
  SampleUse,
} from './page-declaration.ts'
import type { Tone } from './page-shapes.ts'

/**
 * The operations of the product by id, as types. Each plugin with pages adds its own. `plinth openapi types` generates
 * them from the routes. Therefore a page with a member that does not exist in the response does not compile.
 */
// biome-ignore lint/suspicious/noEmptyInterface: plugins add their operations to it
export interface Operations {}

/** Content of the generated types of an operation. */
export interface OperationTypes {
  readonly params: object
  readonly query: object
  readonly body: object
  /** Payload of the envelope. */
  readonly data: unknown
  /** Properties that a list can be sorted by. */
  readonly sort: string
}

/** A text with a moment in ISO 8601. It only exists as a type. */
export type Instant = string & { readonly format: 'date-time' }

type Plain = string | number | boolean
type OperationId = keyof Operations & string
/** Text of the compiler error if no types of operations are imported. */
type Undescribed = [OperationId] extends [never] ? 'Generate the types first: plinth openapi --types <plugin>' : never
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
/** Operations that return rows. */
type ListOperation = { [O in OperationId]: [ItemOf<O>] extends [never] ? never : O }[OperationId]
/** Operations that return one object. */
type ReadOperation = { [O in OperationId]: [ItemOf<O>] extends [never] ? O : never }[OperationId]
type QueryName<O extends OperationId> = keyof Of<O, 'query'> & string
type BodyName<O extends OperationId> = keyof Of<O, 'body'> & string
type SortOf<O extends OperationId> = Of<O, 'sort'> | `-${Of<O, 'sort'>}`

/** Result of an operation: the item of a list, or the object. */
type AnswerOf<O extends OperationId> = [ItemOf<O>] extends [never] ? Bare<Of<O, 'data'>> : ItemOf<O>
/** Members of a body and of its nested objects. */
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
/** Names of members with matching values, of the object and of nested objects, up to three levels. */
export type Named<T, V> = {
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
    | Named<T, Bare<Wanted[N]>>
    | { readonly value: Wanted[N] }
    | (Bare<Wanted[N]> extends readonly (infer Item)[] ? { readonly list: readonly Named<T, Item>[] } : never)
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

/** JSON Schema of an object, as TypeBox creates it. */
export interface MembersSchema {
  readonly properties: Readonly<Record<string, object>>
}

interface Shown {
  readonly title?: LocalizedText
  readonly hidden?: boolean
}

type Labels<V> = { readonly [Value in Literal<V>]?: LocalizedText }

interface WriteOptions<O extends OperationId, T> {
  readonly body?: Partial<Given<Of<O, 'body'>, T>>
  /** See `adminPreview`. */
  readonly preview?: BodyName<O> | For<PagePreview, T>
  readonly answer?: (it: Row<AnswerOf<O>>) => readonly For<PageColumn, AnswerOf<O>>[]
  readonly reason?: 'optional' | 'required'
  readonly tone?: 'danger'
}

interface ActionOptions<O extends OperationId, T> extends WriteOptions<O, T> {
  readonly label: LocalizedText
  readonly params: Given<Of<O, 'params'>, T>
  readonly query?: Partial<Given<Of<O, 'query'>, T>>
  readonly ask?: readonly FieldName<O>[]
  readonly options?: { readonly [N in FieldName<O>]?: PageChoice }
  readonly once?: keyof Bare<Of<O, 'data'>> & string
  readonly when?: { readonly [N in Named<T, Plain>]?: At<T, N> | readonly At<T, N>[] }
  readonly confirm?: LocalizedText
  readonly type?: Named<T, string>
}

interface FormOptions<O extends OperationId, T> extends WriteOptions<O, T> {
  readonly title: LocalizedText
  readonly lead?: LocalizedText
  readonly submit?: LocalizedText
  readonly fields: readonly FieldName<O>[]
  readonly whole?: boolean
  readonly params?: Given<Of<O, 'params'>, T>
  readonly secret?: readonly BodyName<O>[]
  readonly long?: readonly BodyName<O>[]
  readonly options?: { readonly [N in FieldName<O>]?: PageChoice }
  readonly amounts?: { readonly [N in FieldName<O>]?: PageAmount }
  readonly livePreview?: For<PageLivePreview, T>
  readonly version?: BodyName<O>
  readonly once?: keyof Bare<Of<O, 'data'>> & string
}

interface PreviewOptions<O extends OperationId, T> {
  readonly params?: Given<Of<O, 'params'>, T>
  readonly body?: Partial<Given<Of<O, 'body'>, T>>
  readonly takes?: readonly BodyName<O>[]
  readonly answer: (it: Row<AnswerOf<O>>) => readonly For<PageColumn, AnswerOf<O>>[]
}

interface LivePreviewOptions<O extends OperationId, T> extends PreviewOptions<O, T> {
  readonly takes: readonly BodyName<O>[]
  readonly samples?: {
    readonly into: BodyName<O>
    readonly of: Named<Bare<Of<O, 'data'>>, readonly SampleUse[]>
  }
}

interface BulkOptions<O extends OperationId> extends WriteOptions<O, never> {
  readonly label: LocalizedText
  readonly ids: BodyName<O>
  readonly ask?: readonly BodyName<O>[]
  readonly confirm?: LocalizedText
}

/** The unit of an amount. See the members of `PageColumn`. */
type UnitOf<T> =
  | { readonly currency: Named<T, string> }
  | { readonly asset: string }
  | { readonly decimals: Named<T, number>; readonly symbol: Named<T, string> }

declare const owner: unique symbol
/** Bound to rows of this type. */
type For<Part, T> = Part & { readonly [owner]?: (thing: T) => void }

/** Creates the parts of a page for objects of the type `T`. Each part only accepts members that it can show. */
export interface Row<T> {
  text(
    field: Named<T, Plain>,
    options?: Shown & {
      readonly link?: boolean
      readonly mono?: boolean
      readonly opens?: { readonly base: Named<T, string>; readonly path: string }
    },
  ): For<PageColumn, T>
  /** A moment in the time zone of the site. */
  time(field: Named<T, Instant>, options?: Shown): For<PageColumn, T>
  count(field: Named<T, number>, options?: Shown & { readonly unit?: 'bytes' | 'ms' | 'percent' }): For<PageColumn, T>
  /** An amount in minor units, as a number or decimal text, shown in its unit. */
  amount(field: Named<T, string | number>, options: Shown & UnitOf<T>): For<PageColumn, T>
  flag(field: Named<T, boolean>, options?: Shown): For<PageColumn, T>
  /** A state. A value without a tone does not compile. */
  status<F extends Named<T, string>>(
    field: F,
    tones: { readonly [Value in Literal<At<T, F>>]: Tone },
    options?: Shown & { readonly labels?: Labels<At<T, F>> },
  ): For<PageColumn, T>
  /** Several short texts. `member`: the shown member if the items are objects. */
  chips<F extends Named<T, readonly unknown[]>>(
    field: F,
    member?: F extends keyof T ? keyof ListItem<T[F]> & string : string,
    options?: Shown & { readonly labels?: Labels<ListItem<At<T, F>>> },
  ): For<PageColumn, T>
  /** One or more ids of named objects. `labels` is the kind of object. */
  reference(
    field: Named<T, string | number | readonly (string | number)[]>,
    of: { readonly labels: string; readonly page?: string },
    options?: Shown,
  ): For<PageColumn, T>
  json(field: keyof T & string, options?: Shown): For<PageColumn, T>
  difference(before: keyof T & string, after: keyof T & string, options?: Shown): For<PageColumn, T>
  /** A list within the object. */
  rows<F extends Named<T, readonly unknown[]>>(
    field: F,
    build: (item: Row<ListItem<At<T, F>>>) => readonly For<PageColumn, ListItem<At<T, F>>>[],
    options?: Shown,
  ): For<PageColumn, T>
  /**
   * Returns columns for the members of a response schema that have none yet, each in the form of its schema: moments,
   * numbers, flags and texts. A new member of the schema is shown without a change of the page. Lists and objects need
   * their own column.
   * @param schema schema of the row, such as `viewOf(Entity).schema`
   * @param named columns of the page, and members that it does not show
   */
  others(
    schema: MembersSchema,
    named: readonly (For<PageColumn, T> | (keyof T & string))[],
    options?: Pick<Shown, 'hidden'>,
  ): readonly For<PageColumn, T>[]
  /** An HTML document of another source, shown in isolation: it cannot run scripts, follow links or load resources. */
  html(field: Named<T, string>, options?: Shown): For<PageColumn, T>
  action<O extends OperationId>(operation: O | Undescribed, options: ActionOptions<O, T>): For<PageAction, T>
  form<O extends OperationId>(operation: O | Undescribed, options: FormOptions<O, T>): For<PageForm, T>
  /** The result of another operation, shown before the write. */
  preview<O extends OperationId>(operation: O | Undescribed, options: PreviewOptions<O, T>): For<PagePreview, T>
  /** The result of another operation for the current content of a form, updated while the user types. */
  livePreview<O extends OperationId>(
    operation: O | Undescribed,
    options: LivePreviewOptions<O, T>,
  ): For<PageLivePreview, T>
}

/** Members of a list that do not depend on its rows. */
type ListMembers = Pick<
  ListPageDeclaration,
  'id' | 'title' | 'lead' | 'place' | 'bulk' | 'create' | 'forms' | 'detail' | 'empty' | 'live'
>

interface ListOptions<O extends OperationId, T> extends ListMembers {
  readonly key: Named<T, string | number>
  readonly columns: readonly For<PageColumn, T>[]
  readonly search?: QueryName<O>
  readonly find?: readonly QueryName<O>[]
  readonly filters?: readonly (
    | QueryName<O>
    | {
        readonly name: QueryName<O>
        readonly labels?: Readonly<Record<string, LocalizedText>>
        readonly options?: PageChoice
      }
  )[]
  readonly sort?: SortOf<O>
  readonly actions?: readonly For<PageAction, T>[]
}

interface DetailOptions<O extends OperationId, T>
  extends Pick<DetailPageDeclaration, 'id' | 'title' | 'place' | 'live'> {
  readonly name?: Named<T, Plain>
  readonly param?: keyof Of<O, 'params'> & string
  readonly sections: readonly { readonly title?: LocalizedText; readonly columns: readonly For<PageColumn, T>[] }[]
  readonly related?: readonly {
    readonly page: string
    readonly title: LocalizedText
    readonly filter: Readonly<Record<string, Named<T, Plain> | { readonly value: Plain }>>
    readonly optional?: boolean
  }[]
  readonly form?: For<PageForm, T>
  readonly actions?: readonly For<PageAction, T>[]
}

/** A list of the rows of an operation. */
export function adminList<O extends ListOperation>(
  source: O | Undescribed,
  build: (row: Row<ItemOf<O>>) => ListOptions<O, ItemOf<O>>,
): ListPageDeclaration {
  const { filters, ...options } = build(rowOf<ItemOf<O>>())
  const named = filters?.map((filter) => (typeof filter === 'string' ? { name: filter } : filter))
  return { kind: 'list', source, ...options, ...(named === undefined ? {} : { filters: named }) }
}

/** A detail page of the object that an operation returns. */
export function adminDetail<O extends ReadOperation>(
  source: O | Undescribed,
  build: (it: Row<Bare<Of<O, 'data'>>>) => DetailOptions<O, Bare<Of<O, 'data'>>>,
): DetailPageDeclaration {
  const { related, ...options } = build(rowOf<Bare<Of<O, 'data'>>>())
  const lists = related?.map((list) => ({ ...list, filter: valuesOf(list.filter) }))
  return { kind: 'detail', source, ...options, ...(lists === undefined ? {} : { related: lists }) }
}

/** A form that creates an object. */
export function adminForm<O extends OperationId>(operation: O | Undescribed, options: FormOptions<O, never>): PageForm {
  return formOf(operation, options as never)
}

/** The result of another operation, shown before a form that creates an object is sent. */
export function adminPreview<O extends OperationId>(
  operation: O | Undescribed,
  options: PreviewOptions<O, never>,
): PagePreview {
  return previewOf(operation, options as never)
}

/**
 * The result of another operation for the current content of a form that creates an object, updated while the user
 * types.
 */
export function adminLivePreview<O extends OperationId>(
  operation: O | Undescribed,
  options: LivePreviewOptions<O, never>,
): PageLivePreview {
  return livePreviewOf(operation, options as never)
}

/** An action on several rows. */
export function adminBulk<O extends OperationId>(operation: O | Undescribed, options: BulkOptions<O>): PageBulk {
  return { operation, ...writtenOf(options as never) } as PageBulk
}

interface AttentionOptions<O extends OperationId>
  extends Pick<AttentionDeclaration, 'id' | 'title' | 'tone' | 'page' | 'place' | 'live'> {
  readonly query?: Partial<Of<O, 'query'>>
  /** A number of the response, or a list in it. */
  readonly count?: Named<Bare<Of<O, 'data'>>, number | readonly unknown[]>
  readonly where?: Readonly<Record<string, Plain>>
  readonly filled?: string
}

/** A condition that may need an operator. An operation returns how often it occurs. */
export function adminAttention<O extends OperationId>(
  source: O | Undescribed,
  options: AttentionOptions<O>,
): AttentionDeclaration {
  return { source, ...(options as Omit<AttentionDeclaration, 'source'>) }
}

interface ChartOptions<O extends OperationId, T>
  extends Pick<OperationChart, 'id' | 'title' | 'lead' | 'unit' | 'page' | 'order' | 'labels'> {
  readonly query?: Partial<Of<O, 'query'>>
  readonly at: Named<T, string>
  readonly by?: Named<T, Plain>
  readonly currency?: Named<T, string>
  readonly lines: readonly {
    readonly field: Named<T, number>
    readonly title?: LocalizedText
    readonly tone?: Tone
  }[]
}

/** Numbers over time from the rows of an operation. Each row has a moment. */
export function adminChart<O extends ListOperation>(
  source: O | Undescribed,
  options: ChartOptions<O, ItemOf<O>>,
): OperationChart {
  return { kind: 'operation', source, ...(options as Omit<OperationChart, 'kind' | 'source'>) }
}

/** Numbers over time from counters, as long as the process stores them. */
export function measuredChart(options: Omit<MeasuredChart, 'kind'>): MeasuredChart {
  return { kind: 'measured', ...options }
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

/** Converts values of members and the columns of a result to data. */
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

/** Returns the form of a member by its schema, or `undefined` for lists, objects and unions of several types. */
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

/** Shared by all pages, because it has no state. */
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
  html: column('html'),
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
