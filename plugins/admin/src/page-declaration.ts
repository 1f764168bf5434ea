import { extensionPoint, type LocalizedText, shape } from '@plinth/kernel'
import { pageShape } from './page-shapes.ts'
import type { PageGroup, Tone } from './page-words.ts'

/*
 * Pages of the back office as data. A plugin contributes them next to the routes that they show; without the plugin that
 * serves them they cost nothing. Nothing here is a function, a template or markup: what reaches the browser is JSON, and no
 * code of a plugin runs there. Written with the builders of `page-builders.ts`, which bind it to operations by type.
 */

/** Where the navigation shows a page. A page without a place is reached from others alone. */
export interface PagePlace {
  readonly group: PageGroup
  /** Lower numbers come first. */
  readonly order: number
}

/** One member of an answer as it is shown. `field`: a member, or a dotted way to one. */
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
  /** In place of the title that the route gives the member. */
  readonly title?: LocalizedText
  /** The text of the column leads to the page of the row. */
  readonly link?: boolean
  /**
   * Of `text`: it leads to a page elsewhere, in a window of its own. `base` is the member that holds an https address, `path` the
   * words behind it, and the value comes last. Without an address it is text.
   */
  readonly opens?: { readonly base: string; readonly path: string }
  /** In a font whose characters are equally wide: codes, keys. */
  readonly mono?: boolean
  /** Not shown before somebody asks for it. */
  readonly hidden?: boolean
  /** Of `count`. */
  readonly unit?: 'bytes' | 'ms' | 'percent'
  /** Of `status`: a tone for each value. */
  readonly tones?: Readonly<Record<string, Tone>>
  /** Of `status`, `flag`, `chips` and filters: a text for each value. */
  readonly labels?: Readonly<Record<string, LocalizedText>>
  /** Of `chips`: the member of each item that is shown; absent for a list of texts. */
  readonly member?: string
  /**
   * Of `reference`: the kind of thing that the id names, and the page that shows it: one of one thing, or `system-config.centre` for
   * the name of a configuration key.
   */
  readonly of?: { readonly labels: string; readonly page?: string }
  /** Of `difference`: the member that holds what was before; `field` holds what is after. */
  readonly before?: string
  /**
   * Of `amount`, which is in minor units: the member that names the asset (see `amountUnits`) or the currency (ISO 4217, upper
   * or lower case). An amount has exactly one of `currency`, `asset`, and `decimals` with `symbol`; a product with an amount
   * that has none of them does not start.
   */
  readonly currency?: string
  /** Of `amount`: the code of its asset or currency, where it is the same in all rows. */
  readonly asset?: string
  /** Of `amount`: the member with the decimal places of its unit, 0 to 77. Where the row has none, the amount is shown in minor units. */
  readonly decimals?: string
  /** Of `amount` with `decimals`: the member with what is written beside the number, such as `USDT`. */
  readonly symbol?: string
  /** Of `rows`, a list within a thing: what is shown of each item. */
  readonly columns?: readonly PageColumn[]
}

/** Where a value comes from: a member of the row, a list of such members, or the declaration itself. */
export type PageValue =
  | { readonly field: string }
  | { readonly list: readonly string[] }
  | { readonly value: string | number | boolean | null }

/** Things to choose among by their names. */
export interface PageChoice {
  /** Kind of things: see `labelSources`. */
  readonly labels: string
  /** In place of the title of the member, which speaks of ids. */
  readonly title?: LocalizedText
}

/** Another operation, which changes nothing, whose answer is shown before something is done. */
export interface PagePreview {
  readonly operation: string
  readonly params?: Readonly<Record<string, PageValue>>
  readonly body?: Readonly<Record<string, PageValue>>
  /** Members of what is asked for that it takes too. */
  readonly takes?: readonly string[]
  /** What is shown of its answer. */
  readonly columns: readonly PageColumn[]
}

/**
 * Another operation, which changes nothing, whose answer stands beside a form while somebody types: of what is in the form,
 * not of what is saved. It is asked when nothing was typed for a moment, one question at a time. A refusal that names a member
 * stands at its field.
 */
export interface PageLivePreview extends PagePreview {
  /** Members of the form that it takes. Some may not be filled in yet, so it needs none of them. */
  readonly takes: readonly string[]
  /** Values to try out, which are typed beside it and kept nowhere. */
  readonly samples?: {
    /** Member of its body that takes them, by their names. */
    readonly into: string
    /** Member of its answer that tells which there are: a list of `sampleUse`. */
    readonly of: string
  }
}

/** A variable of what is filled in, as the answer of a live preview lists it. @plinth/http has its schema, `sampleUse`. */
export interface SampleUse {
  /** Dotted: `user.name` is a member of `user`. */
  readonly name: string
  /** Members of the request that use it. */
  readonly usedIn: readonly string[]
  /** False if it may be absent. */
  readonly needed: boolean
  /** True if the request has a value for it. */
  readonly given: boolean
}

/** How something is written: by an action, or by a form. */
interface PageWrite {
  readonly operation: string
  readonly body?: Readonly<Record<string, PageValue>>
  /**
   * What is shown before it is done: the answer of another operation, or of this one with a member of the body that is sent
   * as true first.
   */
  readonly preview?: string | PagePreview
  /** What is shown of the answer: of each item, when it is a list. Nothing is shown without. */
  readonly answer?: readonly PageColumn[]
  readonly reason?: 'optional' | 'required'
  readonly tone?: 'danger'
}

