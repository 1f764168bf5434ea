import {
  type AnyReferenceType,
  type Contributions,
  type DeclaredContributions,
  type ExtensionPoint,
  type Optional,
  optional,
  type TypeOf,
} from '@plinth/kernel'
import { labelSources } from './label-sources.ts'
import { attention, charts, tiles } from './overview-declarations.ts'
import { adminPages } from './page-declaration.ts'
import { timelines } from './timeline-declaration.ts'

const points = { pages: adminPages, attention, charts, tiles, timelines, labels: labelSources } as const
type Points = typeof points

/**
 * Declares what the back office shows of a plugin, for `contributes`. Without the console it has no effect.
 *
 * @param parts pages, counts that need attention, charts, tiles and timelines in lists, and sources of labels by kind; or functions
 * that return them and receive the services of the plugin
 *
 * @example contributes: [
 *   ...backOffice({ pages, labels: ({ database }: WithDatabase) => ({ 'acme.depot': depotLabels(database) }) }),
 * ]
 */
export function backOffice<Name extends keyof Points, Services = unknown>(
  parts: {
    readonly [One in Name]: Contributions<TypeOf<Points[One]>, Services>
  },
): readonly Optional<Points[Name] & DeclaredContributions<Services>>[] {
  const names = (Object.keys(points) as Name[]).filter((name) => parts[name] !== undefined)
  return names.map((name) => {
    const point: ExtensionPoint<AnyReferenceType> = points[name]
    return optional(point.of(parts[name]) as Points[Name] & DeclaredContributions<Services>)
  })
}
