import t from 'tap'
import type { Column } from '../web/admin/api/page-types.ts'
import { sumsOf } from '../web/admin/pages/totals.ts'

const units = { points: { displayName: 'Points', scale: 0 } }
const amount: Column = { field: 'pay.amount', as: 'amount', title: 'Pay', currency: 'currency', total: true }
const paid = (value: unknown, currency: string) => ({ pay: { amount: value }, currency })

t.test('amounts of any size are added up exactly, each unit for itself, and empty ones are skipped', (t) => {
  const rows = [
    paid('9007199254740993', 'EUR'),
    paid('-3', 'points'),
    paid(2, 'EUR'),
    paid(null, 'EUR'),
    paid('5', 'points'),
  ]
  const sums = sumsOf(amount, rows, units)
  t.strictSame(
    sums.map(({ value, code, unit }) => [value, code, unit?.scale]),
    [
      ['9007199254740995', 'EUR', 2],
      ['2', 'points', 0],
    ],
  )
  t.end()
})

t.test('an amount of an unknown unit is added up under its code, and a column with other values has no sum', (t) => {
  t.strictSame(sumsOf(amount, [paid('1', 'ACME'), paid('2', 'ACME')], units), [
    { value: '3', code: 'ACME', unit: undefined },
  ])
  t.strictSame(sumsOf(amount, [paid('1', 'EUR'), paid('1.5', 'EUR')], units), [])
  const size: Column = { field: 'size', as: 'count', title: 'Size', unit: 'bytes' }
  t.strictSame(sumsOf(size, [{ size: 1 }, { size: 2.5 }, {}], units), [{ value: '3.5', code: '', unit: undefined }])
  t.strictSame(sumsOf(size, [{ size: 'x' }], units), [])
  t.strictSame(sumsOf(size, [], units), [])
  t.end()
})
