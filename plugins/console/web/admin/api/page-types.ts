import type { DataOf } from '@plinth/client'
import type * as Declared from './declared-pages.gen.ts'
import type { Callable, Value } from './operations.ts'

/*
 * Types of pages as the server describes them: declarations in the language of the page, together with their operations.
 * The types of the declarations are generated from their schemas.
 */

export type Json = Readonly<Record<string, unknown>>
export type Tone = NonNullable<Declared.Column['tones']>[string]

export interface Operation extends Callable {
  readonly operation: string
  readonly takesReason: boolean
  /** True if the operation has a request body, even an empty one. */
  readonly hasBody: boolean
  /** True if this user may call the operation. */
  readonly allowed: boolean
  readonly permission?: string
  /** `all` if the operation needs this data scope in addition to the permission. */
  readonly dataScope?: 'all'
  /** Maximum age of the last proof of identity in seconds, if the operation needs a fresh one. */
  readonly freshSeconds?: number
}

export interface Column extends Omit<Declared.Column, 'of' | 'columns'> {
  readonly title: string
  readonly description?: string
  /** For a structured value: the titles of its members, by name. */
  readonly titles?: Readonly<Record<string, string>>
  /** Address of a trace, with `{{traceId}}` as placeholder for the value. */
  readonly traceLink?: string
  /**
   * Object to which the column refers. `opens` lists the parameters of the page address that receive the id. Without
   * `opens`, the id is part of the path.
   */
  readonly of?: { readonly labels: string; readonly page?: string; readonly opens?: readonly string[] }
  readonly columns?: readonly Column[]
}

export interface Field {
  readonly name: string
  readonly title: string
  readonly required: boolean
  readonly nullable: boolean
  readonly description?: string
  readonly schema: Json
  readonly labels?: Readonly<Record<string, string>>
  /** For a filter of a column: its operators in the parameter `filter`. */
  readonly operators?: readonly ('in' | 'gte' | 'lte' | 'empty')[]
  /** For a filter of a column: how the list shows it. */
  readonly as?: Column['as']
  /** True for a filter that is shown before the user adds it. */
  readonly isShown?: boolean
  /** Objects to choose from. */
  readonly options?: Omit<Declared.LabelPicker, 'title' | 'optional'>
  /** Operation that returns the choices, or the permission that the user needs for it. */
  readonly choices?: Choices | { readonly allowed: false; readonly permission?: string }
  /** How a file is uploaded. The value of the field is the id of the upload. */
  readonly upload?: Upload
  /** Field whose value this field has until the user changes it. */
  readonly follows?: string
  /** The field is shown while each of these members has one of its listed values. */
  readonly showWhen?: Readonly<Record<string, readonly Value[]>>
}

/** Operation that stores a file for a form. */
export interface Upload extends Operation {
  readonly types: readonly string[]
  readonly maxBytes: number
}

/** A file in a response. */
export interface StoredFile {
  readonly id: string
  readonly name: string
  readonly url: string
}

export type Parameter = NonNullable<Choices['params']>[string]

/** Choices of a field, which an operation returns. */
export interface Choices extends Operation, Omit<Declared.Choices, 'operation' | 'title'> {
  readonly allowed: true
  /** Number of items to read, if the operation has pages. */
  readonly size?: number
}

export type Source =
  | { readonly field: string }
  | { readonly list: readonly string[] }
  | { readonly value: Value | readonly (string | number)[] }
export type Sources = Readonly<Record<string, Source>>

/** A read-only operation whose response is shown before a write. */
interface Preview extends Operation, Omit<Declared.Preview, 'operation' | 'params' | 'body' | 'columns'> {
  readonly params?: Sources
  readonly body?: Sources
  readonly columns: readonly Column[]
}

/** A preview that is shown next to a form while the user types. */
export interface LivePreview extends Preview, Pick<Declared.LivePreview, 'samples'> {
  readonly takes: readonly string[]
}

/** A template variable for which the user can type a sample value. */
export interface PreviewVariable {
  readonly name: string
  /** Fields that use the variable. */
  readonly usedIn: readonly string[]
  readonly needed: boolean
  readonly given: boolean
}

