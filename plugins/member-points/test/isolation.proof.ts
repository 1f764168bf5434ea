/** Tests all pairs of transactions that change the points of one order, with each default isolation level of a server. */
import { everyDialect } from '@plinth/dev/testing/database'
import t from 'tap'
import { pairs, runPairs } from './fixtures/interleavings.ts'

for (const [dialect, level] of [
  ['postgresql', 'read committed'],
  ['postgresql', 'repeatable read'],
  ['postgresql', 'serializable'],
  ['mariadb', undefined],
] as const) {
  const skip = everyDialect.find((one) => one.dialect === dialect)?.skip ?? false
  const title = `an order has right points after concurrent changes (${dialect}, default ${level ?? 'repeatable read'})`
  t.test(title, { skip, timeout: 600_000 }, (t) => runPairs(t, dialect, level, Object.keys(pairs), 3))
}
