import { type TimelineDeclaration, timelineSchema, translated } from '@plinth/admin'
import type { AuditTexts } from '@plinth/kernel'
import { callOf, columnViews, type PageViewer } from './column-and-field-views.ts'
import { itemOf, type Operation } from './operations.ts'

/** A timeline on one page. */
export type PlacedTimeline = TimelineDeclaration & { readonly page: string }

/** Maximum number of entries of one source in a timeline. */
const maxEntries = 50

/** Returns each timeline with its page. A timeline of audited objects is on the page of each kind. */
export function placedTimelines(
  declared: Iterable<TimelineDeclaration>,
  kinds: ReadonlyMap<string, Pick<AuditTexts, 'page'>>,
): readonly PlacedTimeline[] {
  return [...declared].flatMap((timeline): readonly PlacedTimeline[] => {
    const { page, ofAudited } = timeline
    const own = page === undefined ? [] : [{ ...timeline, page }]
    if (ofAudited === undefined) return own
    const audited = [...kinds].flatMap(([kind, { page: place }]) => {
      const filter = { ...timeline.filter, [ofAudited.kind]: { value: kind } }
      return place === undefined ? [] : [{ ...timeline, id: `${timeline.id}.${kind}`, page: place, filter }]
    })
    return [...own, ...audited]
  })
}

/** Describes entries in the timeline of an object: their operation and columns. */
export function timelineView(timeline: PlacedTimeline, operation: Operation, reader: PageViewer) {
  const { page: _, source: __, ofAudited: ___, ...rest } = translated(timelineSchema, timeline, reader.locale)
  return {
    filter: {},
    ...rest,
    ...callOf(operation, reader),
    ...('size' in operation.query ? { size: maxEntries } : {}),
    columns: columnViews(rest.columns, { item: itemOf(operation), helps: operation.helps }, reader),
  }
}
