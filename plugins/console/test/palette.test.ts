import { mock } from 'node:test'
import { assertMembers, rejectsWith } from '@plinth/dev/testing'
import t from 'tap'
import { acceptsText, ConcurrencyLimit, find, type Lookup, type LookupParameter } from '../web/admin/palette/lookups.ts'

const operation = { method: 'GET', path: '/x', operation: 'getX', takesReason: false, hasBody: false, allowed: true }
const list: Lookup = {
  ...operation,
  id: 'shop.items',
  title: 'Items',
  key: 'id',
  name: 'name',
  facts: [],
  ways: [],
  isPaged: true,
  canCount: true,
}
const words: LookupParameter = { parameter: 'keyword', isSearch: true, schema: { type: 'string', maxLength: 5 } }
const never = new AbortController().signal

t.test('a list is queried only with parameters that it accepts', async (t) => {
  const number = { schema: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER } }
  const text = { type: 'string', minLength: 2, maxLength: 4, pattern: '^[^\\p{Cc}\\p{Cs}]*$' }
  const search = { isSearch: true, schema: text }
  const code = { schema: text }
  const hex = { schema: { type: 'string', pattern: '^0x[0-9a-f]+$' } }
  for (const [way, text, isTaken] of [
    [number, '42', true],
    [number, '0', false],
    [number, '4.2', false],
    [number, '-1', false],
    [number, '1e3', false],
    [number, '99999999999999999', false],
    [search, 'a', false],
    [search, '茶壶', true],
    [search, '𝄞𝄞𝄞𝄞', true],
    [search, 'abcde', false],
    [search, 'a\u0000', false],
    [hex, '0xff', true],
    [hex, 'anna', false],
    // The parameter accepts only whole values, and a text of two letters is too short for a value.
    [code, 'ab', false],
    [code, '𝄞𝄞', false],
    [code, 'abc', true],
    [code, 'abcde', false],
    // If an id can be found by name, the user types the name.
    [{ ...number, labels: 'iam.user' }, 'anna', true],
    [{ ...number, labels: 'iam.user' }, 'a'.repeat(101), false],
  ] as const)
    t.equal(acceptsText({ isSearch: false, ...way }, text), isTaken, `${JSON.stringify(way.schema)} ${text}`)
})

t.test('a few rows are requested without counting the others', async (t) => {
  const requested: unknown[] = []
  const answering = (response: unknown) => ({
    call: async <T>({ path }: { readonly path: string }, { query = {} }: { readonly query?: object } = {}) => {
      requested.push({ path, ...query })
      return response as T
    },
  })
  const rows = [1, 2, 3, 4, 5, 6].map((id) => ({ id, name: `row ${id}` }))
  const paged = answering({ items: rows.slice(0, 5), total: null, next: 'c' })
  t.match(await find(paged, list, words, 'tea', never), { rows: rows.slice(0, 5), hasMore: true })
  const uncounted = { ...list, canCount: false }
  t.match(await find(paged, uncounted, words, 'tea', never), { rows: rows.slice(0, 5), hasMore: true })
  const whole = { ...uncounted, isPaged: false }
  t.match(await find(answering(rows), whole, words, 'tea', never), { rows: rows.slice(0, 5), hasMore: true })
  t.match(await find(answering(rows.slice(4)), whole, words, 'tea', never), { rows: rows.slice(4), hasMore: false })
  const named = { ...words, parameter: 'userId', labels: 'iam.user' }
  assertMembers(t, await find(answering({ items: [{ id: 7, name: 'anna' }] }), list, named, 'ann', never), {
    rows: [{ id: 7, name: 'anna' }],
    hasMore: false,
  })
  t.strictSame(requested, [
    { path: '/x', keyword: 'tea', size: 5, count: 'none' },
    { path: '/x', keyword: 'tea', size: 5 },
    { path: '/x', keyword: 'tea' },
    { path: '/x', keyword: 'tea' },
    { path: '/api/v1/admin/console/labels', kind: 'iam.user', search: 'ann' },
  ])
  const away = { call: () => Promise.reject(new Error('away')) }
  await rejectsWith(t, find(away, list, words, 'tea', never), { message: 'away' })
})

t.test('a list that does not respond within five seconds has failed', async (t) => {
  // The types of Node.js do not contain this API yet.
  mock.timers.enable({ apis: ['AbortSignal.timeout' as never] })
  t.teardown(() => mock.timers.reset())
  let given = never
  const silent = {
    call: <T>(_: unknown, { signal = never }: { readonly signal?: AbortSignal } = {}) => {
      given = signal
      return new Promise<T>((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    },
  }
  const found = t.rejects(find(silent, list, words, 'tea', never))
  mock.timers.tick(4_999)
  t.equal(given.aborted, false)
  mock.timers.tick(1)
  t.equal(given.aborted, true)
  await found
})

t.test(
  'the number of concurrent requests is limited; a cancelled waiting request never begins, and a failed one frees its place',
  async (t) => {
    const turns = new ConcurrencyLimit(2)
    const begun: number[] = []
    const ends: ((error?: Error) => void)[] = []
    const caller = new AbortController()
    const take = (number: number, signal = never) =>
      turns.take(signal, () => {
        begun.push(number)
        return new Promise<number>((resolve, reject) => {
          ends[number] = (error) => (error === undefined ? resolve(number) : reject(error))
        })
      })
    const all = [take(0), take(1), take(2, caller.signal), take(3), take(4)]
    t.strictSame(begun, [0, 1])
    const gone = rejectsWith(t, async () => void (await all[2]), { name: 'AbortError' })
    caller.abort()
    await gone
    await rejectsWith(t, take(5, caller.signal), { name: 'AbortError' })
    const failed = rejectsWith(t, async () => void (await all[0]), { message: 'away' })
    ends[0]?.(new Error('away'))
    await failed
    t.strictSame(begun, [0, 1, 3])
    ends[1]?.()
    t.equal(await all[1], 1)
    t.strictSame(begun, [0, 1, 3, 4])
    for (const number of [3, 4]) ends[number]?.()
    t.strictSame(await Promise.all(all.slice(3)), [3, 4])
    t.equal(await turns.take(never, async () => 'free again'), 'free again')
  },
)