/**
 * Something that can be done with a row or with what a page shows. Of an operation that reads: what it answers is fetched as
 * a file.
 */
export interface PageAction extends PageWrite {
  readonly label: LocalizedText
  readonly params: Readonly<Record<string, PageValue>>
  readonly query?: Readonly<Record<string, PageValue>>
  /** Members of the body that are asked for. */
  readonly ask?: readonly string[]
  /** Kinds of things that members choose among, by member. */
  readonly options?: Readonly<Record<string, PageChoice>>
  /** Member of the answer that is shown once, and kept nowhere. */
  readonly once?: string
  /** Members of the row that must have one of these values. */
  readonly when?: Readonly<Record<string, readonly (string | number | boolean | null)[]>>
  readonly confirm?: LocalizedText
  /** Member of the row whose value must be typed before it is done. */
  readonly type?: string
}

/** A form that writes. */
export interface PageForm extends PageWrite {
  readonly title: LocalizedText
  /** One sentence on what it does. */
  readonly lead?: LocalizedText
  /** On the button, in place of "Save". */
  readonly submit?: LocalizedText
  /** Members of the body, in their order; members of a member by a dotted name. */
  readonly fields: readonly string[]
  /** True when the operation replaces: what was not changed is sent too. Else only what was changed is. */
  readonly whole?: boolean
  /** Parameters of the path, of a form that changes what a page shows. */
  readonly params?: Readonly<Record<string, PageValue>>
  /** Members whose values are never shown. */
  readonly secret?: readonly string[]
  /** Members with a text of several lines. */
  readonly long?: readonly string[]
  /** Kinds of things that members choose among, by member. */
  readonly options?: Readonly<Record<string, PageChoice>>
  /** Members that are sent in minor units and typed in the unit itself, by member. */
  readonly amounts?: Readonly<Record<string, PageAmount>>
  /** What stands beside the fields while somebody types. */
  readonly livePreview?: PageLivePreview
  /** Member of the body that takes the version that was read. */
  readonly version?: string
  /** Member of the answer that is shown once, and kept nowhere. */
  readonly once?: string
}

/** What an amount is of: an asset or currency, or the member of the form, else of the row, that names it. */
export type PageAmount = { readonly unit: string } | { readonly field: string }

/** Something that can be done with several rows at once. */
export interface PageBulk extends PageWrite {
  readonly label: LocalizedText
  /** Member of the body that takes the ids. */
  readonly ids: string
  /** Members of the body that are asked for. */
  readonly ask?: readonly string[]
  readonly confirm?: LocalizedText
}

interface AnyPage {
  /** Unique in the product, as the plugin that owns it and a word: `iam.users`. */
  readonly id: string
  readonly title: LocalizedText
  readonly place?: PagePlace
  /** The operation that it reads. */
  readonly source: string
}

/**
 * How what is looked at stays true. Tables, by their names in the database: it is asked again as soon as a process of the
 * product has written to one of them, and every few seconds while the server cannot say so. `true`, for what is in no table:
 * every few seconds.
 */
export type PageLife = boolean | readonly string[]

/** A list with filters, order and pages. */
export interface ListPageDeclaration extends AnyPage {
  readonly kind: 'list'
  /** One sentence on what it is for. */
  readonly lead?: LocalizedText
  /** Member that identifies a row. */
  readonly key: string
  readonly columns: readonly PageColumn[]
  /** Parameter that takes words to search for. */
  readonly search?: string
  /**
   * Parameters, each `search` or a filter, by which the palette finds rows: an order number that somebody types. Of a filter
   * with `options` the name is typed. Absent: `search` alone; empty: the palette does not look here.
   */
  readonly find?: readonly string[]
  readonly filters?: readonly {
    readonly name: string
    readonly labels?: Readonly<Record<string, LocalizedText>>
    readonly options?: PageChoice
  }[]
  /** Order at first: a property, with a minus for descending. */
  readonly sort?: string
  readonly actions?: readonly PageAction[]
  readonly bulk?: readonly PageBulk[]
  readonly create?: PageForm
  /** What else can be done that needs no row. */
  readonly forms?: readonly PageForm[]
  /** Page of one row. */
  readonly detail?: string
  /** Why nothing is there, when nothing is. */
  readonly empty?: LocalizedText
  readonly live?: PageLife
}

/** What is known of one thing. The id of its page in the address is the parameter of the operation. */
export interface DetailPageDeclaration extends AnyPage {
  readonly kind: 'detail'
  /** Member that names it; absent for what there is one of, which is called as its page. */
  readonly name?: string
  /** Parameter of the path that takes the id; absent for what there is one of. */
  readonly param?: string
  readonly sections: readonly { readonly title?: LocalizedText; readonly columns: readonly PageColumn[] }[]
  /** Lists that are shown below it: members of it are their filters, or parameters of their paths. */
  readonly related?: readonly {
    readonly page: string
    readonly title: LocalizedText
    readonly filter: Readonly<Record<string, PageValue>>
    /** The list belongs to a plugin that a product may leave out. The page then appears without it. */
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
