/** Tests the parameters of lists and figures: sort order and time range, and who sees the operator of a row. */

import { throwsWith } from '@plinth/dev/testing'
import { operatorVisibleTo, rangeQuery, sortQuery, spanQuery } from '@plinth/http'
import t from 'tap'

const dayMs = 86_400_000
const at = (text: string) => Date.parse(text)

/** Returns the first rejected member with its rule. */
function faultOf(error: unknown) {
  const [{ field, rule, params }] = (error as { faults: [{ field: string; rule: string; params: object }] }).faults
  return { field, rule, params }
}
function rejected(work: () => unknown) {
  try {
    work()
  } catch (error) {
    return faultOf(error)
  }
  return undefined
}

t.test('figures cover the last seven days, or a span of at most 100 days', async (t) => {
  const now = at('2026-03-10T12:00:00Z')
  t.strictSame(spanQuery.parse({}, now), { from: now - 7 * dayMs, to: now })
  const to = '2026-02-01T00:00:00Z'
  t.strictSame(spanQuery.parse({ to }, now), { from: at('2026-01-25T00:00:00Z'), to: at(to) })
  const from = '2026-01-01T00:00:00Z'
  t.strictSame(spanQuery.parse({ from, to: from }, now), { from: at(from), to: at(from) })
  t.strictSame(
    rejected(() => spanQuery.parse({ from: to, to: from }, now)),
    {
      field: 'to',
      rule: 'afterFrom',
      params: { field: 'to', rule: 'afterFrom' },
    },
  )
  t.equal(spanQuery.parse({ from, to: '2026-04-11T00:00:00Z' }, now).to - at(from), 100 * dayMs)
  t.strictSame(
    rejected(() => spanQuery.parse({ from, to: '2026-04-11T00:00:00.001Z' }, now)),
    {
      field: 'to',
      rule: 'span',
      params: { field: 'to', rule: 'span', limit: 100 },
    },
  )
  t.strictSame(spanQuery.parse({ to: '1970-01-03T00:00:00Z' }, now), { from: 0, to: 2 * dayMs })
})

t.test('a time range has one or two limits, which every database can store', async (t) => {
  const range = rangeQuery('createdAt', 'id')
  const [from, to] = ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z']
  t.equal(range.parse({}), undefined)
  t.strictSame(range.parse({ from }), { property: 'createdAt', id: 'id', from: at(from) })
  t.strictSame(rangeQuery('createdAt').parse({ to }), { property: 'createdAt', to: at(to) })
  t.strictSame(range.parse({ from, to: from }), { property: 'createdAt', id: 'id', from: at(from), to: at(from) })
  t.equal(rejected(() => range.parse({ from: to, to: from }))?.rule, 'afterFrom')
  t.equal(range.parse({ from: '1900-01-01T00:00:00Z' })?.from, 0)
  t.equal(range.parse({ to: '9999-12-31T23:59:59Z' })?.to, at('9999-12-31T00:00:00Z'))
  t.equal((range.properties.from as { 'x-range'?: string })['x-range'], 'createdAt')
  t.notOk('x-range' in range.properties.to)
})

t.test('a sort order names properties or columns, and the first of repeated properties counts', async (t) => {
  const sort = sortQuery({ createdAt: 'created_at', name: 'name' }, '-createdAt')
  const parsed = (...texts: string[]) =>
    sort.parse(texts).map(({ property, column, direction }) => `${property} ${column} ${direction}`)
  t.strictSame(parsed(), ['createdAt created_at desc'])
  t.strictSame(
    sort.parse(undefined).map(({ property }) => property),
    ['createdAt'],
  )
  t.strictSame(parsed('name,desc', 'created_at'), ['name name desc', 'createdAt created_at asc'])
  t.strictSame(parsed('-name', 'name', 'nothing'), ['name name desc'])
  const items = sort.properties.sort as unknown as { items: { pattern: string }; maxItems: number }
  const accepts = (text: string) => new RegExp(items.items.pattern, 'u').test(text)
  for (const text of ['name', '-name', 'name,asc', 'created_at,desc']) t.ok(accepts(text), text)
  for (const text of ['names', '-name,desc', 'name,down', 'x', '']) t.notOk(accepts(text), text)
  throwsWith(t, () => sortQuery({ name: 'name' }, 'title' as never), { name: 'RangeError' })
})

t.test('callers see who changed a row if they see all data, or if it was themselves', async (t) => {
  const principal = { userId: 7, username: 'ann', dataScope: 'org' } as const
  t.equal(operatorVisibleTo({ principal }, 'ann'), 'ann')
  t.equal(operatorVisibleTo({ principal }, 7), 7)
  t.equal(operatorVisibleTo({ principal }, 'bob'), null)
  t.equal(operatorVisibleTo({ principal: { ...principal, dataScope: 'all' } }, 'bob'), 'bob')
  t.equal(operatorVisibleTo({}, 'ann'), null)
  t.equal(operatorVisibleTo({ principal: { ...principal, dataScope: 'all' } }, undefined), null)
})
