import { extensionPoint, type LocalizedText, shape } from '@plinth/kernel'
import type { PageChoices, PageLabelPicker } from './field-choices.ts'
import type { FramePageDeclaration } from './frame-pages.ts'
import type { GroupIcon, PageGroup, Tone } from './page-shapes.ts'
import { pageShape } from './page-shapes.ts'

/*
 * Pages of the back office as data. A plugin contributes its pages. If no plugin that serves pages is loaded, they have
 * no effect. Lists and detail pages contain no functions or markup: the browser receives JSON and runs no code of the
 * plugin. `page-builders.ts` creates pages and checks them against the types of the operations. `frame-pages.ts`
 * describes pages with code of the plugin.
 */

/**
 * A navigation group that a plugin declares for its pages. Plugins that share a group declare it with the same title,
 * icon and order.
 */
export interface OwnPageGroup {
  /** Lower-case words joined by dots or hyphens. It must differ from the ids of the groups of the product. */
  readonly id: string
  readonly title: LocalizedText
  readonly icon: GroupIcon
  /** Position in the navigation. The groups of the product have the positions 100, 200 and so on, in their order. */
  readonly order: number
}

/** Place of a page in the navigation. Without a place, only other pages link to it. */
export interface PageNavigationPlace {
  /** A group of the product, or a group of the plugin. */
  readonly group: PageGroup | OwnPageGroup
  /** Position in the group; pages with lower numbers come first. */
  readonly order: number
}

/** How a member of a response is shown. `field` is the name of the member, or a dotted path. */
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
    | 'described'
    | 'file'
  /** Replaces the title that the route declares for the member. */
  readonly title?: LocalizedText
  /** If true, the text links to the page of the row. */
  readonly link?: boolean
  /**
   * For `text`: links to an external page, which opens in a new window. `base` is a member with an https URL, to which
   * `path` and the value are appended. If this member is empty, there is no link.
   */
  readonly opens?: { readonly base: string; readonly path: string }
  /** For codes that users copy: uses a monospace font and shows a button that copies the text. */
  readonly mono?: boolean
  /** If true, the column is hidden until the user shows it. */
  readonly hidden?: boolean
  /** For `count`: the unit of the number. `ms` and `s` are shown as a duration in words. */
  readonly unit?: 'bytes' | 'ms' | 's' | 'percent'
  /**
   * For `count` and `amount`: if true, the sum of the displayed rows is shown below the list, for each currency or
   * asset. The browser adds it up, so it costs no query.
   */
  readonly total?: boolean
  /** For `status`: the colour of each value. */
  readonly tones?: Readonly<Record<string, Tone>>
  /**
   * For `text`, `status`, `flag`, `chips` and filters: the text for each value. For `reference`: the names of values that
   * are no objects.
   */
  readonly labels?: Readonly<Record<string, LocalizedText>>
  /** For `chips`: the member that is shown if the items are objects. */
  readonly member?: string
  /**
   * For `reference`: the kind of objects, and the page that shows one of them. This is a detail page, or
   * `system-config.centre` for a configuration key. `optional`: the kind belongs to a plugin that may be missing.
   */
  readonly of?: { readonly labels: string; readonly page?: string; readonly optional?: boolean }
  /** For `difference`: the member with the old value. `field` contains the new value. */
  readonly before?: string
  /** For `difference`: the member with the format of both values. `duration` is shown in words. */
  readonly format?: string
  /** For `difference`: the member with the value that applies where one of both values is missing. */
  readonly fallback?: string
  /**
   * For `amount` in minor units: the member with the asset (see `amountUnits`) or the currency (ISO 4217, in any case).
   * An amount must have either `currency`, or `asset`, or `decimals` with `symbol`. Otherwise the product does not
   * start.
   */
  readonly currency?: string
  /** For `amount`: the asset or currency, if it is the same in all rows. */
  readonly asset?: string
  /**
   * For `amount`: the member with the number of decimal places, 0 to 77. If the member is empty, the amount is shown in
   * minor units.
   */
  readonly decimals?: string
  /** For `amount` with `decimals`: the member with the symbol, such as `USDT`. */
  readonly symbol?: string
  /** For `rows`: the columns of each item. */
  readonly columns?: readonly PageColumn[]
}

/** Value that is sent: from a member of the row, from several members, or a constant. */
export type PageValue =
  | { readonly field: string }
  | { readonly list: readonly string[] }
  | { readonly value: string | number | boolean | null }

/** Reads something before a write, and shows the result to the user. */
export interface PagePreview {
  readonly operation: string
  readonly params?: Readonly<Record<string, PageValue>>
  readonly body?: Readonly<Record<string, PageValue>>
  /** Members of the input that are also sent to this operation. */
  readonly takes?: readonly string[]
  /** Member of the result that is false if the write is not possible. The user then cannot submit it. */
  readonly possible?: string
  readonly columns: readonly PageColumn[]
}

