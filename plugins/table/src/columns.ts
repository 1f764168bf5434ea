import type { Instant, Tone } from '@plinth/admin'
import { column } from '@plinth/database'
import { currentVersion, id, instant, line, Type, text, withDescription } from '@plinth/http'
import type { Localized } from '@plinth/kernel'
import type { Static, TSchema } from 'typebox'
import type { TableDescription } from './table.ts'

/** A text in English and Chinese. */
export type Text = readonly [en: string, zh: string]

/** Types of one column. An interface, so that messages of the compiler stay short. */
export interface Facts {
  /** Property builder of MikroORM, as `column` of `@plinth/database` returns it. */
  readonly property: object
  /** Value in the row. */
  readonly row: unknown
  /** Value in a response. */
  readonly view: unknown
  /** Value in a request. */
  readonly input: unknown
  /** `edit`: in create and change requests. `create`: in create requests only. `never`: only code sets it. */
  readonly write: 'edit' | 'create' | 'never'
  /** True if a create request must contain it. */
  readonly needed: boolean
  /** True if responses contain it. Only these columns can be filters, sort orders or part of a search. */
  readonly shown: boolean
  readonly kind: 'id' | 'text' | 'longText' | 'number' | 'flag' | 'choice' | 'time' | 'amount' | 'json'
  /** Column with the unit of an amount. */
  readonly unit: string
}

type With<F extends Facts, Changed extends Partial<Facts>> = Omit<F, keyof Changed> & Changed
type NullableProperty<P> = P extends { nullable(): infer Nullable extends object } ? Nullable : never

/** The content of a column at run time. Schemas are those of a value that is not null. */
export interface ColumnDescription {
  readonly kind: Facts['kind']
  readonly title: Localized | undefined
  readonly write: Facts['write']
  readonly isNullable: boolean
  readonly isShown: boolean
  readonly isAudited: boolean
  /** Value of a new row if the request does not contain the column; `undefined` if there is none. */
  readonly defaultValue: unknown
  readonly inputSchema: TSchema
  readonly viewSchema: TSchema
  /** `caller`: the user who creates the row. `user`: a user whom the caller chooses. `edit`: a column of `c.edits()`. */
  readonly role?: 'caller' | 'user' | 'edit'
  /** True for the time of the creation, when the id was created too. */
  readonly isCreation?: boolean
  /** Kind of the labels of the ids in this column. */
  readonly labels?: string
  readonly choices?: Readonly<Record<string, Choice>>
  /** Asset of an amount, or the column that contains it. */
  readonly unit?: { readonly asset: string } | { readonly in: string }
}

export interface Column<F extends Facts> {
  /** For the compiler only. Never set. */
  readonly '~facts'?: F
  readonly property: F['property']
  readonly description: ColumnDescription
  /** Heading of the column, label of the field, and name in the audit. */
  title(en: string, zh: string): Column<F>
  /**
   * Description of the member in the API description.
   *
   * @param inResponses description in responses, if it differs
   */
  describe(english: string, inResponses?: string): Column<F>
  /** Schema of the value in responses, if it differs. `instant` shows milliseconds since the epoch as a time. */
  view<S extends TSchema>(schema: S): Column<With<F, { view: Static<S> }>>
  nullable(): Column<
    With<
      F,
      {
        property: NullableProperty<F['property']>
        row: F['row'] | null
        view: F['view'] | null
        input: F['input'] | null
        needed: false
      }
    >
  >
  /** Value of a new row if the request does not contain the column. It is not a default of the database. */
  default(value: F['row']): Column<With<F, { needed: false }>>
  /** Default of the database, which a column needs that was added to a table with rows. */
  databaseDefault(value: F['row']): Column<F>
  /** The value is set when the row is created and never changes. */
  fixed(): Column<With<F, { write: 'create' }>>
  /** Callers read the value, but only code sets it. */
  readOnly(): Column<With<F, { write: 'never'; needed: false }>>
  /** Requests and responses do not contain the column. */
  internal(): Column<With<F, { write: 'never'; needed: false; shown: false }>>
  /** The audit contains only the name of the column, not its value. */
  unaudited(): Column<F>
}

