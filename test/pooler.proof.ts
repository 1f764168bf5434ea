/** Tests the full product behind a real pgbouncer. */
import { skipPgbouncer } from '@plinth/dev/testing/database'
import t from 'tap'
import { proveBehindPooler } from './fixtures/behind-pooler.ts'

for (const preparedStatements of [undefined, false]) {
  const keys = preparedStatements === undefined ? 'default keys' : 'platform.database.prepared-statements=false'
  t.test(
    `two instances of the full product behind a pooler serve mixed load, with ${keys}`,
    { skip: skipPgbouncer, timeout: 600_000 },
    async (t) => {
      const options = preparedStatements === undefined ? {} : { preparedStatements }
      const { requests, share, failures, balances, rows, reports } = await proveBehindPooler({
        seconds: 20,
        ...options,
      })
      for (const [kind, number] of Object.entries(requests)) t.ok(number > 0, `${kind}: ${number} requests`)
      t.ok(share >= 0.999, `${share} of the requests succeed: ${JSON.stringify(failures)}`)
      for (const { account, found, expected } of balances)
        t.equal(found, expected, `the balance of ${account} is exact`)
      for (const { kind, found, acknowledged, asked } of rows) {
        t.ok(
          found >= acknowledged && found <= asked,
          `${kind}: ${found} rows for ${acknowledged} acknowledged requests`,
        )
      }
      t.equal(reports, preparedStatements === undefined ? 2 : 0, 'each instance reports the pooler once')
    },
  )
}
