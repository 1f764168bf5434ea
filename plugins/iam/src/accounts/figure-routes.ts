import { type Database, sumsByStep, sumsOverTime } from '@plinth/database'
import { count, figureRoute, withDescription } from '@plinth/http'
import { callerRowsSql } from '../access/data-scope.ts'
import { permissionCodes } from '../declarations.ts'

interface FigureDependencies {
  readonly db: Database
  readonly dayOf: (moment: Date) => string
}

export const figureRoutes = [
  figureRoute<FigureDependencies>({
    path: '/api/v1/admin/iam/user-figures',
    summary: 'Count new users over time',
    access: { permission: permissionCodes.userView, scope: 'caller' },
    sums: { created: withDescription(count, 'Users who were created and still exist.') },
    async steps(request, { db, dayOf }, span) {
      const created = await sumsOverTime(db, {
        table: 'iam_user',
        time: { id: 'id' },
        span,
        where: callerRowsSql(request, 'iam_user', 'id'),
        sums: { created: 'count(*)' },
      })
      return sumsByStep(created, ['created'], { span, dayOf, always: [''] })
    },
  }),
]