/** The facts of a column to which no rule was added. */
export interface Plain<P extends object, V, Kind extends Facts['kind']> {
  readonly property: P
  readonly row: V
  readonly view: V
  readonly input: V
  readonly write: 'edit'
  readonly needed: true
  readonly shown: true
  readonly kind: Kind
  readonly unit: never
}
type Stored = { readonly [Name in keyof typeof column]: ReturnType<(typeof column)[Name]> }
type ByCode<P extends object, V, Kind extends Facts['kind']> = With<
  Plain<P, V, Kind>,
  { write: 'never'; needed: false }
>

declare const textProperty: Stored['text']
/** Text property with a union of texts as its type. */
type ChoiceProperty<V extends string> = ReturnType<typeof textProperty.$type<V>>

/** The smallest and the largest value. */
export interface Bounds {
  readonly min?: number
  readonly max?: number
}

/** One choice: its title, and its colour in lists. */
export type Choice = Text | { readonly title: Text; readonly tone: Tone }

type Defaults = Pick<
  ColumnDescription,
  'title' | 'write' | 'isNullable' | 'isShown' | 'isAudited' | 'defaultValue' | 'viewSchema'
>
type Declared = Pick<ColumnDescription, 'kind' | 'inputSchema'> & Partial<ColumnDescription>

function columnOf<F extends Facts>(property: object, declared: Declared): Column<F> {
  const defaults: Defaults = {
    title: undefined,
    write: 'edit',
    isNullable: false,
    isShown: true,
    isAudited: true,
    defaultValue: undefined,
    viewSchema: declared.inputSchema,
  }
  const description: ColumnDescription = { ...defaults, ...declared }
  const changed = <G extends Facts>(part: Partial<ColumnDescription>) =>
    columnOf<G>(property, { ...description, ...part })
  const column: Column<Facts> = {
    property,
    description,
    title: (en, zh) => changed({ title: localizedOf([en, zh]) }),
    describe: (english, inResponses = english) =>
      changed({
        inputSchema: withDescription(description.inputSchema, english),
        viewSchema: withDescription(description.viewSchema, inResponses),
      }),
    view: (viewSchema) => changed({ viewSchema }),
    nullable: () => columnOf((property as { nullable(): object }).nullable(), { ...description, isNullable: true }),
    default: (defaultValue) => changed({ defaultValue }),
    databaseDefault: (value) => columnOf((property as { default(value: unknown): object }).default(value), description),
    fixed: () => changed({ write: 'create' }),
    readOnly: () => changed({ write: 'never' }),
    internal: () => changed({ write: 'never', isShown: false }),
    unaudited: () => changed({ isAudited: false }),
  }
  return column as never
}

/** Several lines without characters that some databases cannot store: NUL and lone surrogates. */
const lines = (maxLength: number) => Type.String({ maxLength, pattern: '^[^\\0\\p{Cs}]*$' })
/** Times from 1970 to 8999, which all databases can store in each time zone. */
const storableTime = Type.String({ format: 'date-time', pattern: '^(19[7-9]\\d|[2-8]\\d{3})-' })
const largestSmallInteger = 2 ** 31 - 1

const integerWithin = ({ min, max }: Bounds) =>
  Type.Integer({ ...(min === undefined ? {} : { minimum: min }), ...(max === undefined ? {} : { maximum: max }) })

