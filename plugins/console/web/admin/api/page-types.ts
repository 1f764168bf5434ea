import type { Callable, Value } from './operations.ts'

/*
 * Types of pages as the server describes them: declarations together with their operations, in the language of the
 * page.
 */

export type Json = Readonly<Record<string, unknown>>
export type Tone = 'good' | 'info' | 'warn' | 'bad' | 'quiet'

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
}

export interface Column {
  readonly field: string
  readonly as: string
  readonly title: string
  readonly description?: string
  readonly link?: boolean
  readonly opens?: { readonly base: string; readonly path: string }
  readonly mono?: boolean
  readonly hidden?: boolean
  readonly unit?: 'bytes' | 'ms' | 's' | 'percent'
  /** True if the list shows the sum of the column. */
  readonly total?: boolean
  readonly tones?: Readonly<Record<string, Tone>>
  readonly labels?: Readonly<Record<string, string>>
  readonly member?: string
  /** For a structured value: the titles of its members, by name. */
  readonly titles?: Readonly<Record<string, string>>
  /**
   * Object to which the column refers. `opens` lists the parameters of the page address that receive the id. Without
   * `opens`, the id is part of the path.
   */
  readonly of?: { readonly labels: string; readonly page?: string; readonly opens?: readonly string[] }
  readonly before?: string
  readonly format?: string
  readonly fallback?: string
  readonly currency?: string
  readonly asset?: string
  readonly decimals?: string
  readonly symbol?: string
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
  /** Objects to choose from. `more`: further values. `free`: any text is allowed. */
  readonly options?: {
    readonly labels: string
    readonly more?: Readonly<Record<string, string>>
    readonly free?: boolean
  }
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

export type Parameter = { readonly field: string } | { readonly value: Value }

/** Choices of a field, which an operation returns. */
export interface Choices extends Operation {
  readonly allowed: true
  /** Member of an item that is sent. */
  readonly value: string
  /** Member of an item that is shown. Default: `value`. */
  readonly name?: string
  /** Parameters: constants, or the values of other fields or of members of the page's object. */
  readonly params?: Readonly<Record<string, Parameter>>
  readonly query?: Readonly<Record<string, Parameter>>
  /** Parameter for the typed text. */
  readonly search?: string
  /** Number of items to read, if the operation has pages. */
  readonly size?: number
}

export type Source =
  | { readonly field: string }
  | { readonly list: readonly string[] }
  | { readonly value: Value | readonly (string | number)[] }
export type Sources = Readonly<Record<string, Source>>

/** A read-only operation whose response is shown before a write. */
interface Preview extends Operation {
  readonly params?: Sources
  readonly body?: Sources
  readonly takes?: readonly string[]
  /** Member of the response that is false if the write is not possible. */
  readonly possible?: string
  readonly columns: readonly Column[]
}

/** A preview that is shown next to a form while the user types. */
export interface LivePreview extends Preview {
  readonly takes: readonly string[]
  readonly samples?: { readonly into: string; readonly of: string }
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
export interface Write extends Operation {
  readonly body?: Sources
  readonly preview?: string | Preview
  readonly answer?: readonly Column[]
  /** Values of the response that mean success. All others are failures. */
  readonly outcome?: {
    readonly field: string
    readonly good: readonly Value[]
    readonly labels?: Readonly<Record<string, string>>
  }
  /** Page and id of the row that the write creates. */
  readonly created?: { readonly page: string; readonly field: string }
  readonly reason?: 'optional' | 'required'
  readonly tone?: 'danger'
  /** Members that the user types in the main unit and that are sent in minor units. */
  readonly amounts?: Readonly<Record<string, { readonly unit: string } | { readonly field: string }>>
  /** Titles of the members that are sent without user input. */
  readonly titles?: Readonly<Record<string, string>>
}

export interface Action extends Write {
  readonly label: string
  readonly params: Sources
  readonly query?: Sources
  readonly ask?: readonly Field[]
  readonly once?: string
  readonly when?: Readonly<Record<string, readonly Value[]>>
  readonly confirm?: string
  readonly type?: string
  /** Operation of the action of the same page that reverses this one. */
  readonly undo?: string
}

/** Unit of an amount. */
export interface AmountUnit {
  readonly displayName: string
  /** Number of decimal places between the minor unit and the main unit. */
  readonly scale: number
  readonly symbol?: string
}

export interface Form extends Write {
  readonly title: string
  readonly lead?: string
  readonly submit?: string
  readonly fields: readonly Field[]
  /** Groups of fields. Other fields come first. */
  readonly sections?: readonly { readonly title: string; readonly fields: readonly string[] }[]
  readonly whole?: boolean
  readonly params?: Sources
  readonly secret?: readonly string[]
  readonly long?: readonly string[]
  readonly livePreview?: LivePreview
  readonly version?: string
  readonly once?: string
}

export interface Bulk extends Write {
  readonly label: string
  readonly ids: string
  readonly max: number
  readonly ask?: readonly Field[]
  readonly confirm?: string
}

/** A chart with numbers over time: its operation, and the displayed members of the rows. */
export interface Chart extends Callable {
  readonly id: string
  readonly title: string
  readonly lead?: string
  readonly as: 'line' | 'bar' | 'share'
  /** If set, the chart shows the time range of its page. */
  readonly follows?: 'range'
  readonly unit?: Column['unit']
  /** Time ranges that the user can select. There is at least one. */
  readonly ranges: readonly {
    readonly id: string
    readonly title: string
    readonly query: Readonly<Record<string, Value>>
  }[]
  /** Member of a row that contains the time or the day. */
  readonly at: string
  /** Member whose values are drawn as separate lines. */
  readonly by?: string
  /** Kind of the objects whose ids `by` contains. */
  readonly names?: string
  /** For amounts in minor units: the member that contains the asset or the currency. */
  readonly currency?: string
  /** Names for the values of `by`. */
  readonly labels: Readonly<Record<string, string>>
  readonly lines: readonly { readonly field: string; readonly title: string; readonly tone?: Tone }[]
}

/** A tile shows one number: a member of the response, or the sum of a member over all its rows. */
export interface Tile extends Callable {
  readonly id: string
  readonly operation: string
  readonly title: string
  readonly lead?: string
  readonly query: Readonly<Record<string, Value>>
  /** True if the tile follows the time range of its page. */
  readonly range?: boolean
  readonly field: string
  readonly currency?: string
  readonly unit?: Column['unit']
  /** Whether a larger number is good or bad. */
  readonly more?: 'good' | 'bad'
  /** Page with the details. */
  readonly opens?: {
    readonly id: string
    readonly filter?: Readonly<Record<string, string>>
    /** True if the page has a time filter. */
    readonly hasRange: boolean
  }
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
}

export interface ListPage extends AnyPage {
  readonly kind: 'list'
  readonly lead?: string
  readonly empty?: string
  readonly key: string
  readonly columns: readonly Column[]
  readonly isPaged: boolean
  /** True if the list accepts the parameter `count`. */
  readonly canCount: boolean
  readonly search?: { readonly name: string; readonly title: string }
  /** Time filter of the list (parameters `from` and `to`), with the title of the filtered time. */
  readonly range?: { readonly title: string }
  readonly sorts: readonly string[]
  readonly filters: readonly Field[]
  readonly sort?: string
  readonly actions: readonly Action[]
  readonly bulk: readonly Bulk[]
  readonly create?: Form
  /** Buttons that open another page. */
  readonly links: readonly { readonly page: string; readonly label: string }[]
  readonly forms: readonly Form[]
  readonly detail?: string
  readonly live?: PageRefresh
}

export interface DetailPage extends AnyPage {
  readonly kind: 'detail'
  readonly name?: string
  readonly param?: string
  readonly sections: readonly { readonly title?: string; readonly columns: readonly Column[] }[]
  readonly related: readonly { readonly page: string; readonly title: string; readonly filter: Sources }[]
  readonly form?: Form
  readonly actions: readonly Action[]
  readonly live?: PageRefresh
}

/** An operation that a frame may call. A write has a label, and the columns of its confirmation dialog. */
export interface FrameOperation extends Operation {
  readonly label?: string
  readonly confirm?: string
  readonly columns?: readonly Column[]
  readonly reason?: 'optional' | 'required'
  readonly tone?: 'danger'
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

export interface Navigation {
  readonly siteName: string
  readonly siteTitle: string
  readonly timeZone: string
  /** Units of amounts, by asset. */
  readonly units: Readonly<Record<string, AmountUnit>>
  readonly groups: readonly {
    readonly id: string
    readonly title: string
    /** Name of the icon of a group that a plugin declares. */
    readonly icon?: string
    readonly pages: readonly {
      readonly id: string
      readonly title: string
      readonly kind: Page['kind'] | 'own'
      /** Ids of the detail pages that open from this page. */
      readonly details: readonly string[]
      /** For a custom page: the parameters of its address that receive the id of an object. */
      readonly opens?: readonly string[]
    }[]
  }[]
}

/** A condition that may need the attention of an operator, with the operation that counts its cases. */
export interface Attention extends Callable {
  readonly id: string
  readonly operation: string
  readonly live: PageRefresh
  readonly title: string
  readonly tone: 'bad' | 'warn'
  readonly query: Readonly<Record<string, Value>>
  readonly count?: string
  readonly where?: Readonly<Record<string, Value>>
  readonly filled?: string
  readonly page?: { readonly id: string; readonly filter?: Readonly<Record<string, string>> }
  readonly place?: 'overview' | 'navigation'
}