/**
 * Reads something for the current content of a form, and shows the result next to the form. The operation is called
 * after a short pause in typing, never several times at once. Errors are shown at the fields.
 */
export interface PageLivePreview extends Omit<PagePreview, 'possible'> {
  /** Members of the form that the operation accepts. They must be optional, because fields may still be empty. */
  readonly takes: readonly string[]
  /** Sample values that the user types next to the form. They are not stored. */
  readonly samples?: {
    /** Body member that receives the sample values by name. */
    readonly into: string
    /** Member of the result with the variables: a list of `previewVariable`. */
    readonly of: string
  }
}

/** A variable in the result of a live preview. The schema is `previewVariable` of `@plinth/http`. */
export interface PreviewVariable {
  /** Dotted name. `user.name` is the member `name` of `user`. */
  readonly name: string
  /** Members of the request that use the variable. */
  readonly usedIn: readonly string[]
  /** False if the variable is optional. */
  readonly needed: boolean
  /** True if the request contains a value for the variable. */
  readonly given: boolean
}

/** Which values of a response mean that the write succeeded. The HTTP response is successful in both cases. */
export interface PageOutcome {
  /**
   * Member of the response, or of its items if it is a list. Items of inner lists are counted too: `modules.outcome`.
   */
  readonly field: string
  /** All other values are failures. */
  readonly good: readonly (string | boolean | null)[]
}

/** The row that a write created. The message after the write links to its page. */
export interface PageResultLink {
  /** Id of a detail page. */
  readonly page: string
  /** Member of the response with the id of the row. If it is null, there is no link. */
  readonly field: string
}

interface PageWrite {
  readonly operation: string
  readonly body?: Readonly<Record<string, PageValue>>
  /**
   * Preview that is shown before the write. A text names the body member that turns the same operation into a preview
   * if it is true. An object describes another operation.
   */
  readonly preview?: string | PagePreview
  /** Columns of the result, or of its items if it is a list. Without columns, no result is shown after the write. */
  readonly answer?: readonly PageColumn[]
  /**
   * Determines whether the message after the write reports a success or a failure. Required if the response contains an
   * outcome, such as `outcome`, `passed`, or a state with the value `failed`.
   */
  readonly outcome?: PageOutcome
  /** Default for a form that creates a row of a list: the detail page of the list, if the response contains the key. */
  readonly created?: PageResultLink
  readonly reason?: 'optional' | 'required'
  readonly tone?: 'danger'
  /** Members with amounts. The user types them in the main unit, and minor units are sent. */
  readonly amounts?: Readonly<Record<string, PageAmount>>
}

/** Action on a row or on the object of a page. If its operation is a GET, the action is a download link. */
export interface PageAction extends PageWrite {
  readonly label: LocalizedText
  readonly params: Readonly<Record<string, PageValue>>
  readonly query?: Readonly<Record<string, PageValue>>
  /** Body members that the user enters. */
  readonly ask?: readonly string[]
  /** Members that contain ids, with the kind of objects from which the user chooses. */
  readonly options?: Readonly<Record<string, PageLabelPicker>>
  /** Members whose value the user chooses from the items that an operation returns. */
  readonly choices?: Readonly<Record<string, PageChoices>>
  /** Member of the response that is shown only once, for example a new secret. */
  readonly once?: string
  /** The action is available only if each of these members of the row has one of the listed values. */
  readonly when?: Readonly<Record<string, readonly (string | number | boolean | null)[]>>
  /** One sentence with the effect of the action. The dialog shows it; with `undo`, the message after the action. */
  readonly confirm?: LocalizedText
  /** Member of the row whose value the user must type to confirm. */
  readonly type?: string
  /**
   * Operation of the action of the same page that reverses this one. Then the action runs without a dialog, so it asks
   * for nothing, and its message has a button that reverses it.
   */
  readonly undo?: string
}

/** A group of fields with a heading. */
export interface PageFormSection {
  readonly title: LocalizedText
  /** Fields of the form, in this order. */
  readonly fields: readonly string[]
}

