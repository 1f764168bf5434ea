/** Tests the comparison of two records. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { recordDifferences, valueDifferences } from '../same/record-differences.ts'

t.test('differences of values have the path of the member or of the item', async (t) => {
  const before = { title: 'Users', columns: [{ field: 'id' }, { field: 'name', link: true }], sizes: [1, 2] }
  const after = {
    columns: [{ field: 'id' }, { field: 'name', mono: true }, { field: 'age' }],
    title: 'Users',
    sizes: [1, 3],
  }
  t.strictSame(valueDifferences(before, after), [
    '- .columns[name].link: true',
    '+ .columns[name].mono: true',
    '+ .columns[age]: {"field":"age"}',
    '~ .sizes[1]: 2 -> 3',
  ])
  t.strictSame(valueDifferences({ a: [] }, { a: {} }), ['~ .a: [] -> {}'])
  t.strictSame(valueDifferences({ a: 1, b: 2 }, { b: 2, a: 1 }), [], 'the order of members does not count')
  t.strictSame(valueDifferences({}, { a: { c: 1, b: 2 } }), ['+ .a: {"b":2,"c":1}'])
  t.strictSame(valueDifferences([{ id: 'a' }, { id: 'b' }], [{ id: 'b' }, { id: 'a' }]), [
    '~ : other order: [a] [b] -> [b] [a]',
  ])
})

t.test('differences of records are listed by file', async (t) => {
  const folder = t.testdir({
    before: { 'a.json': '{"x":1}', 'gone.txt': '', lines: { 'b.txt': 'one\ntwo\n' }, 'same.txt': 'same' },
    after: { 'a.json': '{"x":2}', 'new.json': '{}', lines: { 'b.txt': 'two\nthree\n' }, 'same.txt': 'same' },
  })
  mkdirSync(join(folder, 'empty'))
  const [before, after] = [join(folder, 'before'), join(folder, 'after')]
  t.strictSame(Object.fromEntries(recordDifferences(before, after)), {
    'a.json': ['~ .x: 1 -> 2'],
    'gone.txt': ['- file'],
    'lines/b.txt': ['- one', '+ three'],
    'new.json': ['+ file'],
  })
  t.equal(recordDifferences(join(folder, 'empty'), before).size, 4)
})
