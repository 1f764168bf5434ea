import t from 'tap'
import type { Chart } from '../web/admin/api/page-types.ts'
import { chartData } from '../web/admin/charts/chart-data.ts'

const chart: Chart = {
  id: 'probe.sold',
  title: 'Sold',
  as: 'line',
  method: 'GET',
  path: '/sold',
  ranges: [],
  labels: {},
  at: 'at',
  lines: [
    { field: 'counts.sold', title: 'Sold', tone: 'good' },
    { field: 'lost', title: 'Lost' },
  ],
}

t.test(
  'rows in any order: times are sorted, rows of the same time are added, and unknown values count as zero',
  async (t) => {
    const data = chartData(chart, [
      { at: '2026-01-01T00:01:00Z', counts: { sold: 2 }, lost: 1 },
      { at: '2026-01-01T00:00:00Z', counts: { sold: 4 } },
      { at: '2026-01-01T00:01:00Z', counts: { sold: 3 }, lost: 0 },
      { at: 'never', counts: { sold: 100 } },
    ])
    t.strictSame(data.moments, [Date.UTC(2026, 0, 1), Date.UTC(2026, 0, 1, 0, 1)])
    t.equal(data.isDaily, false)
    t.match(data.lines, [
      { title: 'Sold', tone: 'good', values: [4, 5], sum: 9, last: 5 },
      { title: 'Lost', values: [0, 1], sum: 1, last: 1 },
    ])
    t.strictSame(chartData(chart, { items: [], total: 0 }).lines, [], 'nothing has no lines')
  },
)

t.test('each label value has its own line with its name; a time without a value is a gap', async (t) => {
  const rows = [
    { at: '2026-03-01', shop: 'b', lost: 2 },
    { at: '2026-03-02', shop: 'a', lost: 1 },
  ]
  const one = { ...chart, by: 'shop', labels: { a: 'Airport' }, lines: [{ field: 'lost', title: 'Lost' }] }
  const data = chartData(one, rows)
  t.equal(data.isDaily, true)
  t.match(data.lines, [
    { title: 'Airport', turn: 0, values: [null, 1] },
    { title: 'b', turn: 1, values: [2, null] },
  ])
  t.strictSame(
    chartData({ ...one, lines: chart.lines }, rows).lines.map(({ title }) => title),
    ['Airport · Sold', 'Airport · Lost', 'b · Sold', 'b · Lost'],
  )
})

t.test('if there are many lines, those with the largest sums are drawn, and all are listed', async (t) => {
  const rows = Array.from({ length: 30 }, (_, shop) => ({ at: '2026-03-01', shop: `s${shop}`, lost: shop }))
  const data = chartData({ ...chart, by: 'shop', lines: [{ field: 'lost', title: 'Lost' }] }, rows)
  t.equal(data.lines.length, 30)
  t.strictSame(
    data.lines.slice(0, data.drawn).map(({ sum }) => sum),
    Array.from({ length: 12 }, (_, place) => 29 - place),
  )
})