/** A form that writes. */
export interface PageForm extends PageWrite {
  readonly title: LocalizedText
  /** One sentence that explains what the form does. */
  readonly lead?: LocalizedText
  /** Text of the submit button. Default: "Save". */
  readonly submit?: LocalizedText
  /** Body members in order. Nested members have dotted names. */
  readonly fields: readonly string[]
  /** Groups of fields. Fields that no group contains come first. */
  readonly sections?: readonly PageFormSection[]
  /**
   * Fields that are only shown while other members have one of the listed values: by field, then by member. A member is
   * another field, or a member of the object of the page. A field that is not shown is not sent.
   */
  readonly showWhen?: Readonly<Record<string, Readonly<Record<string, readonly (string | number | boolean | null)[]>>>>
  /**
   * Fields of a new object that have the value of another field until the user changes them: by field, the name of the
   * other field. Both have the same type.
   */
  readonly defaults?: Readonly<Record<string, string>>
  /** If true, the form sends all fields, as a PUT requires. By default, it sends only changed fields. */
  readonly whole?: boolean
  /** Path parameters, if the form changes the object of a page. */
  readonly params?: Readonly<Record<string, PageValue>>
  /** Members whose values are never shown. */
  readonly secret?: readonly string[]
  /** Members whose text can have several lines. */
  readonly long?: readonly string[]
  /** Members that contain ids, with the kind of objects from which the user chooses. */
  readonly options?: Readonly<Record<string, PageLabelPicker>>
  /** Members whose value the user chooses from the items that an operation returns. */
  readonly choices?: Readonly<Record<string, PageChoices>>
  /** Preview next to the fields, which changes while the user types. */
  readonly livePreview?: PageLivePreview
  /** Body member for the version that the page has loaded. */
  readonly version?: string
  /** Member of the response that is shown only once, for example a new secret. */
  readonly once?: string
}

/**
 * Asset or currency of an amount, or the member that contains it. A member that the user enters has priority over a member of
 * the row.
 */
export type PageAmount = { readonly unit: string } | { readonly field: string }

/** An action on several rows. */
export interface PageBulkAction extends PageWrite {
  readonly label: LocalizedText
  /** Body member for the ids of the rows. */
  readonly ids: string
  /** Body members that the user enters. */
  readonly ask?: readonly string[]
  readonly confirm?: LocalizedText
}

interface AnyPage {
  /** Unique in the product: plugin id and a word, for example `iam.users`. */
  readonly id: string
  readonly title: LocalizedText
  readonly place?: PageNavigationPlace
  /** Id of the operation that the page reads. */
  readonly source: string
}

/**
 * How the page stays current:
 *
 * - list of tables: the page reloads after a process of the product has written to one of these tables, or every few
 *   seconds if the server cannot report writes
 * - `true`: the page reloads every few seconds, for data outside the database
 */
export type PageRefresh = boolean | readonly string[]

/** A button that opens another page. */
export interface PageLink {
  readonly page: string
  readonly label: LocalizedText
}

/** A list page with filters, sort order and paging. */
export interface ListPageDeclaration extends AnyPage {
  readonly kind: 'list'
  /** One sentence that explains the list. */
  readonly lead?: LocalizedText
  /** Member that identifies a row. */
  readonly key: string
  readonly columns: readonly PageColumn[]
  /** Query parameter for the search text. */
  readonly search?: string
  /**
   * Query parameters with which the command palette finds rows, for example an order number: `search` or filters. For a
   * filter with `options`, the user types the name of an option. Default: only `search`. Empty: the palette does not
   * search this list.
   */
  readonly find?: readonly string[]
  readonly filters?: readonly {
    readonly name: string
    readonly labels?: Readonly<Record<string, LocalizedText>>
    readonly options?: PageLabelPicker
  }[]
  /** Initial sort property, with a minus sign for descending order. */
  readonly sort?: string
  readonly actions?: readonly PageAction[]
  readonly bulk?: readonly PageBulkAction[]
  readonly create?: PageForm
  /** Buttons that open another page, for example a page that creates a row. Users see only links to their pages. */
  readonly links?: readonly PageLink[]
  /** Additional forms that do not belong to a row. */
  readonly forms?: readonly PageForm[]
  /** Id of the page that shows one row. */
  readonly detail?: string
  /** Text that is shown if the list is empty. */
  readonly empty?: LocalizedText
  readonly live?: PageRefresh
}

/** Page of one object. The id in its URL becomes the path parameter of the operation. */
export interface DetailPageDeclaration extends AnyPage {
  readonly kind: 'detail'
  /**
   * Member with the name of the object. Without it, the page shows its own title, because there is only one such
   * object.
   */
  readonly name?: string
  /** Path parameter for the id. Omitted if there is only one such object. */
  readonly param?: string
  readonly sections: readonly { readonly title?: LocalizedText; readonly columns: readonly PageColumn[] }[]
  /**
   * Lists that are shown below the object. `filter` sets their filters or path parameters from members of the object.
   */
  readonly related?: readonly {
    readonly page: string
    readonly title: LocalizedText
    readonly filter: Readonly<Record<string, PageValue>>
    /** True if the plugin of this list may be missing. Then the page is shown without the list. */
    readonly optional?: boolean
  }[]
  readonly form?: PageForm
  readonly actions?: readonly PageAction[]
  readonly live?: PageRefresh
}

export type PageDeclaration = ListPageDeclaration | DetailPageDeclaration | FramePageDeclaration

/** Pages of the back office, each contributed under its id. */
export const adminPages = extensionPoint<PageDeclaration>('console.page', {
  from: '@plinth/console/admin',
  live: true,
  names: shape.dotted,
  namedBy: 'id',
  shape: pageShape(),
})
