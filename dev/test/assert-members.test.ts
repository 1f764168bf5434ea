import { isDeepStrictEqual } from 'node:util'
import { assertMembers } from '@plinth/dev/testing'
import t from 'tap'

const accepts = (found: unknown, expected: unknown) =>
  assertMembers({ strictSame: (one, other) => isDeepStrictEqual(one, other) }, found, expected)

t.test('expected members are compared for equality, and other members are ignored', async (t) => {
  for (const [found, expected] of [
    [{ reason: 'not-paid', more: 1 }, { reason: 'not-paid' }],
    [
      [{ id: 1, more: 1 }, 2],
      [{ id: 1 }, 2],
    ],
    [
      { at: new Date(0), id: 7, text: 'abc' },
      { at: Date, id: Number, text: /^a/ },
    ],
    [
      { list: [], nothing: null },
      { list: [], nothing: null, absent: undefined },
    ],
    [Object.assign(Object.create(null), { id: 1 }), { id: 1 }],
  ] as const) {
    t.ok(accepts(found, expected), JSON.stringify(expected))
  }
  for (const [found, expected] of [
    [{ reason: 'local-order-not-paid' }, { reason: 'order-not-paid' }],
    [{ list: ['a'] }, { list: [] }],
    [{ list: ['a', 'b'] }, { list: ['a'] }],
    [{ list: ['a'] }, { list: ['a', 'b'] }],
    [{}, { member: null }],
    [null, { member: undefined }],
    [{ count: '1' }, { count: 1 }],
    [{ id: '7' }, { id: Number }],
    [{ text: 'bcd' }, { text: /^a/ }],
    [{ list: 'ab' }, { list: ['a', 'b'] }],
  ] as const) {
    t.notOk(accepts(found, expected), JSON.stringify(expected))
  }
})
