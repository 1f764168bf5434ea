import { extensionPoint, shape } from '@plinth/kernel'
import { columns, values } from './page-columns.ts'
import { type DataOf, localized, named, optional, record, shapeOf, text } from './page-vocabulary.ts'

export const timelineSchema = record({
  /** Unique in the product: plugin id and a word, for example `iam.actions-on-user`. */
  id: text,
  /** Id of the detail page with the object. If the page is not loaded, the timeline has no effect. */
  page: optional(text),
  /**
   * Instead of `page`: the entries are shown on the page of each audited kind of objects (`auditTexts`). `kind` is the
   * parameter that receives the kind.
   */
  ofAudited: optional(record({ kind: text })),
  /** Parameter that receives the id of the object, as in the address of its page. */
  objectId: optional(text),
  /** Id of a GET operation that returns a list. It is called with the permissions and the data scope of the user. */
  source: text,
  /** Path and query parameters: constants, or members of the object of the page. */
  filter: optional(values),
  /** Member of an item with the time of the entry. */
  at: named('text'),
  /** Text of each entry. Default: the columns say what happened. */
  title: optional(localized),
  /** Shown after the title, in this order. Members without a value are omitted. */
  columns,
  /** Detail page of the item, and the member with its id. */
  opens: optional(record({ page: text, field: named('plain') })),
})
/**
 * Entries in the timeline of an object, which the plugin of the page or another plugin contributes. An example is the
 * messages about an order. A user who may not call the operation does not see the entries.
 */
export type TimelineDeclaration = DataOf<typeof timelineSchema>

/** Timelines of detail pages, each contributed under its id. */
export const timelines = extensionPoint<TimelineDeclaration>('console.timeline', {
  from: '@plinth/console/admin',
  live: true,
  names: shape.dotted,
  namedBy: 'id',
  shape: shapeOf(timelineSchema),
})
