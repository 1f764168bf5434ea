/** Tests the parameter `filter` of lists. */
import { filterQuery, printCondition, Type } from '@plinth/http'
import fc from 'fast-check'
import t from 'tap'
import { parseCondition, printCondition as printInBrowser } from '../../console/web/admin/pages/conditions.ts'

const moment = Type.String({ format: 'date-time' })
const order = Type.Object({
  id: Type.Integer(),
  status: Type.Enum(['failed', 'unknown', 'paid']),
  note: Type.Union([Type.String(), Type.Null()]),
  amount: Type.Integer(),
  isOpen: Type.Boolean(),
  paidAt: Type.Union([moment, Type.Null()]),
  tags: Type.Array(Type.String()),
  secret: Type.String(),
})
const filter = filterQuery(order, ['id', 'status', 'note', 'amount', 'isOpen', 'paidAt'])
const parsed = (...texts: string[]) => filter.parse({ filter: texts })

function rejected(...texts: string[]) {
  try {
    parsed(...texts)
  } catch (error) {
    const [{ field, rule }] = (error as { faults: [{ field: string; rule: string }] }).faults
    return `${field} ${rule}`
  }
  return undefined
}

t.test('a condition has the operators of its column, and values of its type', (t) => {
  t.strictSame(parsed(), [])
  t.strictSame(filter.parse({}), [])
  const one = (text: string) => {
    const [condition] = parsed(text)
    return [condition?.property, condition?.operator, condition?.values]
  }
  t.strictSame(one('status:in:failed,unknown'), ['status', 'in', ['failed', 'unknown']])
  t.strictSame(one('amount:gte:-9007199254740991'), ['amount', 'gte', [-9_007_199_254_740_991]])
  t.strictSame(one('amount:lte:9007199254740991'), ['amount', 'lte', [9_007_199_254_740_991]])
  t.strictSame(one('isOpen:in:true'), ['isOpen', 'in', [true]])
  t.strictSame(one('paidAt:empty:true'), ['paidAt', 'empty', [true]])
  t.strictSame(one('paidAt:gte:2026-01-01T00:00:00+08:00'), ['paidAt', 'gte', [Date.UTC(2025, 11, 31, 16)]])
  t.strictSame(one('paidAt:gte:2028-02-29T23:59:59-08:00'), ['paidAt', 'gte', [Date.UTC(2028, 2, 1, 7, 59, 59)]])
  t.strictSame(one('note:in:a:b\\,c,\\\\'), ['note', 'in', ['a:b,c', '\\']])
  t.equal(parsed('status:in:paid', 'amount:gte:1', 'amount:lte:5').length, 3)
  t.end()
})

t.test('other columns, operators and values are rejected with the column and the rule', (t) => {
  for (const name of ['secret', 'tags', '__proto__', 'constructor', 'hasOwnProperty', '', 'status;drop table'])
    t.equal(rejected(`${name}:in:a`), 'filter filterColumn', name)
  t.equal(rejected('status'), 'status filterOperator')
  t.equal(rejected('status:gte:a'), 'status filterOperator')
  t.equal(rejected('status:empty:true'), 'status filterOperator')
  t.equal(rejected('status:__proto__:a'), 'status filterOperator')
  t.equal(rejected('paidAt:in:2026-01-01T00:00:00Z'), 'paidAt filterOperator')
  for (const text of ['status:in:', 'status:in:,', 'amount:gte:1,2', 'paidAt:empty:'])
    t.equal(rejected(text), `${text.split(':')[0]} filterValues`, text)
  t.equal(rejected(`note:in:${Array.from({ length: 51 }, () => 'a').join(',')}`), 'note filterValues')
  t.equal(rejected('note:in:a\0b'), 'note filterValue')
  t.equal(rejected('note:in:\ud800'), 'note filterValue')
  for (const value of ['1.5', '1e3', '0x1', ' 1', '9007199254740992', 'NaN', '1 or 1=1'])
    t.equal(rejected(`amount:gte:${value}`), 'amount filterValue', value)
  for (const value of ['2026-01-01', '2026-13-01T00:00:00Z', '7d', '2026-01-01T00:00:00', '2026-02-31T00:00:00Z'])
    t.equal(rejected(`paidAt:gte:${value}`), 'paidAt filterValue', value)
  for (const text of ['status:in:__proto__', 'status:in:FAILED', 'isOpen:in:1', 'paidAt:empty:yes'])
    t.equal(rejected(text), `${text.split(':')[0]} filterValue`, text)
  t.end()
})

t.test('a member that is not a plain value cannot be declared', (t) => {
  t.throws(() => filterQuery(order, ['tags']), RangeError)
  t.throws(() => filterQuery(order, ['other' as 'id']), RangeError)
  t.throws(() => filterQuery(order, ['__proto__' as 'id']), RangeError)
  t.end()
})

const plainText = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 40 })
  .filter((text) => !/[\p{Cc}\p{Cs}]/u.test(text))

t.test('each list of values is read as it was printed, by the server and the browser', (t) => {
  fc.assert(
    fc.property(fc.array(plainText, { minLength: 1, maxLength: 50 }), (values) => {
      const text = printCondition('note', 'in', values)
      t.strictSame(parsed(text), [{ property: 'note', operator: 'in', values }])
      t.equal(printInBrowser({ name: 'note', operator: 'in', values }), text)
      t.strictSame(parseCondition(text), { name: 'note', operator: 'in', values })
    }),
  )
  t.end()
})

t.test('a backslash at the end of a typed address belongs to the value', (t) => {
  for (const [text, values] of [
    ['note:in:a\\', ['a\\']],
    ['note:in:a,b\\', ['a', 'b\\']],
    ['note:in:a\\,b', ['a,b']],
  ] as const) {
    t.strictSame(parsed(text), [{ property: 'note', operator: 'in', values }])
    t.strictSame(parseCondition(text).values, values)
  }
  t.end()
})

t.test('any text is read or rejected', (t) => {
  fc.assert(
    fc.property(
      fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('note:in:', 'id:gte:', 'paidAt:empty:')),
      fc.string(),
      (a, b) => {
        const problem = rejected(a + b)
        t.ok(problem === undefined || /^(?:filter|id|status|note|amount|isOpen|paidAt) filter/.test(problem))
      },
    ),
  )
  t.end()
})
