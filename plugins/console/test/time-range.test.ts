/** Tests the time range of a list: presets, days of a time zone, and clock changes. */
import t from 'tap'
import { allTime, boundsOf, presets, rangeIn } from '../web/admin/pages/time-range.ts'
import { momentOf, startOfDay, wallClock } from '../web/admin/pages/zoned-time.ts'

const at = (text: string) => Date.parse(text)
const iso = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms).toISOString())

t.test('a preset range ends now, and its days follow the displayed time zone', async (t) => {
  const now = at('2026-03-10T17:30:00.000Z')
  const from = (preset: string, zone: string) => boundsOf({ from: preset, to: '' }, now, zone)
  t.strictSame(from('today', 'UTC'), { from: '2026-03-10T00:00:00.000Z' })
  t.strictSame(from('today', 'Asia/Shanghai'), { from: '2026-03-10T16:00:00.000Z' }, 'it is the next day there')
  t.strictSame(from('today', 'America/New_York'), { from: '2026-03-10T04:00:00.000Z' })
  t.strictSame(from('24h', 'UTC'), { from: '2026-03-09T17:30:00.000Z' })
  t.strictSame(from('7d', 'UTC'), { from: '2026-03-03T17:30:00.000Z' })
  t.strictSame(from('30d', 'UTC'), { from: '2026-02-08T17:30:00.000Z' })
  t.strictSame(boundsOf(allTime, now, 'UTC'), {})
  const exact = { from: '2026-01-01T00:00:00.000Z', to: '2026-02-01T00:00:00.000Z' }
  t.strictSame(boundsOf(exact, now, 'UTC'), exact)
  t.strictSame(boundsOf({ from: '', to: exact.to }, now, 'UTC'), { to: exact.to })
})

t.test('an address contains a preset or two times, and other values are ignored', async (t) => {
  const read = (search: string) => rangeIn(new URLSearchParams(search))
  for (const preset of presets) t.strictSame(read(`from=${preset}&to=2026-01-01T00:00Z`), { from: preset, to: '' })
  t.strictSame(read('from=2026-01-01T00:00Z&to=2026-01-02T00:00Z'), {
    from: '2026-01-01T00:00Z',
    to: '2026-01-02T00:00Z',
  })
  t.strictSame(read('from=yesterday&to=soon'), allTime)
  t.strictSame(read(''), allTime)
})

t.test('typed times are in the displayed zone, also near a change to summer time', async (t) => {
  const zones = ['UTC', 'Asia/Shanghai', 'Europe/Berlin', 'America/New_York', 'Asia/Kathmandu', 'Pacific/Apia']
  for (const zone of zones) {
    // 11 has no common divisor with 24, so each hour of the day is tested in each month.
    for (let ms = at('2026-01-01T00:00Z'); ms < at('2027-01-01T00:00Z'); ms += 11 * 3_600_000) {
      const back = momentOf(wallClock(ms, zone), zone)
      const isTwice = back !== ms && wallClock(back as number, zone) === wallClock(ms, zone)
      if (back !== ms && !isTwice) t.fail(`${zone} ${iso(ms)}`)
    }
    t.pass(zone)
  }
  t.equal(iso(momentOf('2026-03-29T02:30', 'Europe/Berlin')), '2026-03-29T01:30:00.000Z', 'this time does not exist')
  t.equal(iso(momentOf('2026-10-25T02:30', 'Europe/Berlin')), '2026-10-25T00:30:00.000Z', 'the first of two')
  t.equal(iso(startOfDay(at('2026-10-25T20:00Z'), 'Europe/Berlin')), '2026-10-24T22:00:00.000Z')
  for (const wrong of ['', '2026-01-01', '2026-13-01T00:00', 'now']) t.equal(momentOf(wrong, 'UTC'), undefined, wrong)
})

t.test('a time that is invalid, or has no local time, has an empty text', (t) => {
  for (const ms of [Number.NaN, Infinity, 8.64e15]) t.equal(wallClock(ms, 'Asia/Shanghai'), '')
  t.equal(wallClock(0, 'Asia/Shanghai'), '1970-01-01T08:00')
  t.end()
})
