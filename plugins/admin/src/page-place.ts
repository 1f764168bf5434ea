import {
  among,
  type DataOf,
  dotted,
  groupIcons,
  localized,
  names,
  number,
  optional,
  type PageGroup,
  pageGroups,
  record,
  shaped,
  shapeOf,
  text,
} from './page-vocabulary.ts'

const ownGroup = record({
  /** Lower-case words joined by dots or hyphens. It must differ from the ids of the groups of the product. */
  id: dotted,
  title: localized,
  icon: among(groupIcons),
  /** Position in the navigation. The groups of the product have the positions 100, 200 and so on, in their order. */
  order: number,
})
/**
 * A navigation group that a plugin declares for its pages. Plugins that share a group declare it with the same title,
 * icon and order.
 */
export type OwnPageGroup = DataOf<typeof ownGroup>

const place = record({
  /** A group of the product, or a group of the plugin. */
  group: shaped<PageGroup | OwnPageGroup>({ ...shapeOf(ownGroup), type: ['string', 'object'], enum: pageGroups }),
  /** Position in the group; pages with lower numbers come first. */
  order: number,
})
/** Place of a page in the navigation. Without a place, only other pages link to it. */
export type PageNavigationPlace = DataOf<typeof place>

/** Members of all pages. */
export const page = {
  /** Unique in the product: plugin id and a word, for example `iam.users`. */
  id: text,
  title: localized,
  place: optional(place),
  /** Ids of removed pages. Their addresses open this page. */
  formerly: optional(names),
  /** Id of the operation that the page reads. */
  source: text,
}
