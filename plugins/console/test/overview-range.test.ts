/** Tests the range of the overview: whole days of the site, the range before, and the sums of a tile. */
import t from 'tap'
import type { Tile } from '../web/admin/api/page-types.ts'
import { isOverviewPreset, queryOf, spansOf } from '../web/admin/overview/overview-range.ts'
import { changeOf, partOf, sumsOf } from '../web/admin/overview/tile-data.ts'

const at = (text: string) => Date.parse(text)
const iso = ({ from, to }: { readonly from: number; readonly to: number }) =>
  [from, to].map((ms) => new Date(ms).toISOString().slice(0, 16))

t.test('a preset has whole days of the site, and is compared at the same time of day', (t) => {
  const now = at('2026-03-10T17:30:00Z')
  const spans = (from: string, zone: string) => {
    const { now: current, before } = spansOf({ from, to: '' }, now, zone)
    return [iso(current), iso(before)]
  }
  t.strictSame(spans('today', 'UTC'), [
    ['2026-03-10T00:00', '2026-03-10T17:30'],
    ['2026-03-09T00:00', '2026-03-09T17:30'],
  ])
  t.strictSame(spans('today', 'Asia/Shanghai'), [
    ['2026-03-10T16:00', '2026-03-10T17:30'],
    ['2026-03-09T16:00', '2026-03-09T17:30'],
  ])
  t.strictSame(spans('7d', 'UTC'), [
    ['2026-03-04T00:00', '2026-03-10T17:30'],
    ['2026-02-25T00:00', '2026-03-03T17:30'],
  ])
  t.strictSame(spans('30d', 'UTC'), [
    ['2026-02-09T00:00', '2026-03-10T17:30'],
    ['2026-01-10T00:00', '2026-02-08T17:30'],
  ])
  const [current, before] = spans('7d', 'America/New_York')
  t.strictSame(current, ['2026-03-04T05:00', '2026-03-10T17:30'], 'the clock changed on March 8')
  t.strictSame(before, ['2026-02-25T05:00', '2026-03-03T17:30'])
  t.end()
})

t.test('an exact range is compared with the time of the same length before it', (t) => {
  const range = { from: '2026-01-03T00:00:00Z', to: '2026-01-05T12:00:00Z' }
  const spans = spansOf(range, at('2026-03-01T00:00:00Z'), 'UTC')
  t.strictSame(iso(spans.now), ['2026-01-03T00:00', '2026-01-05T12:00'])
  t.strictSame(iso(spans.before), ['2025-12-31T12:00', '2026-01-03T00:00'])
  t.strictSame(queryOf(spans.now), { from: '2026-01-03T00:00:00.000Z', to: '2026-01-05T12:00:00.000Z' })
  t.end()
})

t.test('a range without a start, or with a preset of lists only, begins seven days before its end', (t) => {
  const now = at('2026-03-01T10:00:00Z')
  for (const from of ['', '24h'])
    t.strictSame(iso(spansOf({ from, to: '' }, now, 'UTC').now), ['2026-02-22T10:00', '2026-03-01T10:00'], from)
  const ended = spansOf({ from: '', to: '2026-02-01T00:00:00Z' }, now, 'UTC')
  t.strictSame(iso(ended.now), ['2026-01-25T00:00', '2026-02-01T00:00'])
  t.equal(isOverviewPreset('24h'), false)
  t.equal(isOverviewPreset('today'), true)
  t.end()
})

const tile: Tile = { id: 'a.b', operation: 'getA', title: 'A', method: 'GET', path: '/', query: {}, field: 'sum' }

t.test('a tile adds up rows, each unit apart and as integers', (t) => {
  t.strictSame(sumsOf(tile, { items: [{ sum: 2 }, { sum: 3 }], total: null }), [{ code: '', value: 5 }])
  t.strictSame(sumsOf(tile, { sum: 7 }), [{ code: '', value: 7 }], 'an object has one number')
  t.strictSame(sumsOf(tile, [{ sum: 2 }, {}]), [{ code: '', value: 2 }], 'a missing number is zero')
  t.strictSame(sumsOf({ ...tile, currency: 'asset' }, [{ sum: '3' }, { asset: 'cny' }]), [{ code: '', value: 3n }])
  const rows = [
    { asset: 'cny', sum: '9007199254740993' },
    { asset: 'usd', sum: '5' },
    { asset: 'cny', sum: '2' },
    { asset: 'eur', sum: '0' },
    { asset: 'gbp', sum: '-4' },
  ]
  t.strictSame(sumsOf({ ...tile, currency: 'asset' }, rows), [
    { code: 'cny', value: 9007199254740995n },
    { code: 'usd', value: 5n },
    { code: 'gbp', value: -4n },
  ])
  t.strictSame(sumsOf({ ...tile, currency: 'asset' }, [{ asset: 'eur', sum: '0' }]), [{ code: 'eur', value: 0n }])
  t.strictSame(sumsOf({ ...tile, currency: 'asset' }, []), [{ code: '', value: 0 }], 'no rows')
  t.end()
})

t.test('a tile counts the rows with a good value, of those that are good or bad', (t) => {
  const states = { ...tile, field: 'state', good: ['ready'] }
  const rows = ['ready', 'failing', 'off', 'ready'].map((state) => ({ state }))
  t.strictSame(partOf(states, rows), { count: 2, total: 4 })
  t.strictSame(partOf({ ...states, bad: ['failing'] }, { items: rows, total: 4 }), { count: 2, total: 3 })
  t.strictSame(partOf(states, []), { count: 0, total: 0 })
  t.end()
})

t.test('the change is a percentage of the number before', (t) => {
  t.equal(changeOf(12, 8), 50)
  t.equal(changeOf(2, 3), -33.3)
  t.equal(changeOf(3n * 10n ** 20n, 10n ** 20n), 200)
  t.equal(changeOf(2n, 3n), -33.3)
  t.equal(changeOf(1n, 0n), undefined)
  t.equal(changeOf(0, 0), undefined)
  t.end()
})
