/** Tests which messages each reason stops, and how addresses are compared. */
import fc from 'fast-check'
import t from 'tap'
import { hashAddress, maskAddress, normalizeAddress } from '../src/addresses.ts'
import { replacedBy, type SuppressionReason, stoppingReason } from '../src/policy.ts'

t.test('the policy: reason x message', (t) => {
  const stops = (reason: SuppressionReason) => [
    stoppingReason([reason], false) !== undefined,
    stoppingReason([reason], true) !== undefined,
  ]
  const reasons: SuppressionReason[] = ['manual', 'hard-bounce', 'complaint', 'unsubscribe', 'soft-bounce']
  t.same(Object.fromEntries(reasons.map((reason) => [reason, stops(reason)])), {
    // Stops normal messages, and required ones.
    manual: [true, true],
    'hard-bounce': [true, true],
    complaint: [true, false],
    unsubscribe: [true, false],
    'soft-bounce': [true, false],
  })
  fc.assert(
    fc.property(fc.subarray(reasons), fc.boolean(), (found, isRequired) => {
      const stopping = stoppingReason(found, isRequired)
      const each = found.filter((reason) => stoppingReason([reason], isRequired) !== undefined)
      t.same(
        stopping,
        reasons.find((reason) => each.includes(reason)),
        'the strongest of those that stop it',
      )
      for (const reason of found)
        t.ok(replacedBy(reason).every((one) => reasons.indexOf(one) >= reasons.indexOf(reason)))
    }),
  )
  t.end()
})

t.test('addresses are compared in one form', (t) => {
  const numberOf = (text: string) => (text.startsWith('07') ? `+44${text.slice(1)}` : undefined)
  const table = [
    ['mail', ' Ada.Byron@EXAMPLE.com ', 'Ada.Byron@example.com', 'A***@example.com'],
    ['mail', 'ada@münchen.example', 'ada@xn--mnchen-3ya.example', 'a***@xn--mnchen-3ya.example'],
    ['mail', 'ada@xn--mnchen-3ya.example', 'ada@xn--mnchen-3ya.example', 'a***@xn--mnchen-3ya.example'],
    ['mail', 'ada+shop@example.com', 'ada+shop@example.com', 'a***@example.com'],
    ['mail', 'ada', undefined, undefined],
    ['mail', 'a@b@c', undefined, undefined],
    ['mail', 'ada @example.com', undefined, undefined],
    ['mail', `${'a'.repeat(65)}@example.com`, undefined, undefined],
    ['sms', '+447911123456', '+447911123456', '***3456'],
    ['sms', '07911123456', '+447911123456', '***3456'],
    ['sms', '7911123456', undefined, undefined],
    ['sms', 'ada@example.com', undefined, undefined],
  ] as const
  for (const [channel, text, normalized, masked] of table) {
    const found = normalizeAddress(channel, text, numberOf)
    t.same([found, found && maskAddress(found)], [normalized, masked], `${channel} ${text}`)
  }
  const [key, other] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
  const hashes = [
    hashAddress(key, 'mail', 'ada@example.com'),
    hashAddress(other, 'mail', 'ada@example.com'),
    hashAddress(key, 'sms', 'ada@example.com'),
    hashAddress(key, 'mail', 'Ada@example.com'),
  ]
  t.equal(new Set(hashes).size, 4)
  t.end()
})