/** Creates columns. The types in the database are those of `column` of `@plinth/database`. */
export const c = {
  /** Primary key with a value of `Database.newId`. */
  id: (): Column<ByCode<Stored['primaryKey'], number, 'id'>> =>
    columnOf(column.primaryKey(), { kind: 'id', inputSchema: id, write: 'never' }),
  /** The user who creates the row. Set from the request, never from its body. */
  caller: (): Column<ByCode<Stored['id'], number, 'id'>> =>
    columnOf(column.id(), { kind: 'id', inputSchema: id, write: 'never', role: 'caller', labels: 'iam.user' }),
  /** A user whom the caller chooses. Rejected with `iam.out-of-scope` if the caller may not access the user. */
  user: (): Column<Plain<Stored['id'], number, 'id'>> =>
    columnOf(column.id(), { kind: 'id', inputSchema: id, role: 'user', labels: 'iam.user' }),
  /**
   * A row of another table, or an object of another plugin by the kind of its labels. Nothing checks that it exists, so
   * check it in `prepare` of the operation.
   */
  reference: (to: string | TableDescription): Column<Plain<Stored['id'], number, 'id'>> =>
    columnOf(column.id(), { kind: 'id', inputSchema: id, ...(typeof to === 'string' ? { labels: to } : {}) }),
  /**
   * One line without control characters.
   *
   * @param max maximum number of characters
   * @param rules `pattern` replaces the rule about control characters, so it must reject them itself
   */
  text: (
    max: number,
    { min, pattern }: { readonly min?: number; readonly pattern?: string } = {},
  ): Column<Plain<Stored['text'], string, 'text'>> => {
    const minLength = min === undefined ? {} : { minLength: min }
    const inputSchema =
      pattern === undefined ? line(max, minLength) : Type.String({ ...minLength, maxLength: max, pattern })
    return columnOf(column.text(max), { kind: 'text', inputSchema, viewSchema: text })
  },
  /** Several lines. The audit does not contain the text. */
  longText: (max: number): Column<Plain<Stored['longText'], string, 'longText'>> =>
    columnOf(column.longText(), { kind: 'longText', inputSchema: lines(max), viewSchema: text, isAudited: false }),
  /** Integer from -(2^31) to 2^31 - 1. */
  integer: ({
    min = -largestSmallInteger - 1,
    max = largestSmallInteger,
  }: Bounds = {}): Column<Plain<Stored['integer'], number, 'number'>> =>
    columnOf(column.integer(), {
      kind: 'number',
      inputSchema: integerWithin({ min, max }),
      viewSchema: Type.Integer(),
    }),
  /** Integer from -(2^53 - 1) to 2^53 - 1. */
  bigint: (bounds: Bounds = {}): Column<Plain<Stored['bigint'], number, 'number'>> =>
    columnOf(column.bigint(), { kind: 'number', inputSchema: integerWithin(bounds), viewSchema: Type.Integer() }),
  flag: (): Column<Plain<Stored['boolean'], boolean, 'flag'>> =>
    columnOf(column.boolean(), { kind: 'flag', inputSchema: Type.Boolean() }),
  /** @param length maximum number of characters of a choice in the database */
  choice: <const V extends Readonly<Record<string, Choice>>>(
    choices: V,
    length = 16,
  ): Column<Plain<ChoiceProperty<keyof V & string>, keyof V & string, 'choice'>> =>
    columnOf(column.text(length), { kind: 'choice', inputSchema: Type.Enum(Object.keys(choices)), choices }),
  /** A time from 1970 to 8999. */
  time: (): Column<With<Plain<Stored['timestamp'], Date, 'time'>, { view: Instant; input: string }>> =>
    columnOf(column.timestamp(), { kind: 'time', inputSchema: storableTime, viewSchema: instant }),
  /** Time of the creation. */
  createdAt: (): Column<With<ByCode<Stored['timestamp'], Date, 'time'>, { view: Instant }>> =>
    columnOf(column.timestamp(), { kind: 'time', inputSchema: instant, write: 'never', isCreation: true }),
  /** Minor units of an asset, such as `points`, or of the asset that another column contains. */
  amount: <const Unit extends string = never>(
    unit: { readonly asset: string } | { readonly in: Unit },
    bounds: Bounds = {},
  ): Column<With<Plain<Stored['bigint'], number, 'amount'>, { unit: Unit }>> =>
    columnOf(column.bigint(), {
      kind: 'amount',
      inputSchema: integerWithin(bounds),
      viewSchema: Type.Integer(),
      unit,
    }),
  /**
   * A value that its schema describes.
   *
   * @param view schema in responses, if it differs from the one in requests
   */
  json: <S extends TSchema>(
    schema: S,
    view: TSchema = schema,
  ): Column<Plain<ReturnType<typeof column.json<Static<S> & object>>, Static<S>, 'json'>> =>
    columnOf(column.json<Static<S> & object>(), { kind: 'json', inputSchema: schema, viewSchema: view }),
  /** `version`, `createdAt`, `updatedAt`, `updatedBy`: changes are then checked for conflicts. */
  edits: (): EditColumns => ({
    version: columnOf(column.integer(), { ...edit, kind: 'number', inputSchema: currentVersion }),
    createdAt: columnOf(column.timestamp(), { ...edit, kind: 'time', inputSchema: instant, isCreation: true }),
    updatedAt: columnOf(column.timestamp(), { ...edit, kind: 'time', inputSchema: instant }),
    updatedBy: columnOf(column.text(128).nullable(), { ...edit, kind: 'text', inputSchema: text, isNullable: true }),
  }),
}

