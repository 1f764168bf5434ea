import { amountSum, figureRoute, Type } from '@plinth/http'
import { permissionCodes } from '../declarations.ts'
import type { Parts } from '../parts.ts'
import type { PointsFigures } from './points-figures.ts'

interface FigureDependencies extends Pick<Parts, 'db'> {
  readonly figures: PointsFigures
}

export const figureRoutes = [
  figureRoute<FigureDependencies>({
    path: '/api/v1/admin/member-points/figures',
    summary: 'Add up issued, spent and expired points over time',
    access: { permission: permissionCodes.ledgerView, scope: 'all' },
    zoneOf: 'the points programme',
    by: { asset: Type.String() },
    sums: {
      issued: amountSum('Points granted. Points that were taken back are not subtracted.'),
      spent: amountSum('Points spent.'),
      expired: amountSum('Points that expired.'),
    },
    async steps(_request, { figures }, span) {
      const steps = await figures.over(span)
      return steps.map(({ at, by, sums: { granted, consumed, expired } }) => {
        return { at, by, sums: { issued: granted, spent: consumed, expired } }
      })
    },
  }),
]
