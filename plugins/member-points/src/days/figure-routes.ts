import { routesWith, spanQuery, Type } from '@plinth/http'
import { permissionCodes } from '../declarations.ts'
import type { Parts } from '../parts.ts'
import type { PointsFigures } from './points-figures.ts'

interface FigureDependencies extends Pick<Parts, 'db'> {
  readonly figures: PointsFigures
}

const amount = (description: string) =>
  Type.String({ pattern: '^\\d+$', description: `${description} In minor units of the asset, as decimal text.` })

const { route } = routesWith<FigureDependencies>()

export const figureRoutes = [
  route({
    method: 'GET',
    path: '/api/v1/admin/member-points/figures',
    summary: 'Add up issued, spent and expired points over time',
    access: { permission: permissionCodes.ledgerView, scope: 'all' },
    request: { query: Type.Object(spanQuery.properties) },
    response: Type.Object({
      items: Type.Array(
        Type.Object({
          at: Type.String({
            description: 'Day in the time zone of the points programme, or hour of a short time span.',
          }),
          asset: Type.String(),
          issued: amount('Points granted. Points that were taken back are not subtracted.'),
          spent: amount('Points spent.'),
          expired: amount('Points that expired.'),
        }),
      ),
    }),
    reasons: [],
    async handler({ query }, { db, figures }) {
      const steps = await figures.over(spanQuery.parse(query, db.clock.now()))
      return {
        items: steps.map(({ at, by, sums }) => ({
          at,
          asset: by,
          issued: String(sums.granted),
          spent: String(sums.consumed),
          expired: String(sums.expired),
        })),
      }
    },
  }),
]
