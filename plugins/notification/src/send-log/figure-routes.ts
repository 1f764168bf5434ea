import { type Database, sumsByStep, sumsOverTime } from '@plinth/database'
import { count, routesWith, spanQuery, Type, withDescription } from '@plinth/http'
import { callerRowsSql } from '@plinth/iam'
import { permissionCodes } from '../declarations.ts'
import { recipientOwner } from '../recipients.ts'

interface FigureDependencies {
  readonly db: Database
  readonly dayOf: (moment: Date) => string
}

const { route } = routesWith<FigureDependencies>()

const sends = 'notification_send_log'

export const figureRoutes = [
  route({
    method: 'GET',
    path: '/api/v1/admin/notification/send-figures',
    summary: 'Count sent and failed messages over time, by channel',
    access: { permission: permissionCodes.sendLogView, scope: 'caller' },
    request: { query: Type.Object(spanQuery.properties) },
    response: Type.Object({
      items: Type.Array(
        Type.Object({
          at: Type.String({ description: 'Day in the time zone of the site, or hour of a short time span.' }),
          channel: Type.String(),
          sent: withDescription(count, 'Messages that the channel accepted.'),
          failed: withDescription(count, 'Messages that failed and were not sent again.'),
        }),
      ),
    }),
    reasons: [],
    async handler(request, { db, dayOf }) {
      const span = spanQuery.parse(request.query, db.clock.now())
      const found = await sumsOverTime(db, {
        table: sends,
        time: { id: 'id' },
        span,
        where: callerRowsSql(request, sends, recipientOwner),
        by: 'channel',
        sums: {
          sent: `sum(case when status = 'success' then 1 else 0 end)`,
          failed: `sum(case when status in ('failed', 'dead') then 1 else 0 end)`,
        },
      })
      const steps = sumsByStep(found, ['sent', 'failed'], { span, dayOf })
      return {
        items: steps.map(({ at, by, sums }) => ({
          at,
          channel: by,
          sent: Number(sums.sent),
          failed: Number(sums.failed),
        })),
      }
    },
  }),
]
