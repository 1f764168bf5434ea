import { assertMembers } from '@plinth/dev/testing'
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
    assertMembers(t, data.lines, [
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
  assertMembers(t, data.lines, [
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

t.test('lines without a colour get one by their place, and the sixth has that of the first', async (t) => {
  const tonesOf = (lines: Chart['lines'], shops: number) => {
    const rows = Array.from({ length: shops }, (_, shop) => ({ at: '2026-03-01', shop: `s${shop}`, lost: 1 }))
    return chartData({ ...chart, by: 'shop', lines }, rows).lines.map(({ tone }) => tone)
  }
  t.strictSame(tonesOf([{ field: 'lost', title: 'Lost' }], 6), ['info', 'good', 'warn', 'bad', 'quiet', 'info'])
  t.strictSame(tonesOf(chart.lines, 2), ['good', 'good', 'good', 'good'], 'the same line of each shop')
})

t.test('amounts of an asset without a unit are not scaled, and their code names the line', async (t) => {
  const rows = [
    { at: '2026-03-01', asset: 'acme', lost: 7 },
    { at: '2026-03-01', asset: 'eur', lost: 250 },
    { at: '2026-03-01', lost: 1 },
  ]
  const { lines } = chartData({ ...chart, currency: 'asset', lines: [{ field: 'lost', title: 'Lost' }] }, rows)
  t.strictSame(
    lines.map(({ title, last, amount }) => [title, last, amount?.scale]),
    [
      ['Lost · ', 1, undefined],
      ['Lost · acme', 7, undefined],
      ['Lost · EUR', 2.5, 2],
    ],
  )
})

t.test('twelve lines are all drawn, in the order of their names', async (t) => {
  const rows = Array.from({ length: 12 }, (_, shop) => ({ at: '2026-03-01', shop: `s${shop + 10}`, lost: shop }))
  const { lines, drawn } = chartData({ ...chart, by: 'shop', lines: [{ field: 'lost', title: 'Lost' }] }, rows)
  t.equal(drawn, 12)
  t.strictSame(
    lines.map(({ title }) => title),
    rows.map(({ shop }) => shop),
  )
})
