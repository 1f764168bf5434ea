import { extensionPoint, type Shape, shape } from '@plinth/kernel'
import { type FramePageDeclaration, framePage } from './frame-pages.ts'
import { columns, values } from './page-columns.ts'
import { page } from './page-place.ts'
import {
  among,
  type DataOf,
  flag,
  labels,
  list,
  localized,
  names,
  optional,
  record,
  shaped,
  shapeOf,
  text,
} from './page-vocabulary.ts'
import { action, bulkAction, formSchema, labelPicker } from './page-writes.ts'

/*
 * Pages of the back office as data. A plugin contributes its pages. If no plugin that serves pages is loaded, they have
 * no effect. Lists and detail pages contain no functions or markup: the browser receives JSON and runs no code of the
 * plugin. `page-builders.ts` creates pages and checks them against the types of the operations. `frame-pages.ts`
 * describes pages with code of the plugin.
 */

/**
 * How the page stays current:
 *
 * - list of tables: the page reloads after a process of the product has written to one of these tables, or every few
 *   seconds if the server cannot report writes
 * - `true`: the page reloads every few seconds, for data outside the database
 */
export type PageRefresh = boolean | readonly string[]
const refresh = shaped<PageRefresh>({
  type: ['boolean', 'array'],
  description: 'true, false or a list of tables',
  items: shape.text,
})

const link = record({
  page: text,
  label: localized,
  /** True if a row is created on the page. The button is then as prominent as `create`. */
  creates: optional(flag),
  /** True if the page belongs to a plugin that may be missing. */
  optional: optional(flag),
})
/** A button that opens another page. */
export type PageLink = DataOf<typeof link>

const board = record({
  /**
   * Member with few values, such as a state. The board has a column for each value. The list needs a filter parameter with
   * this name.
   */
  column: text,
  /** Columns of the list that a card shows, after the name of the row. Default: none. */
  cards: optional(names),
})
/** Shows the rows of a list as cards that users move from value to value. */
export type PageBoard = DataOf<typeof board>

const rowImport = record({
  /**
   * Operation that creates several rows, such as `POST <path>/import` of a resource. Its body has the members `rows` and
   * `mode`, its response the problems of the rows. The rows have the fields of `create`.
   */
  operation: text,
})
/** Reads a CSV file and creates its rows. */
export type PageImport = DataOf<typeof rowImport>

const listPage = record({
  ...page,
  kind: among(['list']),
  /** One sentence that explains the list. */
  lead: optional(localized),
  /** Member that identifies a row. */
  key: text,
  columns,
  /** Query parameter for the search text. */
  search: optional(text),
  /**
   * Query parameters with which the command palette finds rows, for example an order number: `search` or filters. For a
   * filter with `options`, the user types the name of an option. Default: only `search`. Empty: the palette does not
   * search this list.
   */
  find: optional(names),
  filters: optional(list(record({ name: text, labels: optional(labels), options: optional(labelPicker) }))),
  /** Initial sort property, with a minus sign for descending order. */
  sort: optional(text),
  actions: optional(list(action)),
  bulk: optional(list(bulkAction)),
  create: optional(formSchema),
  /** Reads rows from a CSV file. The file has the titles of the columns or of the fields of `create`, in any language. */
  import: optional(rowImport),
  /**
   * Form that changes a row. The user can change each of its fields in the cell of the column with the same name. Only the
   * changed field is sent, with the version.
   */
  edit: optional(formSchema),
  /** The user can switch between the list and the board. An action with `leadsTo` moves a card. */
  board: optional(board),
  /** Buttons that open another page, for example a page that creates a row. Users see only links to their pages. */
  links: optional(list(link)),
  /** Additional forms that do not belong to a row. */
  forms: optional(list(formSchema)),
  /** Id of the page that shows one row. */
  detail: optional(text),
  /** Text that is shown if the list is empty. */
  empty: optional(localized),
  live: optional(refresh),
})
/** A list page with filters, sort order and paging. */
export type ListPageDeclaration = DataOf<typeof listPage>

const moment = record({
  /** Member with the time. */
  at: text,
  /** Member with a list. Each of its items is an entry, and `at` and `columns` are members of the item. */
  each: optional(text),
  /** Text of the entry. Default: the columns say what happened. */
  title: optional(localized),
  columns: optional(columns),
})
/** Something that happened to an object, according to the object itself. */
export type PageMoment = DataOf<typeof moment>

const detailPage = record({
  ...page,
  kind: among(['detail']),
  /**
   * Member with the name of the object. Without it, the page shows its own title, because there is only one such
   * object.
   */
  name: optional(text),
  /** Path parameter for the id. Omitted if there is only one such object. */
  param: optional(text),
  sections: list(record({ title: optional(localized), columns })),
  /** Entries in the timeline that the object itself contains. Without a time, a moment has no entry. */
  moments: optional(list(moment)),
  /**
   * Lists and details of other pages that are shown below the object. `filter` sets their filters or path parameters from
   * members of the object. A detail is shown without its heading and forms. `optional`: the plugin of the other page may
   * be missing. Then the page is shown without it.
   */
  related: optional(list(record({ page: text, title: localized, filter: values, optional: optional(flag) }))),
  form: optional(formSchema),
  actions: optional(list(action)),
  live: optional(refresh),
})
/** Page of one object. The id in its URL becomes the path parameter of the operation. */
export type DetailPageDeclaration = DataOf<typeof detailPage>

export type PageDeclaration = ListPageDeclaration | DetailPageDeclaration | FramePageDeclaration

/** Schema of `PageDeclaration`. */
export const pageSchema: Shape = shape.variants('kind', [listPage, detailPage, framePage].map(shapeOf))

/** Pages of the back office, each contributed under its id. */
export const adminPages = extensionPoint<PageDeclaration>('console.page', {
  from: '@plinth/console/admin',
  live: true,
  names: shape.dotted,
  namedBy: 'id',
  shape: pageSchema,
})
