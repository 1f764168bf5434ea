import { extensionPoint, type LocalizedText, shape } from '@plinth/kernel'
import type { PageGroup, Tone } from './page-shapes.ts'
import { pageShape } from './page-shapes.ts'

/*
 * Declarations of back office pages. A plugin contributes its pages next to the routes that they show. If no loaded
 * plugin serves the pages, the declarations have no effect. A page contains no function, template or markup. The
 * browser receives JSON and runs no code of a plugin. The builders of `page-builders.ts` create pages and check them
 * against the types of operations.
 */

/** Place of a page in the navigation. A page without a place is only reachable from other pages. */
export interface PagePlace {
  readonly group: PageGroup
  /** Lower numbers come first. */
  readonly order: number
}

/** A member of a response and how it is shown. `field` is the name of the member or a dotted path to it. */
export interface PageColumn {
  readonly field: string
  readonly as:
    | 'text'
    | 'time'
    | 'count'
    | 'amount'
    | 'flag'
    | 'status'
    | 'chips'
    | 'reference'
    | 'json'
    | 'difference'
    | 'rows'
    | 'html'
  /** Replaces the title of the member in the route. */
  readonly title?: LocalizedText
  /** True if the text links to the page of the row. */
  readonly link?: boolean
  /**
   * For `text`: links to an external page in a new window. `base` is the member with an https URL. `path` and the value
   * are appended to it. Without a URL, plain text is shown.
   */
  readonly opens?: { readonly base: string; readonly path: string }
  /** Shows the value in a monospace font, for codes and keys. */
  readonly mono?: boolean
  /** True if the column is hidden until the user shows it. */
  readonly hidden?: boolean
  /** For `count`: the unit of the number. */
  readonly unit?: 'bytes' | 'ms' | 'percent'
  /** For `status`: a tone for each value. */
  readonly tones?: Readonly<Record<string, Tone>>
  /** For `status`, `flag`, `chips` and filters: a text for each value. */
  readonly labels?: Readonly<Record<string, LocalizedText>>
  /** For `chips`: the shown member of each item; absent for a list of texts. */
  readonly member?: string
  /**
   * For `reference`: the kind of the id, and the page that shows it. The page is a detail page, or
   * `system-config.centre` for a configuration key.
   */
  readonly of?: { readonly labels: string; readonly page?: string }
  /** For `difference`: the member with the value before the change. `field` has the value after the change. */
  readonly before?: string
  /**
   * For `amount`, in minor units: the member with the asset (see `amountUnits`) or the currency (ISO 4217,
   * case-insensitive). An amount has exactly one of `currency`, `asset`, and `decimals` with `symbol`. A product with
   * an amount without a unit does not start.
   */
  readonly currency?: string
  /** For `amount`: the code of its asset or currency, if it is the same in all rows. */
  readonly asset?: string
  /**
   * For `amount`: the member with the decimal places of the unit, 0 to 77. If the member has no value, the amount is
   * shown in minor units.
   */
  readonly decimals?: string
  /** For `amount` with `decimals`: the member with the symbol next to the number, such as `USDT`. */
  readonly symbol?: string
  /** For `rows`, a list within an object: the columns of each item. */
  readonly columns?: readonly PageColumn[]
}

/** Source of a value: a member of the row, a list of such members, or a constant. */
export type PageValue =
  | { readonly field: string }
  | { readonly list: readonly string[] }
  | { readonly value: string | number | boolean | null }

/** Lets the user choose an object by name. */
export interface PageChoice {
  /** Kind of objects. See `labelSources`. */
  readonly labels: string
  /** Replaces the title of the member, which refers to ids. */
  readonly title?: LocalizedText
}

/** A read-only operation whose result is shown before a write. */
export interface PagePreview {
  readonly operation: string
  readonly params?: Readonly<Record<string, PageValue>>
  readonly body?: Readonly<Record<string, PageValue>>
  /** Members of the input that the operation also accepts. */
  readonly takes?: readonly string[]
  /** Columns of the operation's result. */
  readonly columns: readonly PageColumn[]
}

/**
 * A read-only operation whose result is shown next to a form while the user types. It receives the content of the form,
 * not the saved values. It is called after a short pause in typing, one call at a time. An error for a member is shown
 * at its field.
 */
export interface PageLivePreview extends PagePreview {
  /** Members of the form that the operation accepts. All must be optional, because some may still be empty. */
  readonly takes: readonly string[]
  /** Sample values that the user types next to the form. They are not stored. */
  readonly samples?: {
    /** Member of the operation's body that receives the sample values by name. */
    readonly into: string
    /** Member of the operation's result that lists the variables for sample values: a list of `sampleUse`. */
    readonly of: string
  }
}

/** A variable of the input, as the result of a live preview lists it. @plinth/http contains its schema, `sampleUse`. */
export interface SampleUse {
  /** Dotted name. `user.name` is the member `name` of `user`. */
  readonly name: string
  /** Members of the request that use the variable. */
  readonly usedIn: readonly string[]
  /** False if the variable may be absent. */
  readonly needed: boolean
  /** True if the request has a value for the variable. */
  readonly given: boolean
}

/** Properties that actions and forms have in common. */
interface PageWrite {
  readonly operation: string
  readonly body?: Readonly<Record<string, PageValue>>
  /**
   * Result that is shown before the write. A string is the name of a body member: this operation is called with the
   * member set to true. An object specifies another operation.
   */
  readonly preview?: string | PagePreview
  /** Columns of the result, or of its items if the result is a list. Without columns, nothing is shown. */
  readonly answer?: readonly PageColumn[]
  readonly reason?: 'optional' | 'required'
  readonly tone?: 'danger'
}