/** Common members of actions and forms. */
export interface Write extends Operation, Pick<Declared.Form, 'reason' | 'tone' | 'amounts'> {
  /** Page of the object that the write created, and the member of the response with its id. */
  readonly created?: NonNullable<Declared.Form['created']> & { readonly title: string }
  readonly body?: Sources
  readonly preview?: string | Preview
  readonly answer?: readonly Column[]
  /** Values of the response that mean success. All others are failures. */
  readonly outcome?: {
    readonly field: string
    readonly good: readonly Value[]
    readonly reason?: string
    readonly labels?: Readonly<Record<string, string>>
    /** Member with the id of the row, for an action on several rows. */
    readonly id?: string
  }
  /** Titles of the members that are sent without user input. */
  readonly titles?: Readonly<Record<string, string>>
}

export interface Action
  extends Write,
    Pick<Declared.Action, 'label' | 'once' | 'confirm' | 'type' | 'undo' | 'leadsTo'> {
  readonly params: Sources
  readonly query?: Sources
  readonly ask?: readonly Field[]
  readonly when?: Readonly<Record<string, readonly Value[]>>
}

/** Unit of an amount, with the number of decimal places between the minor unit and the main unit. */
export type AmountUnit = Navigation['units'][string]

export interface Form
  extends Write,
    Omit<
      Declared.Form,
      keyof Write | 'fields' | 'params' | 'livePreview' | 'showWhen' | 'defaults' | 'options' | 'choices'
    > {
  readonly fields: readonly Field[]
  readonly params?: Sources
  readonly livePreview?: LivePreview
}

export interface Bulk extends Write, Pick<Declared.BulkAction, 'label' | 'ids' | 'confirm'> {
  readonly max: number
  readonly ask?: readonly Field[]
}

/** A chart with numbers over time: its operation, and the displayed members of the rows. */
export interface Chart
  extends Callable,
    Pick<Declared.OperationChart, 'id' | 'title' | 'lead' | 'at' | 'by' | 'names' | 'currency'> {
  readonly as: NonNullable<Declared.OperationChart['as']>
  /** If set, the chart shows the time range of its page. */
  readonly follows?: 'range'
  readonly unit?: Column['unit']
  /** Time ranges that the user can select. There is at least one. */
  readonly ranges: readonly {
    readonly id: string
    readonly title: string
    readonly query: Readonly<Record<string, Value>>
  }[]
  /** Names for the values of `by`. */
  readonly labels: Readonly<Record<string, string>>
  readonly lines: readonly { readonly field: string; readonly title: string; readonly tone?: Tone }[]
}

/** A tile shows one number: a member of the response, or the sum of a member over all its rows. */
export interface Tile
  extends Callable,
    Pick<Declared.Tile, 'id' | 'title' | 'lead' | 'range' | 'field' | 'good' | 'bad' | 'currency' | 'more'> {
  readonly operation: string
  readonly query: Readonly<Record<string, Value>>
  readonly unit?: Column['unit']
  /** Page with the details. `hasRange`: true if the page has a time filter. */
  readonly opens?: NonNullable<Declared.Tile['opens']> & { readonly hasRange: boolean }
}

/**
 * How the page is kept up to date: it is read again after a change message (`hinted`), or polled every few seconds
 * (`polled`).
 */
export type PageRefresh = 'hinted' | 'polled'

interface AnyPage extends Operation {
  readonly id: string
  readonly title: string
  readonly charts: readonly Chart[]
  readonly tiles: readonly Tile[]
  readonly live?: PageRefresh
}

/** Filters, order and columns of a list for all users with a role. */
export type SharedView = DataOf<'getConsoleLookups'>['views'][number]

