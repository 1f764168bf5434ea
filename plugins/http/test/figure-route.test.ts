import { systemClock } from '@plinth/kernel'
import t from 'tap'
import { amountSum, count, figureRoute, Type } from '../src/index.ts'
import { startHttp } from './start-http.ts'

t.test('figures are numbers for counts and text for amounts, with the value that separates them', async (t) => {
  const spans: object[] = []
  const route = figureRoute<{ readonly db: { readonly clock: typeof systemClock } }>({
    path: '/api/v1/shop/figures',
    summary: 'Count orders',
    access: 'public',
    zoneOf: 'the shop',
    by: { asset: Type.String() },
    sums: { orders: count, revenue: amountSum('Payments.'), refunded: amountSum('Refunds.') },
    async steps(_request, _dependencies, span) {
      spans.push(span)
      return [{ at: '2026-11-01', by: 'CNY', sums: { orders: 2n, revenue: 9_007_199_254_740_993n } }]
    },
  })
  const { server, call } = await startHttp(t, (server) => server.addRoutes([route], { db: { clock: systemClock } }))
  const { body } = await call('/api/v1/shop/figures?from=2026-11-01T00:00:00Z&to=2026-11-02T00:00:00Z')
  t.strictSame(body.data, {
    items: [{ at: '2026-11-01', asset: 'CNY', orders: 2, revenue: '9007199254740993', refunded: '0' }],
  })
  t.strictSame(spans, [{ from: Date.UTC(2026, 10, 1), to: Date.UTC(2026, 10, 2) }])
  t.match(JSON.stringify(await server.openapi()), 'Day in the time zone of the shop, or hour of a short time span.')
})
