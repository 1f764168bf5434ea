import { type Database, sumsByStep, sumsOverTime } from '@plinth/database'
import { count, routesWith, spanQuery, Type, withDescription } from '@plinth/http'
import { callerRowsSql } from '@plinth/iam'
import { orderOwnerColumn, ownerThroughOrder } from './contract.ts'
import { permissionCodes } from './declarations.ts'
import { refundType } from './terms.ts'

interface FigureDependencies {
  readonly db: Database
  readonly dayOf: (moment: Date) => string
}

const amount = (description: string) =>
  Type.String({ pattern: '^\\d+$', description: `${description} In minor units of the asset, as decimal text.` })

const figures = ['orders', 'paidOrders', 'revenue', 'refunded'] as const

const { route } = routesWith<FigureDependencies>()

export const figureRoutes = [
  route({
    method: 'GET',
    path: '/api/v1/admin/money/payment-figures',
    summary: 'Count payment orders, and add up payments and refunds over time',
    access: { permission: permissionCodes.paymentView, scope: 'caller' },
    request: { query: Type.Object(spanQuery.properties) },
    response: Type.Object({
      items: Type.Array(
        Type.Object({
          at: Type.String({ description: 'Day in the time zone of the site, or hour of a short time span.' }),
          asset: Type.String({ description: 'Currency or asset of the amounts.' }),
          orders: withDescription(count, 'Payment orders that were created.'),
          paidOrders: withDescription(count, 'Payment orders that were paid, whenever they were created.'),
          revenue: amount('Payments, including those that were refunded later.'),
          refunded: amount('Refunds of payments, whenever they were paid.'),
        }),
      ),
    }),
    reasons: [],
    async handler(request, { db, dayOf }) {
      const span = spanQuery.parse(request.query, db.clock.now())
      const orders = 'money_payment_order'
      const where = callerRowsSql(request, orders, orderOwnerColumn)
      const created = sumsOverTime(db, {
        table: orders,
        time: { id: 'id' },
        span,
        where,
        by: 'asset',
        sums: { orders: 'count(*)' },
      })
      const paid = sumsOverTime(db, {
        table: orders,
        time: { ms: 'paid_at' },
        span,
        where,
        by: 'asset',
        sums: { paidOrders: 'count(*)', revenue: 'sum(amount)' },
      })
      const refunds = callerRowsSql(request, 't', ownerThroughOrder('out_trade_no'))
      const refunded = sumsOverTime(db, {
        table: 'money_payment_transaction t',
        time: { id: 't.id' },
        span,
        where: { sql: `t.type = ? and ${refunds.sql}`, parameters: [refundType, ...refunds.parameters] },
        // A join would read all orders if the database expects many refunds.
        by: `(select o.asset from ${orders} o where o.out_trade_no = t.out_trade_no)`,
        sums: { refunded: 'sum(t.amount)' },
      })
      const none = { orders: 0n, paidOrders: 0n, revenue: 0n, refunded: 0n }
      const found = (await Promise.all([created, paid, refunded])).flat()
      const steps = sumsByStep(
        found.map((one) => ({ ...one, sums: { ...none, ...one.sums } })),
        figures,
        { span, dayOf },
      )
      return {
        items: steps.map(({ at, by, sums }) => ({
          at,
          asset: by,
          orders: Number(sums.orders),
          paidOrders: Number(sums.paidOrders),
          revenue: String(sums.revenue),
          refunded: String(sums.refunded),
        })),
      }
    },
  }),
]
