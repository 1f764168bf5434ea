import { type Database, sumsByStep, sumsOverTime } from '@plinth/database'
import { amountSum, count, figureRoute, Type, withDescription } from '@plinth/http'
import { callerRowsSql } from '@plinth/iam'
import { orderOwnerColumn, ownerThroughOrder } from './contract.ts'
import { permissionCodes } from './declarations.ts'
import { refundType } from './terms.ts'

interface FigureDependencies {
  readonly db: Database
  readonly dayOf: (moment: Date) => string
}

const figures = ['orders', 'paidOrders', 'revenue', 'refunded'] as const

export const figureRoutes = [
  figureRoute<FigureDependencies>({
    path: '/api/v1/admin/money/payment-figures',
    summary: 'Count payment orders, and add up payments and refunds over time',
    access: { permission: permissionCodes.paymentView, scope: 'caller' },
    by: { asset: Type.String({ description: 'Currency or asset of the amounts.' }) },
    sums: {
      orders: withDescription(count, 'Payment orders that were created.'),
      paidOrders: withDescription(count, 'Payment orders that were paid, whenever they were created.'),
      revenue: amountSum('Payments, including those that were refunded later.'),
      refunded: amountSum('Refunds of payments, whenever they were paid.'),
    },
    async steps(request, { db, dayOf }, span) {
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
      return sumsByStep(
        found.map((one) => ({ ...one, sums: { ...none, ...one.sums } })),
        figures,
        { span, dayOf },
      )
    },
  }),
]
