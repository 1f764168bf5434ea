import { Type } from '@plinth/config-schema/typebox'
import type { Clock } from '@plinth/kernel'
import type { TSchema } from 'typebox'
import { spanQuery } from '../schemas/list.ts'
import { type Route, type RouteDeclaration, type RouteRequest, routesWith } from './declaration.ts'

/** Sums of one step of a time span, as `sumsByStep` of `@plinth/database` returns them. */
interface FigureStep {
  readonly at: string
  readonly by: string
  readonly sums: Readonly<Record<string, bigint>>
}

interface FigureRoute<Dependencies> extends Pick<RouteDeclaration, 'path' | 'summary' | 'access'> {
  /** Whose time zone decides when a day begins. Default: the site. */
  readonly zoneOf?: string
  /** The property with the value for which separate sums are returned, such as the currency. */
  readonly by?: Readonly<Record<string, TSchema>>
  /** The properties with the sums: integers, or decimal text for amounts. */
  readonly sums: Readonly<Record<string, TSchema>>
  /** @param span requested time span, in milliseconds since the epoch; `to` is excluded */
  steps(
    request: RouteRequest,
    dependencies: Dependencies,
    span: { readonly from: number; readonly to: number },
  ): Promise<readonly FigureStep[]>
}

/** Declares a route that counts or adds up rows over time, for charts and tiles. Its query is `spanQuery`. */
export function figureRoute<Dependencies extends { readonly db: { readonly clock: Pick<Clock, 'now'> } }>({
  zoneOf = 'the site',
  by = {},
  sums,
  steps,
  ...facts
}: FigureRoute<Dependencies>): Route<Dependencies> {
  const at = Type.String({ description: `Day in the time zone of ${zoneOf}, or hour of a short time span.` })
  const written = (name: string, sum = 0n) => (sums[name] && 'pattern' in sums[name] ? String(sum) : Number(sum))
  return routesWith<Dependencies>().route({
    ...facts,
    method: 'GET',
    request: { query: Type.Object(spanQuery.properties) },
    response: Type.Object({ items: Type.Array(Type.Object({ at, ...by, ...sums })) }),
    reasons: [],
    async handler(request, dependencies) {
      const span = spanQuery.parse(request.query, dependencies.db.clock.now())
      const items = await steps(request, dependencies, span)
      return {
        items: items.map((step) => ({
          at: step.at,
          ...Object.fromEntries(Object.keys(by).map((name) => [name, step.by])),
          ...Object.fromEntries(Object.keys(sums).map((name) => [name, written(name, step.sums[name])])),
        })),
      }
    },
  })
}

/** Schema of a sum of amounts: minor units of the asset, as decimal text. */
export const amountSum = (description: string) =>
  Type.String({ pattern: '^\\d+$', description: `${description} In minor units of the asset, as decimal text.` })