const edit = { write: 'never', role: 'edit' } as const

export interface EditColumns {
  readonly version: Column<ByCode<Stored['integer'], number, 'number'>>
  readonly createdAt: Column<With<ByCode<Stored['timestamp'], Date, 'time'>, { view: Instant }>>
  readonly updatedAt: Column<With<ByCode<Stored['timestamp'], Date, 'time'>, { view: Instant }>>
  readonly updatedBy: Column<ByCode<NullableProperty<Stored['text']>, string | null, 'text'>>
}

export type Columns = Readonly<
  Record<string, { readonly property: object; readonly description: ColumnDescription; readonly '~facts'?: Facts }>
>
export type FactsOf<X> = X extends { readonly '~facts'?: infer F extends Facts | undefined } ? NonNullable<F> : never
/** Names of the columns with these facts. */
export type Names<C, Wanted extends Partial<Facts>> = {
  [K in keyof C]: FactsOf<C[K]> extends Wanted ? K : never
}[keyof C] &
  string

export type RowOf<C> = { readonly [K in keyof C]: FactsOf<C[K]>['row'] }
export type ViewOf<C> = { readonly [K in Names<C, { shown: true }>]: FactsOf<C[K]>['view'] }
export type CreateOf<C> = {
  readonly [K in Names<C, { write: 'edit' | 'create'; needed: true }>]: FactsOf<C[K]>['input']
} & {
  readonly [K in Names<C, { write: 'edit' | 'create'; needed: false }>]?: FactsOf<C[K]>['input'] | undefined
}
export type ChangeOf<C> = { readonly [K in Names<C, { write: 'edit' }>]?: FactsOf<C[K]>['input'] | undefined }

/** Columns that a list can filter and sort by. */
export type PlainName<C> = Names<
  C,
  { shown: true; kind: 'id' | 'text' | 'number' | 'flag' | 'choice' | 'amount' | 'time' }
>
export type TextName<C> = Names<C, { shown: true; kind: 'text' }>
export type TimeName<C> = Names<C, { kind: 'time' }>

/** Returns a text as the kernel and pages expect it. */
export const localizedOf = ([en, zh]: Text): Localized => ({ en, 'zh-CN': zh })

const titleOfChoice = (choice: Choice): Localized => localizedOf('title' in choice ? choice.title : choice)

/** Returns the titles of the choices of a column, for example for a page. */
export const titlesOfChoices = ({ choices = {} }: ColumnDescription): Readonly<Record<string, Localized>> =>
  Object.fromEntries(Object.entries(choices).map(([value, choice]) => [value, titleOfChoice(choice)]))

/**
 * Returns the schema with the title of a column. It has priority over the title that the messages of the plugin have for
 * the name of the member.
 */
export function withTitle<S extends TSchema>(schema: S, title: Localized | undefined): S {
  if (title === undefined) return schema
  const titles = { title: title.en, 'x-title': title }
  return Object.defineProperties(titles, Object.getOwnPropertyDescriptors(schema)) as unknown as S
}

/** Returns schemas of a body. Members with the name of a column have its title, if they have none of their own. */
export const withColumnTitles = (columns: Columns, properties: Readonly<Record<string, TSchema>>) =>
  Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, withTitle(schema, columns[name]?.description.title)]),
  )

/** Returns a title as it is written within a sentence: `Note` becomes `note`, `API key` stays. */
export const inSentence = (title: string) =>
  /^[A-Z][a-z]/.test(title) ? title.charAt(0).toLowerCase() + title.slice(1) : title

/** Returns a name as part of a path, such as `move-stage`. */
export const kebabCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
