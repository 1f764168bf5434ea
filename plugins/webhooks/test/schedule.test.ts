import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { maxRetryAfterMs, pauseBefore, retryAfterMsOf, schedule } from '../src/schedule.ts'
import { newSecret, signedHeaders } from '../src/signature.ts'

t.test('the signature equals the vector and the public library', async (t) => {
  const vector = `whsec_${Buffer.alloc(24, 7).toString('base64')}`
  t.same(signedHeaders({ id: 'msg_1', now: 1_700_000_000_999, body: '{"a":1}' }, [vector]), {
    'webhook-id': 'msg_1',
    'webhook-timestamp': '1700000000',
    'webhook-signature': 'v1,GnWfOMPpcrOIuA+hTPKUlJoozIUx5fe5vMJRq4kNJyc=',
  })
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme' }),
      fc.nat(2 ** 31 - 1),
      fc.integer({ min: 1, max: 2 }),
      (body, seconds, count) => {
        const secrets = Array.from({ length: count }, newSecret)
        const { 'webhook-signature': list = '' } = signedHeaders({ id: 'msg_7', now: seconds * 1000, body }, secrets)
        const expected = secrets.map((secret) => new Webhook(secret).sign('msg_7', new Date(seconds * 1000), body))
        return list === expected.join(' ')
      },
    ),
  )
})

t.test('a secret has 256 random bits in the form of the standard', async (t) => {
  t.match(newSecret(), /^whsec_[A-Za-z0-9+/]{43}=$/)
  t.not(newSecret(), newSecret())
})

t.test('the pauses are those of the standard, with at most a tenth more', async (t) => {
  const hours = (n: number) => n * 3_600_000
  t.same(schedule, [0, 5_000, 300_000, 1_800_000, ...[2, 5, 10, 14, 20, 24].map(hours)])
  t.equal(
    schedule.reduce((sum, pause) => sum + pause, 0),
    hours(75) + 35 * 60_000 + 5_000,
  )
  t.equal(
    pauseBefore(schedule.length, 0, () => 0),
    undefined,
  )
  fc.assert(
    fc.property(
      fc.nat(schedule.length - 1),
      fc.nat(10 ** 9),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (step, asked, random) => {
        const pause = pauseBefore(step, asked, () => random) ?? -1
        const [usual = 0, requested] = [schedule[step], Math.min(asked, maxRetryAfterMs)]
        return pause >= usual && pause >= requested && pause <= Math.max(usual * 1.1 + 1, requested)
      },
    ),
  )
})

t.test('Retry-After is seconds or a date', async (t) => {
  const now = Date.UTC(2026, 0, 1)
  const cases: readonly (readonly [string | undefined, number])[] = [
    [undefined, 0],
    ['120', 120_000],
    ['0', 0],
    ['-5', 0],
    ['soon', 0],
    ['99999999999', 0],
    [new Date(now + 60_000).toUTCString(), 60_000],
    [new Date(now - 60_000).toUTCString(), 0],
  ]
  for (const [header, expected] of cases) t.equal(retryAfterMsOf(header, now), expected, String(header))
})