export interface ListPage
  extends AnyPage,
    Pick<Declared.ListPage, 'kind' | 'lead' | 'empty' | 'key' | 'sort' | 'detail'> {
  readonly columns: readonly Column[]
  readonly isPaged: boolean
  /** True if the list accepts the parameter `count`. */
  readonly canCount: boolean
  readonly search?: { readonly name: string; readonly title: string }
  /** Time filter of the list (parameters `from` and `to`), with the title of the filtered time. */
  readonly range?: { readonly title: string }
  readonly sorts: readonly string[]
  readonly filters: readonly Field[]
  readonly actions: readonly Action[]
  readonly bulk: readonly Bulk[]
  readonly create?: Form
  /** Form whose fields the user can change in the cells. */
  readonly edit?: Form
  /** Operation that creates rows from a file, with the maximum number of rows. */
  readonly import?: Operation & { readonly max: number }
  readonly board?: NonNullable<Declared.ListPage['board']> & { readonly values: readonly (string | number | boolean)[] }
  /** Views that are shared with roles of the user, and the roles with which the user may share views. */
  readonly shared: {
    readonly views: readonly SharedView[]
    readonly roles: readonly { readonly id: number; readonly name: string }[]
  }
  /** Buttons that open another page. */
  readonly links: NonNullable<Declared.ListPage['links']>
  readonly forms: readonly Form[]
}

/** Entries in a timeline: the rows of a list that belong to an object. */
export interface Timeline extends Operation, Pick<Declared.Timeline, 'id' | 'objectId' | 'at' | 'title' | 'opens'> {
  readonly filter: Sources
  readonly columns: readonly Column[]
  /** Number of rows to read, if the operation has pages. */
  readonly size?: number
}

/** An entry in a timeline that the object itself contains. */
export interface Moment extends Pick<Declared.Moment, 'at' | 'each' | 'title'> {
  readonly columns: readonly Column[]
}

export interface DetailPage extends AnyPage, Pick<Declared.DetailPage, 'kind' | 'name' | 'param'> {
  readonly sections: readonly { readonly title?: string; readonly columns: readonly Column[] }[]
  readonly moments: readonly Moment[]
  readonly timelines: readonly Timeline[]
  readonly related: readonly { readonly page: string; readonly title: string; readonly filter: Sources }[]
  readonly form?: Form
  readonly actions: readonly Action[]
}

/** An operation that a frame may call. A write has a label, and the columns of its confirmation dialog. */
export interface FrameOperation
  extends Operation,
    Partial<Pick<Declared.FrameWrite, 'label' | 'confirm' | 'reason' | 'tone'>>,
    Pick<Write, 'outcome'> {
  /** Operation that returns the row before the write. Only if the user may call it, the write can be undone. */
  readonly undo?: Operation
  readonly columns?: readonly Column[]
  /** Names of the path parameters, the query parameters and the body members. */
  readonly params: readonly string[]
  readonly query: readonly string[]
  readonly members: readonly string[]
}

/** A page with code of a plugin, which runs in a sandboxed frame. */
export interface FramePage {
  readonly kind: 'frame'
  readonly id: string
  readonly title: string
  readonly lead?: string
  /** Address of its document, relative to the back office. */
  readonly document: string
  readonly texts: Readonly<Record<string, string>>
  /** All operations that it may call, by id. */
  readonly operations: Readonly<Record<string, FrameOperation>>
}

export type Page = ListPage | DetailPage | FramePage

/** A custom page with its operations, by id. Operations that the product does not have are missing. */
export interface OwnPageView {
  readonly kind: 'own'
  readonly id: string
  readonly title: string
  readonly operations: Readonly<Record<string, Operation>>
  readonly form?: Form
}

/** The pages that the user may see, with the units of amounts by asset or currency. */
export type Navigation = DataOf<'getConsolePages'>

/** Report of an import. */
export type ImportReport = DataOf<'postConsolePageRows'>

export type AttentionMark = DataOf<'putConsoleAttention'>

/** A condition that may need the attention of an operator, with the operation that counts its cases. */
export interface Attention extends Callable, Omit<Declared.Attention, 'source' | 'query' | 'live' | 'oldest'> {
  readonly operation: string
  readonly live: PageRefresh
  readonly query: Readonly<Record<string, Value>>
  /** Operation whose first item has the time of the oldest case. */
  readonly oldest?: Callable & {
    readonly operation: string
    readonly query: Readonly<Record<string, Value>>
    readonly at: string
  }
  /** False if the user sees only some of the cases. */
  readonly mayDecide: boolean
  /** The decision of the operators, or null. */
  readonly mark: AttentionMark | null
}
