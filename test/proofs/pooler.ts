/**
 * Runs two instances of the full product behind pgbouncer in transaction mode, under mixed load: `npm run proof:pooler
 * -- [--seconds 60]`. Exits with code 1 if a sum is wrong or too many requests fail.
 */

import { parseArgs } from 'node:util'
import { skipPgbouncer } from '@plinth/database/testing'
import { omitUndefined } from '@plinth/kernel'
import { proveBehindPooler } from './behind-pooler.ts'

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '60' } } })
const seconds = Number(values.seconds)
if (!(seconds >= 1)) throw new Error(`--seconds is ${values.seconds}, not a number from 1`)
if (skipPgbouncer !== false) throw new Error(skipPgbouncer)

let isProven = true
for (const preparedStatements of [undefined, false]) {
  const figures = await proveBehindPooler(
    omitUndefined({
      seconds,
      preparedStatements,
    }),
  )
  const { requests, succeeded, failures, share, balances, rows, reports } = figures
  const isExact =
    balances.every(({ found, expected }) => found === expected) &&
    rows.every(({ found, acknowledged, asked }) => found >= acknowledged && found <= asked)
  const isEnough = share >= 0.999
  isProven &&= isExact && isEnough
  console.log(
    `\n${seconds} s, platform.database.prepared-statements ${preparedStatements === undefined ? '(default)' : preparedStatements}`,
  )
  console.table(
    Object.fromEntries(
      Object.entries(requests).map(([kind, number]) => [
        kind,
        { requests: number, succeeded: Object(succeeded)[kind] },
      ]),
    ),
  )
  console.table(balances)
  console.table(rows)
  console.log(`succeeded: ${(share * 100).toFixed(3)} % (at least 99.9 %: ${isEnough ? 'yes' : 'NO'})`)
  console.log(`sums exact: ${isExact ? 'yes' : 'NO'}; log lines about the pooler: ${reports}`)
  if (Object.keys(failures).length > 0) console.log(failures)
}
process.exitCode = isProven ? 0 : 1