/** An action on a row or on the object of a page. An action on a GET operation is a download link. */
export interface PageAction extends PageWrite {
  readonly label: LocalizedText
  readonly params: Readonly<Record<string, PageValue>>
  readonly query?: Readonly<Record<string, PageValue>>
  /** Body members that the user enters. */
  readonly ask?: readonly string[]
  /** Kinds of objects that the user chooses from, by member. */
  readonly options?: Readonly<Record<string, PageChoice>>
  /** Member of the response that is shown once and not stored. */
  readonly once?: string
  /** The action is available if each of these members of the row has one of its listed values. */
  readonly when?: Readonly<Record<string, readonly (string | number | boolean | null)[]>>
  readonly confirm?: LocalizedText
  /** Member of the row whose value the user must type to confirm. */
  readonly type?: string
}

/** A form that writes. */
export interface PageForm extends PageWrite {
  readonly title: LocalizedText
  /** One sentence about the effect of the form. */
  readonly lead?: LocalizedText
  /** Text of the button. Default: "Save". */
  readonly submit?: LocalizedText
  /** Body members in order. Nested members have dotted names. */
  readonly fields: readonly string[]
  /** True sends all fields, as a PUT requires. By default the form only sends changed fields. */
  readonly whole?: boolean
  /** Path parameters of a form that changes the object of a page. */
  readonly params?: Readonly<Record<string, PageValue>>
  /** Members whose values are never shown. */
  readonly secret?: readonly string[]
  /** Members with multi-line text. */
  readonly long?: readonly string[]
  /** Kinds of objects that the user chooses from, by member. */
  readonly options?: Readonly<Record<string, PageChoice>>
  /** Amounts by member. The user types them in the unit, and the form sends them in minor units. */
  readonly amounts?: Readonly<Record<string, PageAmount>>
  /** Preview that is shown next to the fields while the user types. */
  readonly livePreview?: PageLivePreview
  /** Body member for the version that was read. */
  readonly version?: string
  /** Member of the response that is shown once and not stored. */
  readonly once?: string
}

/** Unit of an amount: an asset or currency, or the member that contains it. The form has priority over the row. */
export type PageAmount = { readonly unit: string } | { readonly field: string }

/** An action on several rows. */
export interface PageBulk extends PageWrite {
  readonly label: LocalizedText
  /** Body member for the ids. */
  readonly ids: string
  /** Body members that the user enters. */
  readonly ask?: readonly string[]
  readonly confirm?: LocalizedText
}

interface AnyPage {
  /** Unique in the product: the id of the plugin and a word, for example `iam.users`. */
  readonly id: string
  readonly title: LocalizedText
  readonly place?: PagePlace
  /** Id of the operation that the page reads. */
  readonly source: string
}

/**
 * How a page stays current. With table names, the page reloads when a process of the product has written to one of the
 * tables, and every few seconds while the server cannot report writes. With `true`, for data that is not in a table, it
 * reloads every few seconds.
 */
export type PageLife = boolean | readonly string[]

/** A list with filters, sort order and paging. */
export interface ListPageDeclaration extends AnyPage {
  readonly kind: 'list'
  /** One sentence about the purpose of the list. */
  readonly lead?: LocalizedText
  /** Member that identifies a row. */
  readonly key: string
  readonly columns: readonly PageColumn[]
  /** Parameter for the search text. */
  readonly search?: string
  /**
   * Parameters with which the command palette finds rows, for example by an order number. Each is `search` or a filter.
   * For a filter with `options`, the user types an option name. Default: only `search`. If the list is empty, the
   * palette does not search it.
   */
  readonly find?: readonly string[]
  readonly filters?: readonly {
    readonly name: string
    readonly labels?: Readonly<Record<string, LocalizedText>>
    readonly options?: PageChoice
  }[]
  /** Initial sort order: a property, with a minus sign for descending order. */
  readonly sort?: string
  readonly actions?: readonly PageAction[]
  readonly bulk?: readonly PageBulk[]
  readonly create?: PageForm
  /** Additional forms that need no row. */
  readonly forms?: readonly PageForm[]
  /** Id of the page of one row. */
  readonly detail?: string
  /** Text of an empty list. */
  readonly empty?: LocalizedText
  readonly live?: PageLife
}

/** A detail page of one object. The id in the page URL is the path parameter of the operation. */
export interface DetailPageDeclaration extends AnyPage {
  readonly kind: 'detail'
  /** Member with the name of the object; absent for a singleton page, which uses its own title. */
  readonly name?: string
  /** Path parameter for the id; absent for a singleton page. */
  readonly param?: string
  readonly sections: readonly { readonly title?: LocalizedText; readonly columns: readonly PageColumn[] }[]
  /** Lists below the object. Members of the object are the filters or path parameters of these lists. */
  readonly related?: readonly {
    readonly page: string
    readonly title: LocalizedText
    readonly filter: Readonly<Record<string, PageValue>>
    /** True if the list belongs to a plugin that may be missing. The page is then shown without the list. */
    readonly optional?: boolean
  }[]
  readonly form?: PageForm
  readonly actions?: readonly PageAction[]
  readonly live?: PageLife
}

export type PageDeclaration = ListPageDeclaration | DetailPageDeclaration

/** Pages of the back office, each contributed under its id. */
export const adminPages = extensionPoint<PageDeclaration>('console.page', {
  from: '@plinth/console',
  live: true,
  names: shape.dotted,
  namedBy: 'id',
  shape: pageShape(),
})
