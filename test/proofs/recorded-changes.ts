/**
 * Shows that tests notice the recorded changes: `npm run proof:changes`. Ends with 1 when a change is not noticed.
 *
 *     --only TEXT          changes whose file or effect contains the text, or that break the requirement of this id
 *     --sample N           draws N changes; --seed S draws the same changes again
 *     --jobs N             changes that are tried at the same time; one for each processor by default
 */
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { recordedChanges } from '../recorded-changes/index.ts'
import { type ChangeResult, proveChanges, sampleOf, seedOfSources } from './noticed-changes.ts'

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    sample: { type: 'string' },
    seed: { type: 'string' },
    jobs: { type: 'string', default: String(availableParallelism()) },
  },
})
const wholeNumber = (name: string, text: string) => {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new Error(`--${name} is ${text}, not a whole number from 1`)
  return Number(text)
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

const { only, sample, seed = seedOfSources(recordedChanges) } = values
const named = recordedChanges.filter(
  ({ file, effect, breaks }) => only === undefined || `${file} ${effect}`.includes(only) || breaks.includes(only),
)
if (named.length === 0) throw new Error(`No recorded change matches --only ${only}`)
const chosen = sample === undefined ? named : sampleOf(named, wholeNumber('sample', sample), seed)
console.log(sample === undefined ? `${chosen.length} changes` : `${chosen.length} changes, --seed ${seed}`)

const print = ({ change: { file, effect }, problems, seconds }: ChangeResult) => {
  const outcome = problems.length === 0 ? 'noticed    ' : 'NOT NOTICED'
  console.log(`${outcome} ${seconds.toFixed(1).padStart(6)} s  ${file}: ${effect}`)
  for (const problem of problems) console.log(`            ${problem}`)
}
const results = await proveChanges(chosen, { jobs: wholeNumber('jobs', values.jobs), onResult: print })
const noticed = results.filter(({ problems }) => problems.length === 0).length
console.log(`\n${noticed} of ${results.length} noticed`)
process.exit(noticed === results.length ? 0 : 1)
