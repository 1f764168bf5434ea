import { type Database, sumsByStep, sumsOverTime } from '@plinth/database'
import { count, figureRoute, Type, withDescription } from '@plinth/http'
import { callerRowsSql } from '@plinth/iam'
import { permissionCodes } from '../declarations.ts'
import { recipientOwner } from '../recipients.ts'

interface FigureDependencies {
  readonly db: Database
  readonly dayOf: (moment: Date) => string
}

const sends = 'notification_send_log'

export const figureRoutes = [
  figureRoute<FigureDependencies>({
    path: '/api/v1/admin/notification/send-figures',
    summary: 'Count sent and failed messages over time, by channel',
    access: { permission: permissionCodes.sendLogView, scope: 'caller' },
    by: { channel: Type.String() },
    sums: {
      sent: withDescription(count, 'Messages that the channel accepted.'),
      failed: withDescription(count, 'Messages that failed and were not sent again.'),
    },
    async steps(request, { db, dayOf }, span) {
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
      return sumsByStep(found, ['sent', 'failed'], { span, dayOf })
    },
  }),
]
