/** Tests the instants of slots where local time has gaps, overlaps and missing dates. */
import fc from 'fast-check'
import t from 'tap'
import { instantOf, nextSlot } from '../src/slots.ts'

const iso = (at: number | undefined) => (at === undefined ? undefined : new Date(at).toISOString())

const cases: readonly (readonly [what: string, zone: string, key: string, at: string | undefined])[] = [
  ['an ordinary day', 'Europe/Berlin', '2027-01-15 08:00', '2027-01-15T07:00:00.000Z'],
  ['a gap of an hour', 'Europe/Berlin', '2027-03-28 02:30', '2027-03-28T01:00:00.000Z'],
  ['a gap in the west', 'America/New_York', '2027-03-14 02:30', '2027-03-14T07:00:00.000Z'],
  ['a gap of 30 minutes', 'Australia/Lord_Howe', '2027-10-03 02:15', '2027-10-02T15:30:00.000Z'],
  ['a missing midnight', 'America/Santiago', '2027-09-05 00:00', '2027-09-05T04:00:00.000Z'],
  ['a missing time after midnight', 'Africa/Cairo', '2027-04-30 00:30', '2027-04-29T22:00:00.000Z'],
  ['a missing date', 'Pacific/Apia', '2011-12-30 08:00', undefined],
  ['the date before it', 'Pacific/Apia', '2011-12-29 23:30', '2011-12-30T09:30:00.000Z'],
  ['the date after it', 'Pacific/Apia', '2011-12-31 00:00', '2011-12-30T10:00:00.000Z'],
  ['an overlap', 'Europe/Berlin', '2027-10-31 02:30', '2027-10-31T00:30:00.000Z'],
  ['the end of an overlap', 'Europe/Berlin', '2027-10-31 03:00', '2027-10-31T02:00:00.000Z'],
]

t.test('the instant of a slot in each kind of local time', async (t) => {
  for (const [what, zone, key, at] of cases) t.equal(iso(instantOf(key, zone)), at, what)
})

t.test('the next slot follows a week, a missing date and a changed time zone', async (t) => {
  const next = (slots: readonly string[], zone: string, after: string, last?: string) => {
    const { key, at } = nextSlot(slots, zone, Date.parse(after), last)
    return [key, iso(at)]
  }
  t.same(
    [
      next(['mon 08:00'], 'UTC', '2027-03-02T00:00:00Z'),
      next(['daily 18:00', 'daily 08:00'], 'UTC', '2027-03-02T08:00:00Z'),
      next(['daily 08:00'], 'Pacific/Apia', '2011-12-30T00:00:00Z'),
      // The person has got the digest of the 2nd in Tokyo, and is in Los Angeles now, where the 2nd has not begun.
      next(['daily 08:00'], 'America/Los_Angeles', '2027-03-02T01:00:00Z', '2027-03-02 08:00'),
    ],
    [
      ['2027-03-08 08:00', '2027-03-08T08:00:00.000Z'],
      ['2027-03-02 18:00', '2027-03-02T18:00:00.000Z'],
      ['2011-12-31 08:00', '2011-12-30T18:00:00.000Z'],
      ['2027-03-03 08:00', '2027-03-03T16:00:00.000Z'],
    ],
  )
})

t.test('each local date has each slot at most once, whatever the time zones are', async (t) => {
  const zones = ['Europe/Berlin', 'America/Santiago', 'Pacific/Apia', 'Australia/Lord_Howe', 'Asia/Kolkata', 'UTC']
  const stay = fc.record({ zone: fc.constantFrom(...zones), hours: fc.integer({ min: 1, max: 60 }) })
  const start = fc.integer({ min: Date.UTC(2027, 0, 1), max: Date.UTC(2027, 11, 31) })
  const minutes = fc.integer({ min: 0, max: 1_439 })
  fc.assert(
    fc.property(start, minutes, fc.array(stay, { minLength: 1, maxLength: 20 }), (from, minute, stays) => {
      const time = `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`
      const keys: string[] = []
      let now = from
      for (const { zone, hours } of stays) {
        const until = now + hours * 3_600_000
        for (;;) {
          const { key, at } = nextSlot([`daily ${time}`], zone, now, keys.at(-1))
          if (at > until) break
          if (at <= now) return false
          keys.push(key)
          now = at
        }
        now = until
      }
      return keys.every((key, index) => index === 0 || key > (keys[index - 1] as string))
    }),
    { numRuns: 200 },
  )
  t.pass('200 random journeys')
})
