/** Tests a refund and a return of spent points at the same time. `isolation.proof.ts` runs all pairs and defaults. */
import { serversUnderTest } from '@plinth/dev/testing/database'
import t from 'tap'
import { runPairs } from './fixtures/interleavings.ts'

for (const { dialect, skip } of serversUnderTest) {
  const title = `a refund takes points that come back at the same time (${dialect}, default repeatable read)`
  t.test(title, { skip, timeout: 600_000 }, (t) =>
    // It is the default of MariaDB.
    runPairs(t, dialect, dialect === 'postgresql' ? 'repeatable read' : undefined, ['a refund, then a return'], 1),
  )
}
