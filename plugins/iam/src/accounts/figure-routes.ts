import { type Database, sumsByStep, sumsOverTime } from '@plinth/database'
import { count, routesWith, spanQuery, Type, withDescription } from '@plinth/http'
import { callerRowsSql } from '../access/data-scope.ts'
import { permissionCodes } from '../declarations.ts'

interface FigureDependencies {
  readonly db: Database
  readonly dayOf: (moment: Date) => string
}

const { route } = routesWith<FigureDependencies>()

export const figureRoutes = [
  route({
    method: 'GET',
    path: '/api/v1/admin/iam/user-figures',
    summary: 'Count new users over time',
    access: { permission: permissionCodes.userView, scope: 'caller' },
    request: { query: Type.Object(spanQuery.properties) },
    response: Type.Object({
      items: Type.Array(
        Type.Object({
          at: Type.String({ description: 'Day in the time zone of the site, or hour of a short time span.' }),
          created: withDescription(count, 'Users who were created and still exist.'),
        }),
      ),
    }),
    reasons: [],
    async handler(request, { db, dayOf }) {
      const span = spanQuery.parse(request.query, db.clock.now())
      const created = await sumsOverTime(db, {
        table: 'iam_user',
        time: { id: 'id' },
        span,
        where: callerRowsSql(request, 'iam_user', 'id'),
        sums: { created: 'count(*)' },
      })
      const steps = sumsByStep(created, ['created'], { span, dayOf, always: [''] })
      return { items: steps.map(({ at, sums }) => ({ at, created: Number(sums.created) })) }
    },
  }),
]
