/** Tests the comparison of two records. */
import { join } from 'node:path'
import t from 'tap'
import { recordDifferences } from '../same/record.ts'

t.test('the differences of two records name the file and the lines', async (t) => {
  const folder = t.testdir({ before: { 'a.json': '{\n "x": 1\n}\n' }, after: { 'a.json': '{\n "x": 2\n}\n' } })
  const [before, after] = [join(folder, 'before'), join(folder, 'after')]
  t.match(recordDifferences(before, after), /after\/a\.json\n.*\n \{\n- "x": 1\n\+ "x": 2\n/)
  t.equal(recordDifferences(before, before), '')
  t.throws(() => recordDifferences(before, join(folder, 'missing')))
})
